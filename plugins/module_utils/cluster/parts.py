# SPDX-License-Identifier: Apache-2.0
"""The components that a MatrixOneCluster consists of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ..api import names
from ..compute.component import COMPUTE_NODES
from ..logservice.component import LOG_SERVICE
from ..proxy.component import PROXIES
from ..transaction.component import TRANSACTION_NODES
from ..webui.component import DASHBOARD
from ..workload.component import Component

PARTS: Final[Mapping[str, Component]] = {
    part.kind: part for part in (LOG_SERVICE, TRANSACTION_NODES, COMPUTE_NODES, PROXIES, DASHBOARD)
}
"""By kind, in the order of creation."""
_FIELDS: Final = {
    "logService": names.LOG_SET,
    "tn": names.DN_SET,
    "dn": names.DN_SET,
    "tp": names.CN_SET,
    "ap": names.CN_SET,
    "proxy": names.PROXY_SET,
    "webui": names.WEB_UI,
}


def parts_of(spec: Mapping[str, Any]) -> Iterator[tuple[Component, str, Mapping[str, Any]]]:
    """Yield each component that a cluster asks for, with the path of its spec, and its spec."""
    for name, kind in _FIELDS.items():
        part = spec.get(name)
        if isinstance(part, Mapping):
            yield PARTS[kind], f"spec.{name}", part
    for index, group in enumerate(spec.get("cnGroups") or []):
        yield PARTS[names.CN_SET], f"spec.cnGroups[{index}]", group
