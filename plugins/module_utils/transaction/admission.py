# SPDX-License-Identifier: Apache-2.0
"""What the schema of a DNSet cannot say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ..admission.sets import set_mistakes
from ..admission.shapes import Mistake
from ..api import toml
from ..api.errors import InvalidSpec, TomlError

_TWO_NODES: Final = (
    "MatrixOne supports only one transaction node; with a second one, it does not start, or loses "
    "acknowledged rows"
)
_TWO_NAMES: Final = "config must not have both a [tn] and a [dn] table"


def mistakes_of_dnset(path: str, spec: Mapping[str, Any]) -> Iterator[Mistake]:
    """Yield what is wrong with a DNSet.

    Args:
        path: of the spec, e.g. ``spec`` or ``spec.tn``.
        spec: as the API server stores it.
    """
    if (spec.get("replicas") or 0) > 1:
        yield Mistake(f"{path}.replicas", _TWO_NODES, value=spec["replicas"])
    yield from set_mistakes(path, spec)
    try:
        table = toml.parse(spec.get("config"), f"{path}.config")
    except (InvalidSpec, TomlError):  # reported with the other mistakes
        return
    if {"tn", "dn"} <= table.keys():
        yield Mistake(f"{path}.config", _TWO_NAMES, value=spec["config"])
