# SPDX-License-Identifier: Apache-2.0
"""Every object that a MatrixOneCluster leads to, children's children included."""

from __future__ import annotations

from collections.abc import Mapping

from ..api.errors import InvalidSpec
from ..api.types import Manifest, Resource
from ..workload.component import SetStart
from ..workload.references import find_references
from .parts import PARTS
from .rendering import render_matrixonecluster


def render_with_children(resource: Resource, scripts: Mapping[str, str]) -> list[Manifest]:
    """Return the children of a cluster, each followed by its objects.

    Args:
        resource: the MatrixOneCluster.
        scripts: text of each start script by the name of its role (``logset``, ``cnset`` …).

    Raises:
        InvalidSpec: The cluster or one of its children cannot be rendered; the message of a
            child's error begins with the child.
    """
    children = render_matrixonecluster(resource)
    rendered = []
    for child in children:
        kind = child["kind"]
        script, played = scripts.get(kind.lower(), ""), find_references(child, children)
        try:
            objects = PARTS[kind].renderer.render(SetStart(child, script=script, played=played))
        except InvalidSpec as error:
            owner = f"{kind} {child['metadata']['name']}"
            raise InvalidSpec(f"{owner}: {error.field_path}", error.message) from error
        rendered += [child, *objects]
    return rendered
