# SPDX-License-Identifier: Apache-2.0
"""What has to be true of a database before its transaction node is replaced by a newer release.

What could not be found out holds an upgrade back as what is known to be wrong does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from ..api.durations import seconds
from ..api.fields import Fields, as_table
from ..api.timestamps import unix_time
from ..api.types import Resource
from ..api.versions import Version, parse
from ..reporting.conditions import find, holds_now
from ..reporting.reasons import RESTORABLE, ConditionType
from .catalog import Catalog
from .paths import known_failure
from .settings import AUTO_UPGRADE, removed, upgrades_catalog

Json = Mapping[str, Any]

DEFAULT_MAX_AGE: Final = 24 * 3600


class Name(StrEnum):
    """What is checked; waivers name the same words."""

    HEALTH = "Health"
    BACKUP = "Backup"
    CATALOG = "Catalog"
    PATH = "Path"
    CONFIGURATION = "Configuration"
    REHEARSAL = "Rehearsal"
    ROOM = "Room"
    CANARY = "Canary"
    PREVIOUS_UPGRADE = "PreviousUpgrade"


class Result(StrEnum):
    """What a check came to. Failed and Unknown hold an upgrade back."""

    PASSED = "Passed"
    FAILED = "Failed"
    UNKNOWN = "Unknown"
    WAIVED = "Waived"


@dataclass(frozen=True, slots=True)
class Check:
    """A check and its result.

    Attributes:
        name: what is checked.
        result: what it came to.
        message: what was found and, if it does not pass, what to do.
        subject: the Backup by which the check of backups passes; empty otherwise.
    """

    name: Name
    result: Result
    message: str
    subject: str = ""

    @property
    def holds_back(self) -> bool:
        """Whether the upgrade has to wait for it."""
        return self.result in {Result.FAILED, Result.UNKNOWN}

    def as_status(self) -> dict[str, str]:
        """Return it as the status shows it."""
        return {"name": self.name.value, "result": self.result.value, "message": self.message}


@dataclass(frozen=True, slots=True)
class Subject:
    """What is known of a database that is to be upgraded.

    Attributes:
        origin: the version that has written its data.
        target: the version that is asked for.
        children: its components, without the dashboard, by ``Kind/name``; None if it is missing.
        sources: how Backups of it name it, with the uid of that resource.
        backups: all Backups; None if they could not be listed.
        catalog: what the database says; None if it was not asked.
        settings: ``spec.upgrade``.
        configurations: of its components, as TOML read it, by ``Kind/name``.
        now: the present, RFC 3339.
    """

    origin: Version
    target: Version
    children: Mapping[str, Resource | None]
    sources: Mapping[str, str]
    backups: Sequence[Resource] | None
    catalog: Catalog | None
    settings: Json
    configurations: Mapping[str, Json]
    now: str


def checks_of(subject: Subject) -> list[Check]:
    """Return all checks with their results, those that are waived included."""
    asked: list[Callable[[Subject], Check]] = [_health, _backup, _catalog, _path, _configuration]
    if subject.target.major != subject.origin.major:
        asked.append(_rehearsal)
    return [_waived(one(subject), subject) for one in asked]


def is_waived(name: Name, settings: Json, target: Version) -> bool:
    """Return whether a check is waived for an upgrade to a version, in so many words.

    A waiver that names another version has no effect: it was for another upgrade.

    Args:
        name: of the check.
        settings: ``spec.upgrade``.
        target: the version that is asked for.
    """
    waiver = as_table(settings.get("waive"))
    named = parse(str(waiver.get("to") or ""))
    is_of_this = named is not None and named.numbers == target.numbers
    return is_of_this and name.value in (waiver.get("checks") or [])


def _waived(check: Check, subject: Subject) -> Check:
    if not check.holds_back or not is_waived(check.name, subject.settings, subject.target):
        return check
    return Check(check.name, Result.WAIVED, f"waived by spec.upgrade.waive: {check.message}")


def _health(subject: Subject) -> Check:
    """Check that all components serve, as their spec asks for, with all their Pods."""
    for name, child in subject.children.items():
        if lacking := _lacking(child):
            message = f"{name.replace('/', ' ')}: {lacking}; the cluster has to be healthy first"
            return Check(Name.HEALTH, Result.FAILED, message)
    message = "all components are ready, and log shards have their quorum"
    return Check(Name.HEALTH, Result.PASSED, message)


def _lacking(child: Resource | None) -> str:
    """Return what a component lacks; empty if nothing."""
    if child is None:
        return "does not exist"
    for kind in (ConditionType.READY, ConditionType.SYNCED):
        if not holds_now(child, kind):
            return str(find(child, kind).get("message") or f"its condition {kind} is not True")
    degraded = find(child, ConditionType.DEGRADED)
    if degraded.get("status") == "True":
        return str(degraded.get("message"))
    pods = str(as_table(child.get("status")).get("pods") or "")
    ready, _slash, desired = pods.partition("/")
    return "" if ready == desired else f"{pods} Pods are ready"


def _backup(subject: Subject) -> Check:
    """Check that a Backup of this database, proven by restoring, is young enough."""
    if subject.backups is None:
        message = "Backups cannot be listed; give the operator the right to list them"
        return Check(Name.BACKUP, Result.UNKNOWN, message)
    advice = "back it up and prove the backup by restoring (docs/backup.md)"
    own = [one for one in subject.backups if _is_of(one, subject.sources)]
    if not own:
        return Check(Name.BACKUP, Result.FAILED, f"there is no Backup of this cluster; {advice}")
    own.sort(key=_at_time)
    proven = [one for one in own if _is_proven(one)]
    if not proven:
        name = own[-1]["metadata"]["name"]
        message = f"Backup {name} is not proven by restoring; {advice}"
        return Check(Name.BACKUP, Result.FAILED, message)
    newest = proven[-1]
    name, moment = newest["metadata"]["name"], str(newest["meta"].get("atTime"))
    age, longest = unix_time(subject.now) - _at_time(newest), _max_age(subject.settings)
    if not age <= longest:
        limit = as_table(subject.settings).get("maxBackupAge") or "24h"
        message = f"Backup {name} has the data of {moment}, which is older than {limit}; {advice}"
        return Check(Name.BACKUP, Result.FAILED, message)
    message = f"Backup {name} has the data of {moment} and was restored and read"
    return Check(Name.BACKUP, Result.PASSED, message, name)


def _is_of(backup: Resource, sources: Mapping[str, str]) -> bool:
    """Return whether a Backup is of this database, not of another one of the same name."""
    meta = as_table(backup.get("meta"))
    uid = sources.get(str(meta.get("sourceRef") or ""))
    return bool(uid) and meta.get("sourceUid") == uid


def _is_proven(backup: Resource) -> bool:
    status = as_table(backup.get("status"))
    # An operator of one namespace proves Backups, but gives them no phase.
    phase = status.get("phase") or "Available"
    if phase != "Available" or backup["metadata"].get("deletionTimestamp"):
        return False
    conditions = status.get("conditions") or []
    return any(one["type"] == RESTORABLE and one["status"] == "True" for one in conditions)


def _at_time(backup: Resource) -> float:
    """Return up to which moment a Backup has the data; 0 where that cannot be read."""
    try:
        return unix_time(str(as_table(backup.get("meta")).get("atTime") or ""))
    except ValueError:
        return 0.0


def _max_age(settings: Json) -> float:
    if not settings.get("maxBackupAge"):
        return DEFAULT_MAX_AGE
    return seconds(Fields("spec.upgrade", settings), "maxBackupAge")


def _catalog(subject: Subject) -> Check:
    """Check that the last upgrade of the catalog is complete: a second one cannot begin before."""
    found = subject.catalog
    if found is None:
        return Check(Name.CATALOG, Result.UNKNOWN, "the database has not been asked yet")
    if found.problem:
        return Check(Name.CATALOG, Result.UNKNOWN, found.problem)
    if found.is_complete:
        return Check(Name.CATALOG, Result.PASSED, found.summary)
    advice = "wait, or run UPGRADE ACCOUNT ALL as root; compute nodes log what fails"
    return Check(Name.CATALOG, Result.FAILED, f"{found.summary}; {advice}")


def _path(subject: Subject) -> Check:
    """Check that the path is not known to fail."""
    path = f"from {subject.origin} to {subject.target}"
    if failure := known_failure(subject.origin, subject.target):
        message = f"the upgrade {path} is known to fail: {failure}"
        return Check(Name.PATH, Result.FAILED, message)
    return Check(Name.PATH, Result.PASSED, f"the upgrade {path} is not known to fail")


def _configuration(subject: Subject) -> Check:
    """Check that the new version reads each setting, and that compute nodes upgrade the catalog."""
    for name, table in subject.configurations.items():
        for setting in removed(table, subject.origin, subject.target):
            what = f"{name.replace('/', ' ')}: {setting.name}"
            message = f"{what} is not read by MatrixOne {setting.text} and newer; remove it"
            return Check(Name.CONFIGURATION, Result.FAILED, message)
    if not may_upgrade_catalog(subject.configurations):
        message = (
            f"{'.'.join(AUTO_UPGRADE)} is false in the configuration of all compute nodes: they "
            "would not upgrade the catalog; remove it, or waive this check and run UPGRADE ACCOUNT "
            "ALL as root when the compute nodes have the new version"
        )
        return Check(Name.CONFIGURATION, Result.FAILED, message)
    message = "no setting is known that the new version does not read"
    return Check(Name.CONFIGURATION, Result.PASSED, message)


def may_upgrade_catalog(configurations: Mapping[str, Json]) -> bool:
    """Return whether any compute node upgrades the catalog by itself; True where there is none.

    Args:
        configurations: as `Subject` has them.
    """
    nodes = [table for name, table in configurations.items() if name.startswith("CNSet/")]
    return not nodes or any(map(upgrades_catalog, nodes))


def _rehearsal(subject: Subject) -> Check:
    """Check that a young Backup was restored into the version that is asked for, and read."""
    if subject.backups is None:
        message = "Backups cannot be listed; give the operator the right to list them"
        return Check(Name.REHEARSAL, Result.UNKNOWN, message)
    oldest = unix_time(subject.now) - _max_age(subject.settings)
    young = [
        (
            _at_time(one),
            one["metadata"]["name"],
            as_table(as_table(one.get("status")).get("rehearsal")),
        )
        for one in subject.backups
        if _is_of(one, subject.sources) and _at_time(one) >= oldest
    ]
    found = [
        one for one in sorted(young, key=lambda one: one[:2]) if _is_rehearsed(one[2], subject)
    ]
    if not found:
        message = (
            f"no Backup was restored into {subject.target} yet; when the check Backup has passed, "
            "its Backup is, or create a RestoreJob of another one with "
            f"spec.verify.version: {subject.target}"
        )
        return Check(Name.REHEARSAL, Result.UNKNOWN, message)
    _at, name, record = found[-1]
    result = str(record.get("result"))
    if result != "Passed":
        message = f"Backup {name}, restored into {subject.target}, came to {result}"
        return Check(Name.REHEARSAL, Result.FAILED, f"{message}: {record.get('message')}")
    message = f"Backup {name} was restored into {subject.target}, and read"
    return Check(Name.REHEARSAL, Result.PASSED, message)


def _is_rehearsed(record: Json, subject: Subject) -> bool:
    version = parse(str(record.get("version") or ""))
    return version is not None and version.numbers == subject.target.numbers
