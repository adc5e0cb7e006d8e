# SPDX-License-Identifier: Apache-2.0
"""Settings that matter to an upgrade: those that newer versions of MatrixOne silently ignore, and
the one by which compute nodes do not upgrade the catalog.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ..api.versions import Version


@dataclass(frozen=True, slots=True)
class Removed:
    """A setting that is gone.

    Attributes:
        path: tables and key, as MatrixOne's documentation spells them.
        since: major and minor of the first release without it.
    """

    path: tuple[str, ...]
    since: tuple[int, int]

    @property
    def name(self) -> str:
        """Its path, for people."""
        return ".".join(self.path)

    @property
    def text(self) -> str:
        """The first release without it, for people."""
        return ".".join(map(str, self.since))


_OBSERVABILITY: Final = (
    "disableSqlWriter",
    "enableTraceDebug",
    "longSpanTime",
    "mergeCycle",
    "metricStorageUsageCheckNewInterval",
    "metricStorageUsageUpdateInterval",
    "tcpPacket",
    "traceExportInterval",
)
AUTO_UPGRADE: Final = ("cn", "auto-upgrade")
REMOVED: Final = (
    *(Removed(("observability", key), (2, 0)) for key in _OBSERVABILITY),
    Removed(("cn", "Engine", "logstore"), (2, 1)),
    Removed(("tn", "debug-mode"), (4, 2)),
    Removed(("dn", "debug-mode"), (4, 2)),
)
"""By comparing the keys that its source reads, release by release from 1.2.4 to 4.2.0."""


def removed(table: Mapping[str, Any], origin: Version, target: Version) -> Iterator[Removed]:
    """Yield the settings of a configuration that one version reads and a newer one does not.

    Args:
        table: the configuration, as TOML read it.
        origin: the version that runs.
        target: the version that is asked for.
    """
    for setting in REMOVED:
        if origin.release < setting.since <= target.release and _has(table, setting.path):
            yield setting


def upgrades_catalog(table: Mapping[str, Any]) -> bool:
    """Return whether a compute node with this configuration upgrades the catalog by itself.

    Otherwise it does when it gets the statement `UPGRADE ACCOUNT ALL` (MatrixOne,
    ``pkg/bootstrap/custom_upgrade.go``).
    """
    return True not in (value is False for value in _values(table, AUTO_UPGRADE))


def _has(table: Any, path: tuple[str, ...]) -> bool:
    return any(True for _value in _values(table, path))


def _values(table: Any, path: tuple[str, ...]) -> Iterator[Any]:
    """Yield what a configuration has at a path; MatrixOne does not mind upper and lower case."""
    if not path:
        yield table
    elif isinstance(table, Mapping):
        for key, value in table.items():
            if str(key).lower() == path[0].lower():
                yield from _values(value, path[1:])
