# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Apply objects, patch and delete others, and prune, in one session."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ...module_utils.clients.kubernetes.applying import Writer
from ...module_utils.clients.kubernetes.outcomes import Outcome, identity
from ...module_utils.clients.kubernetes.selecting import prune
from .selections import selections, users

Asked = Mapping[str, Any]
"""Options of M(matrixorigin.matrixone.apply); only ``objects`` has to be there."""


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
        yield writer.patch(patch)
    for obsolete in asked.get("delete") or ():
        yield writer.delete(obsolete)
    if pruned and candidates:
        yield from prune(writer, candidates, asked["objects"], users(pruned))


def _applied(writer: Writer, manifest: Mapping[str, Any], asked: Asked) -> Outcome:
    """Bring one object to what it says, the way that is asked for."""
    name = f"{manifest.get('kind')}/{(manifest.get('metadata') or {}).get('name')}"
    if name in asked.get("create_only", ()):
        return writer.create_once(manifest)
    if name in asked.get("recreate", ()):
        return writer.recreate(manifest, asked["recreate_timeout"])
    if others := asked.get("adopt_from"):
        writer.adopt(manifest, others)
    return writer.apply(manifest)
