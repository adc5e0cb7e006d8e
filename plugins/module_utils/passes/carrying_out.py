# SPDX-License-Identifier: Apache-2.0
"""Apply objects, patch and delete others, and prune, in one session."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import Any

from ..clients.kubernetes.applying import Writer
from ..clients.kubernetes.errors import Conflict, Outdated
from ..clients.kubernetes.kinds import describe
from ..clients.kubernetes.outcomes import Outcome, identity
from ..clients.kubernetes.selecting import prune
from .selections import selections, users

Manifest = Mapping[str, Any]
Asked = Mapping[str, Any]
"""Options of M(matrixorigin.matrixone.apply); only ``objects`` has to be there. Beside them may be
``generations``, by ``Kind/name``: such an object is only changed while it has that one."""
_ATTEMPTS = 5


def carry_out(writer: Writer, asked: Asked) -> Iterator[Outcome]:
    """Change one object after the other.

    Args:
        writer: changes them; what may be pruned is listed, and not asked for a second time.
        asked: what to do.

    Raises:
        KubeError: the server refuses.
    """
    pruned = asked.get("prune")
    candidates = [found for one in selections(pruned) for found in one.list(writer.session)]
    writer = replace(writer, listed={identity(found): found for found in candidates})
    for manifest in asked["objects"]:
        yield _applied(writer, manifest, asked)
    for patch in asked.get("patches") or ():
        yield _if_unchanged(writer, patch, asked, writer.patch)
    for obsolete in asked.get("delete") or ():
        yield writer.delete(obsolete)
    if pruned and candidates:
        yield from prune(writer, candidates, asked["objects"], users(pruned))


def _applied(writer: Writer, manifest: Mapping[str, Any], asked: Asked) -> Outcome:
    """Bring one object to what it says, the way that is asked for."""
    name = _named(manifest)
    if name in asked.get("create_only", ()):
        return writer.create_once(manifest)
    if name in asked.get("recreate", ()):
        return writer.recreate(manifest, asked["recreate_timeout"])
    if others := asked.get("adopt_from"):
        writer.adopt(manifest, others)
    return _if_unchanged(writer, manifest, asked, writer.apply)


def _if_unchanged(
    writer: Writer, manifest: Manifest, asked: Asked, write: Callable[[Manifest], Outcome]
) -> Outcome:
    """Write an object, where a generation is given only if it still has that one.

    Whoever decided may have stood still since, and lost the lease to another process, which has
    decided anew. Another status is no such change: the object is read again then.

    Raises:
        Outdated: it has another generation.
    """
    generation = (asked.get("generations") or {}).get(_named(manifest))
    if generation is None:
        return write(manifest)
    for _attempt in range(_ATTEMPTS):
        live = writer.latest(manifest)
        if live is None or live["metadata"].get("generation") != generation:
            break
        seen = {"resourceVersion": live["metadata"]["resourceVersion"]}
        try:
            return write({**manifest, "metadata": {**manifest["metadata"], **seen}})
        except Conflict:
            continue
    message = f"change {describe(manifest)}: it was changed since this was decided"
    raise Outdated(message, HTTPStatus.CONFLICT, "Conflict", [])


def _named(manifest: Manifest) -> str:
    return f"{manifest.get('kind')}/{(manifest.get('metadata') or {}).get('name')}"
