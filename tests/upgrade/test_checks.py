# SPDX-License-Identifier: Apache-2.0
"""What has to be true before an upgrade begins; what is unknown holds it back, too."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.versions import Version
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.upgrade.catalog import Catalog
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.upgrade.checks import (
    Subject,
    checks_of,
)

from tests.support.builders import conditions, serving

Json = dict[str, Any]

READY = Catalog(version="2.0.5", state=2)
SOURCES = {"matrixonecluster/prod/mo": "u-1", "cnset/prod/mo-tp": "u-2"}
PARTS = {
    "LogSet/mo": serving("LogSet", "mo", "3/3"),
    "DNSet/mo": serving("DNSet", "mo"),
    "CNSet/mo-tp": serving("CNSet", "mo-tp", "2/2"),
}


def backup(name: str = "b", at: str = "2026-11-26T10:00:00Z", **more: Any) -> Json:
    """Return a Backup of the cluster that was proven by restoring."""
    meta = {"atTime": at, "sourceRef": "matrixonecluster/prod/mo", "sourceUid": "u-1"}
    return {
        "metadata": {"name": name, **more.pop("metadata", {})},
        "meta": {**meta, **more.pop("meta", {})},
        "status": {
            "phase": "Available",
            "conditions": [{"type": "Restorable", "status": more.pop("restorable", "True")}],
            **more,
        },
    }


SUBJECT = Subject(
    origin=Version(2, 0, 5),
    target=Version(2, 1, 0),
    children=PARTS,
    sources=SOURCES,
    backups=[backup()],
    catalog=READY,
    settings={},
    configurations={"LogSet/mo": {}, "DNSet/mo": {}, "CNSet/mo-tp": {"cn": {"txn": {}}}},
    now="2026-11-26T12:00:00Z",
)


def result(name: str, **changes: Any) -> tuple[str, str]:
    """Return result and message of a check of the subject with changes."""
    found = checks_of(replace(SUBJECT, **changes))
    assert [one.name.value for one in found][:4] == ["Health", "Backup", "Catalog", "Path"]
    one = next(one for one in found if one.name.value == name)
    return one.result.value, one.message


def test_a_healthy_cluster_with_a_proven_backup_passes() -> None:
    found = checks_of(SUBJECT)
    assert [one.result.value for one in found] == ["Passed"] * 5
    assert [one.subject for one in found] == ["", "b", "", "", ""]
    assert not any(one.holds_back for one in found)


BROKEN = serving("LogSet", "mo", "3/3")
BROKEN["status"]["conditions"] = conditions(
    ("Ready", "True", "AllSetsReady"), ("Synced", "True", "Applied"), ("Degraded", "True", "x")
)


@pytest.mark.parametrize(
    ("part", "child", "message"),
    [
        ("LogSet/mo", None, "LogSet mo: does not exist"),
        ("LogSet/mo", serving("LogSet", "mo", "2/3"), "LogSet mo: 2/3 Pods are ready"),
        ("LogSet/mo", BROKEN, "LogSet mo: "),
        ("DNSet/mo", serving("DNSet", "mo", generation=3), "DNSet mo: "),
        ("CNSet/mo-tp", {"metadata": {}, "status": {}}, "CNSet mo-tp: its condition Ready is not"),
    ],
)
def test_each_component_has_to_be_healthy(part: str, child: Any, message: str) -> None:
    found = result("Health", children={**PARTS, part: child})
    assert found[0] == "Failed"
    assert found[1].startswith(message)


@pytest.mark.parametrize(
    ("backups", "settings", "found", "message"),
    [
        (None, {}, "Unknown", "cannot be listed"),
        ([], {}, "Failed", "there is no Backup of this cluster"),
        ([backup(meta={"sourceUid": "u-9"})], {}, "Failed", "there is no Backup of this"),
        ([backup(meta={"sourceUid": None})], {}, "Failed", "there is no Backup of this"),
        ([backup(meta={"sourceRef": "matrixonecluster/dev/mo"})], {}, "Failed", "no Backup"),
        ([backup(restorable="False")], {}, "Failed", "Backup b is not proven"),
        ([backup(restorable="Unknown")], {}, "Failed", "Backup b is not proven"),
        ([backup(conditions=[])], {}, "Failed", "Backup b is not proven"),
        ([backup(phase=None)], {}, "Passed", "Backup b"),
        ([backup(phase="Broken")], {}, "Failed", "Backup b is not proven"),
        ([backup(metadata={"deletionTimestamp": "x"})], {}, "Failed", "Backup b is not proven"),
        ([backup(at="2026-11-25T11:59:59Z")], {}, "Failed", "which is older than 24h"),
        ([backup(at="2026-11-25T12:00:00Z")], {}, "Passed", "was restored and read"),
        ([backup(at="no time")], {}, "Failed", "older than"),
        ([backup()], {"maxBackupAge": "1h"}, "Failed", "which is older than 1h"),
        ([backup()], {"maxBackupAge": "2h"}, "Passed", ""),
        (
            [backup("new", "2026-11-26T11:00:00Z", conditions=[]), backup("old")],
            {},
            "Passed",
            "Backup old",
        ),
        ([backup("c", "2026-11-26T11:00:00Z"), backup("d")], {}, "Passed", "Backup c"),
        (
            [backup(meta={"sourceRef": "cnset/prod/mo-tp", "sourceUid": "u-2"})],
            {},
            "Passed",
            "Backup b",
        ),
    ],
)
def test_a_young_backup_of_this_database_has_to_be_proven(
    backups: Any, settings: Json, found: str, message: str
) -> None:
    said = result("Backup", backups=backups, settings=settings)
    assert said[0] == found
    assert message in said[1]


@pytest.mark.parametrize(
    ("catalog", "found", "message"),
    [
        (None, "Unknown", "has not been asked"),
        (Catalog(problem="SQL cannot be reached"), "Unknown", "SQL cannot be reached"),
        (READY, "Passed", "that of 2.0.5"),
        (replace(READY, state=0), "Failed", "in state 0"),
        (replace(READY, state=1, steps=1, step="1.2.3 to 2.0.0", tenants=7), "Failed", "7 tenants"),
        (replace(READY, steps=2, step="2.0.1 to 2.0.2"), "Failed", "next 2.0.1 to 2.0.2"),
        (replace(READY, tasks=1), "Failed", "1 groups of tenants"),
    ],
)
def test_the_catalog_has_to_be_complete(catalog: Any, found: str, message: str) -> None:
    said = result("Catalog", catalog=catalog)
    assert said[0] == found
    assert message in said[1]


@pytest.mark.parametrize(
    ("origin", "target", "fails"),
    [
        ((1, 3, 0), (2, 0, 1), True),
        ((1, 3, 0), (3, 0, 18), True),
        ((1, 3, 7), (4, 2, 0), True),
        ((1, 2, 3), (2, 0, 1), False),
        ((1, 2, 3), (1, 3, 0), False),
        ((2, 0, 1), (3, 0, 9), True),
        ((2, 0, 1), (2, 1, 0), False),
        ((2, 0, 5), (3, 0, 18), False),
        ((3, 0, 18), (4, 1, 4), False),
        ((3, 0, 18), (4, 2, 0), True),
        ((2, 2, 2), (4, 2, 0), True),
        ((3, 0, 18), (4, 2, 1), False),
        ((3, 0, 18), (4, 3, 0), False),
        ((4, 1, 4), (4, 2, 0), False),
    ],
)
def test_some_paths_are_known_to_fail(origin: Any, target: Any, fails: bool) -> None:
    found = result("Path", origin=Version(*origin), target=Version(*target))
    assert found[0] == ("Failed" if fails else "Passed")
    assert ("is known to fail" if fails else "is not known to fail") in found[1]


LOGSTORE = {"cn": {"Engine": {"logstore": "logservice"}}}
DEBUG = {"tn": {"debug-mode": True}}


@pytest.mark.parametrize(
    ("origin", "target", "table", "removed"),
    [
        ((2, 0, 5), (2, 1, 0), LOGSTORE, "cn.Engine.logstore is not read by MatrixOne 2.1"),
        ((2, 0, 5), (3, 0, 18), LOGSTORE, "cn.Engine.logstore"),
        ((2, 0, 5), (3, 0, 18), {"CN": {"engine": {"LogStore": ""}}}, "cn.Engine.logstore"),
        ((2, 1, 0), (3, 0, 18), LOGSTORE, ""),
        ((1, 2, 3), (2, 0, 5), LOGSTORE, ""),
        ((2, 0, 5), (2, 1, 0), {"cn": {"Engine": "logstore"}}, ""),
        ((2, 0, 5), (2, 1, 0), {"logstore": {"cn": 1}}, ""),
        ((4, 1, 4), (4, 2, 0), DEBUG, "tn.debug-mode is not read by MatrixOne 4.2"),
        ((3, 0, 18), (4, 1, 4), DEBUG, ""),
        ((1, 2, 4), (2, 0, 0), {"observability": {"mergeCycle": "5m"}}, "observability.mergeCycle"),
    ],
)
def test_the_new_version_has_to_read_all_settings(
    origin: Any, target: Any, table: Json, removed: str
) -> None:
    found = result(
        "Configuration",
        origin=Version(*origin),
        target=Version(*target),
        configurations={"CNSet/mo-tp": table},
    )
    assert found[0] == ("Failed" if removed else "Passed")
    assert (f"CNSet mo-tp: {removed}" if removed else "no setting is known") in found[1]


MANUAL = {"cn": {"auto-upgrade": False}}


@pytest.mark.parametrize(
    ("nodes", "found"),
    [
        ([MANUAL], "Failed"),
        ([{"CN": {"Auto-Upgrade": False}}], "Failed"),
        ([MANUAL, {}], "Passed"),
        ([{"cn": {"auto-upgrade": True}}], "Passed"),
        ([], "Passed"),
    ],
)
def test_some_compute_node_has_to_upgrade_the_catalog(nodes: list[Json], found: str) -> None:
    tables = {f"CNSet/mo-{number}": table for number, table in enumerate(nodes)}
    said = result("Configuration", configurations={"LogSet/mo": MANUAL, **tables})
    assert said[0] == found
    assert ("run UPGRADE ACCOUNT ALL as root" in said[1]) is (found == "Failed")


REHEARSED = {"result": "Passed", "version": "3.0.18"}


@pytest.mark.parametrize(
    ("backups", "found", "message"),
    [
        (None, "Unknown", "cannot be listed"),
        ([], "Unknown", "no Backup was restored into 3.0.18"),
        ([backup()], "Unknown", "of another one with spec.verify.version: 3.0.18"),
        ([backup(rehearsal=REHEARSED)], "Passed", "Backup b was restored into 3.0.18, and read"),
        ([backup(rehearsal={**REHEARSED, "version": "v3.0.18-a"})], "Passed", "Backup b"),
        ([backup(rehearsal={**REHEARSED, "version": "3.0.17"})], "Unknown", "no Backup"),
        ([backup(at="2026-11-24T10:00:00Z", rehearsal=REHEARSED)], "Unknown", "no Backup"),
        ([backup(meta={"sourceUid": "u-9"}, rehearsal=REHEARSED)], "Unknown", "no Backup"),
        (
            [backup(rehearsal={**REHEARSED, "result": "Incomplete", "message": "no login"})],
            "Failed",
            "Backup b, restored into 3.0.18, came to Incomplete: no login",
        ),
        (
            [
                backup("old", rehearsal={**REHEARSED, "result": "Failed"}),
                backup("new", "2026-11-26T11:00:00Z", rehearsal=REHEARSED),
            ],
            "Passed",
            "Backup new",
        ),
    ],
)
def test_an_upgrade_across_major_releases_has_to_be_rehearsed(
    backups: Any, found: str, message: str
) -> None:
    said = result("Rehearsal", backups=backups, target=Version(3, 0, 18))
    assert said[0] == found
    assert message in said[1]


def test_within_a_major_release_none_is_needed() -> None:
    assert "Rehearsal" not in [one.name.value for one in checks_of(SUBJECT)]


@pytest.mark.parametrize(
    ("to", "checks", "found"),
    [
        ("2.1.0", ["Backup"], "Waived"),
        ("v2.1.0", ["Backup", "Path"], "Waived"),
        ("2.1.0", ["Path"], "Failed"),
        ("2.1.1", ["Backup"], "Failed"),
        ("3.0.0", ["Backup"], "Failed"),
        ("", ["Backup"], "Failed"),
        ("nightly", ["Backup"], "Failed"),
    ],
)
def test_a_waiver_is_for_one_check_and_one_version(to: str, checks: Any, found: str) -> None:
    settings = {"waive": {"to": to, "checks": checks}}
    said = result("Backup", backups=[], settings=settings)
    assert said[0] == found
    assert "there is no Backup" in said[1]


def test_what_passes_needs_no_waiver() -> None:
    settings = {"waive": {"to": "2.1.0", "checks": ["Backup"]}}
    assert result("Backup", settings=settings)[0] == "Passed"
