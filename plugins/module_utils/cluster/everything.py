# SPDX-License-Identifier: Apache-2.0
"""Everything that a resource leads to, children's children included, without a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ..api import names
from ..api.errors import InvalidSpec
from ..api.types import Manifest, References, Resource
from ..compute.rendering import render_cnset
from ..early.rendering import render_early
from ..logservice.rendering import render_logset
from ..proxy.rendering import render_proxyset
from ..transaction.rendering import render_dnset
from ..webui.rendering import render_webui
from ..workload.sets import dependency_of
from .rendering import render_matrixonecluster

SET_KINDS: Final = (names.LOG_SET, names.DN_SET, names.CN_SET, names.PROXY_SET, names.WEB_UI)
_DEPENDENCIES: Final = {"logSet": names.LOG_SET, "dnSet": names.DN_SET, "cnset": names.CN_SET}


def render_everything(
    resource: Resource,
    *,
    start_scripts: Mapping[str, str],
    references: References | None = None,
) -> list[Manifest]:
    """Return every object that a resource leads to.

    Args:
        resource: a resource of any kind of ours.
        start_scripts: text of each start script by the name of its role (``logset``, ``cnset`` …).
        references: what a set depends on; a cluster brings its own.

    Raises:
        InvalidSpec: The resource or one of its children cannot be rendered; the message of a
            child's error begins with the child.
    """
    if resource.get("apiVersion") == names.EARLY_API_VERSION:
        return render_early(resource)
    if resource.get("apiVersion") != names.API_VERSION:
        raise InvalidSpec(
            "apiVersion", f"must be {names.API_VERSION}, not {resource.get('apiVersion')!r}"
        )
    if resource.get("kind") == names.CLUSTER:
        return _render_children(render_matrixonecluster(resource), start_scripts)
    return render_set(resource, start_scripts=start_scripts, references=references or {})


def _render_children(children: list[Manifest], start_scripts: Mapping[str, str]) -> list[Manifest]:
    rendered = []
    for child in children:
        references = find_references(child, children)
        try:
            objects = render_set(child, start_scripts=start_scripts, references=references)
        except InvalidSpec as error:
            owner = f"{child['kind']} {child['metadata']['name']}"
            raise InvalidSpec(f"{owner}: {error.field_path}", error.message) from error
        rendered += [child, *objects]
    return rendered


def render_set(
    resource: Resource, *, start_scripts: Mapping[str, str], references: References
) -> list[Manifest]:
    """Return the objects of one set, by its kind.

    Raises:
        InvalidSpec: The kind is none of ours, or the set cannot be rendered.
    """
    kind = str(resource.get("kind"))
    script = start_scripts.get(kind.lower(), "")
    if kind == names.LOG_SET:
        return render_logset(resource, start_script=script)
    if kind == names.DN_SET:
        return render_dnset(resource, start_script=script, references=references)
    if kind == names.CN_SET:
        return render_cnset(resource, start_script=script, references=references)
    if kind == names.PROXY_SET:
        return render_proxyset(resource, start_script=script, references=references)
    if kind == names.WEB_UI:
        return render_webui(resource, references=references)
    known = ", ".join((names.CLUSTER, *SET_KINDS))
    raise InvalidSpec("kind", f"{kind} is not rendered here; it must be one of {known}")


def find_references(resource: Resource, candidates: list[Manifest]) -> References:
    """Find what a set's ``deps`` name among given resources."""
    found: dict[str, Resource | None] = {}
    for field, kind in _DEPENDENCIES.items():
        named = dependency_of(resource, field)
        found[field] = next((c for c in candidates if _is(c, kind, named)), None)
    return {"logSet": found["logSet"], "dnSet": found["dnSet"], "cnSet": found["cnset"]}


def _is(candidate: Manifest, kind: str, named: tuple[str, str] | None) -> bool:
    metadata = candidate.get("metadata")
    if candidate.get("kind") != kind or not isinstance(metadata, Mapping):
        return False
    return (metadata.get("namespace") or "default", metadata.get("name")) == named
