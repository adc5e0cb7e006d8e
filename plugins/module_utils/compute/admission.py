# SPDX-License-Identifier: Apache-2.0
"""What the schema of a CNSet cannot say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..admission.containers import unknown_claims
from ..admission.pods import CONTAINER_OVERLAY
from ..admission.sets import overlay_mistakes, set_mistakes
from ..admission.shapes import Mistake


def mistakes_of_cnset(path: str, spec: Mapping[str, Any]) -> Iterator[Mistake]:
    """Yield what is wrong with a CNSet.

    Args:
        path: of the spec, e.g. ``spec`` or ``spec.cnGroups[0]``.
        spec: as the API server stores it.
    """
    yield from set_mistakes(path, spec)
    sidecar = spec.get("pythonUdfSidecar")
    if isinstance(sidecar, Mapping):
        place = f"{path}.pythonUdfSidecar"
        yield from unknown_claims(f"{place}.resources", sidecar.get("resources") or {})
        yield from overlay_mistakes(CONTAINER_OVERLAY, f"{place}.overlay", sidecar.get("overlay"))
