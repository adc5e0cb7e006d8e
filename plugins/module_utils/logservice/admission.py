# SPDX-License-Identifier: Apache-2.0
"""What the schema of a LogSet cannot say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..api import toml
from ..api.errors import InvalidSpec


def locality_warnings(path: str, spec: Mapping[str, Any]) -> Iterator[str]:
    """Warn of log stores that all have a locality.

    But for the first ones, HAKeeper gives replicas that vote only to stores without a locality
    (selectStore in MatrixOne's pkg/hakeeper/checkers/logservice/filter.go). So nothing takes the
    place of a store that is lost, and the operator gives log stores none by itself.
    """
    try:
        config = toml.parse(spec.get("config"), f"{path}.config")
    except InvalidSpec:
        return
    if toml.get(config, ("logservice", "locality")):
        yield (
            f"{path}.config: with a locality in [logservice] the log stores get no replicas "
            "that vote; one that is lost would not be replaced"
        )
