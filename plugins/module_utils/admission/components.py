# SPDX-License-Identifier: Apache-2.0
"""What is wrong with the spec of one component, wherever it stands (core.md §11.4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ..rendering import names, toml
from ..rendering.errors import InvalidSpec, TomlError
from .pods import CONTAINER_OVERLAY, OVERLAY
from .shapes import Mistake, Shape

_UNSET: Final[tuple[Any, ...]] = (None, {}, [], "")
"""What takes the operator's own setting away, when an overlay has it."""
_TWO_NAMES: Final = "config must not have both a [tn] and a [dn] table"


def component_mistakes(kind: str, path: str, spec: Mapping[str, Any]) -> Iterator[Mistake]:
    """Yield what is wrong.

    Args:
        kind: of the set that the spec belongs to.
        path: of the spec, e.g. ``spec`` or ``spec.tn``.
        spec: as the API server stores it.
    """
    yield from _config(kind, f"{path}.config", spec.get("config"))
    yield from _overlay(OVERLAY, f"{path}.overlay", spec.get("overlay"))
    sidecar = spec.get("pythonUdfSidecar")
    if kind == names.CN_SET and isinstance(sidecar, Mapping):
        place = f"{path}.pythonUdfSidecar.overlay"
        yield from _overlay(CONTAINER_OVERLAY, place, sidecar.get("overlay"))


def _overlay(shape: Shape, path: str, overlay: Any) -> Iterator[Mistake]:
    if isinstance(overlay, Mapping):
        given = {name: value for name, value in overlay.items() if value not in _UNSET}
        yield from shape.mistakes(path, given)


def _config(kind: str, path: str, config: Any) -> Iterator[Mistake]:
    if config is None or kind == names.WEB_UI:
        return
    try:
        table = toml.parse(config, path)
        toml.dump(table)
    except InvalidSpec as error:
        yield Mistake(path, error.message, value=config)
        return
    except TomlError as error:
        yield Mistake(path, str(error), value=config)
        return
    if kind == names.DN_SET and {"tn", "dn"} <= table.keys():
        yield Mistake(path, _TWO_NAMES, value=config)
