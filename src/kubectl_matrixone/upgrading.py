# SPDX-License-Identifier: Apache-2.0
"""Upgrades: what is going to be checked, in which order, and how far one is."""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from .facts import Backup, Upgrade
from .following import Outcome, State
from .kubectl import Json, table_in
from .reading import condition
from .terminal import age

ENDED: Final = frozenset({"Completed", "Canceled"})
_CHECKS: Final = (
    ("Health", "each component is ready and up to date, log shards have their quorum"),
    ("Backup", "a Backup that is proven by restoring and not older than {age}"),
    ("Catalog", "the last upgrade of the catalog is complete"),
    ("Path", "the upgrade is not known to fail"),
    ("Configuration", "the new version reads all settings"),
)
_REHEARSAL: Final = ("Rehearsal", "such a Backup was restored into the new version")
_ROOM: Final = ("Room", "one more compute node can be started")
_ORDER: Final = (
    "the log stores, one at a time",
    "the transaction node: the point of no return",
    "a canary, one compute node of the new version",
    "the compute nodes, one at a time",
    "the proxies",
    "the catalog of the database",
)
_ORDER_WITHIN: Final = ("log stores", "transaction nodes", "compute nodes", "proxies")
_WITHIN: Final = "Order, one Pod at a time:"
_PARTS: Final = re.compile(r"v?(\d{1,3})\.(\d+)(?:\.(\d+))?(?:[-+.].*)?")


def release(version: str) -> tuple[int, int] | None:
    """Return major and minor of a version; None if it is none, such as a date."""
    found = _PARTS.fullmatch(version)
    return (int(found[1]), int(found[2])) if found else None


def data_version(cluster: Json) -> str:
    """Return the newest version that has written the data; empty if that is not known."""
    status = table_in(cluster, "status")
    found = table_in(status, "tn").get("dataVersion") or status.get("version")
    return str(found or "")


def plan(
    cluster: Json, record: Upgrade | None, backup: Backup | None, version: str, now: datetime
) -> Iterator[str]:
    """Yield lines about an upgrade, under way or to come.

    Args:
        cluster: the MatrixOneCluster.
        record: the last upgrade.
        backup: the newest one; None if none is known.
        version: that would be asked for; empty for the upgrade that is under way.
        now: the present.
    """
    if record and record.phase not in ENDED and version in {"", record.to}:
        yield from _under_way(record)
        return
    yield from _ahead(cluster, data_version(cluster), version, backup, now)
    if waits := _window(cluster):
        yield waits


def _under_way(record: Upgrade) -> Iterator[str]:
    yield f"Upgrade from {record.before} to {record.to}: {record.phase}"
    yield f"point of no return: {record.point_of_no_return or 'unknown'}"
    if record.message:
        yield record.message
    yield from _listed(
        "Checks:", [_check(one.name, one.result, one.message) for one in record.checks]
    )
    yield from _listed("Order:", _ORDER)


def _window(cluster: Json) -> str:
    """Return when a change may begin; empty if it may at once, or that is not known."""
    windows = table_in(table_in(cluster, "status"), "maintenance")
    if windows.get("open") is not False:
        return ""
    return f"It begins in the next maintenance window, {windows.get('nextChange') or 'some day'}."


def _check(name: str, result: str, message: str) -> str:
    return f"{name}: {result}" + (f" ({message})" if message else "")


def _ahead(
    cluster: Json, before: str, version: str, backup: Backup | None, now: datetime
) -> Iterator[str]:
    old, new = release(before), release(version)
    if not before:
        yield "The version of the data is not known, so that the checks are not known either."
    elif old is None or new is None:
        unknown = version if new is None else before
        yield f"The version {unknown} cannot be parsed: it is neither lower nor higher; no checks."
        yield from _listed(_WITHIN, _ORDER_WITHIN)
    elif new < old:
        yield f"Not possible: MatrixOne {version} cannot read the data that {before} has written."
        yield "Restore a backup into a new cluster instead: kubectl matrixone restore"
    elif new == old:
        yield f"From {before} to {version}, within a release: no checks, and it can be taken back."
        yield from _listed(_WITHIN, _ORDER_WITHIN)
    else:
        yield f"From {before} to {version}, a newer release: nothing changes before all checks pass"
        yield from _listed("Checks:", list(_checks(cluster, old, new, backup, now)))
        yield from _listed("Order:", _ORDER)


def _checks(
    cluster: Json, old: tuple[int, int], new: tuple[int, int], backup: Backup | None, now: datetime
) -> Iterator[str]:
    limit = table_in(table_in(cluster, "spec"), "upgrade").get("maxBackupAge") or "24h"
    checks = (*_CHECKS, *((_REHEARSAL,) if old[0] != new[0] else ()), _ROOM)
    for name, text in checks:
        found = f"; {_newest(backup, now)}" if name == "Backup" else ""
        yield f"{name}: {text.format(age=limit)}{found}"


def _newest(backup: Backup | None, now: datetime) -> str:
    if backup is None:
        return "no Backup is known"
    proven = "never proven" if not backup.proven else f"proven: {backup.proven}"
    return f"the newest is {backup.name}, {age(backup.moment, now)} old, {proven}"


def _listed(head: str, lines: Sequence[str]) -> Iterator[str]:
    yield head
    for number, line in enumerate(lines, 1):
        yield f"  {number}. {line}"


def upgrade_state(cluster: Json) -> State:
    """Return how far the change to the version that is asked for is."""
    spec, status, metadata = (
        table_in(cluster, "spec"),
        table_in(cluster, "status"),
        cluster["metadata"],
    )
    record, wanted = table_in(status, "upgrade"), str(spec.get("version") or "")
    if status.get("observedGeneration") != metadata.get("generation"):
        return State("Waiting for the operator", "it has not seen the spec yet")
    waits = str(table_in(status, "maintenance").get("message") or "")
    message = str(record.get("message") or waits)
    if record.get("to") == wanted and record.get("phase") not in {None, *ENDED}:
        return State(str(record["phase"]), _with_degraded(cluster, message))
    synced = condition(cluster, "Synced").get("status") == "True"
    if synced and (not wanted or status.get("version") == wanted):
        return State("Completed", f"MatrixOne {status.get('version') or '?'}", Outcome.DONE)
    return State("Updating", _with_degraded(cluster, str(status.get("message") or waits)))


def _with_degraded(cluster: Json, message: str) -> str:
    found = condition(cluster, "Degraded")
    if found.get("status") != "True":
        return message
    ill = f"Degraded, {found.get('reason')}: {found.get('message')}"
    return f"{message}; {ill}" if message else ill
