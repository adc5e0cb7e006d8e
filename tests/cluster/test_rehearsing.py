# SPDX-License-Identifier: Apache-2.0
"""An upgrade to another major release is rehearsed with the Backup that is the way back."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.passes import references_of

from .test_upgrading import BACKUP, OLD, cluster, observed, told

Json = dict[str, Any]

NEW = "3.0.18"
FOUND = {"result": "Passed", "version": NEW}


def rehearsed(changes: Json | None = None, **seen: Any) -> tuple[list[Json], Json]:
    """Return the RestoreJobs that a pass creates, and what its check of the rehearsal says."""
    plan, report = told(cluster(NEW, OLD, **(changes or {})), observed(**seen))
    jobs = [one for one in plan["objects"] if one["kind"] == "RestoreJob"]
    assert plan["createOnly"] == [f"RestoreJob/{one['metadata']['name']}" for one in jobs]
    (check,) = (one for one in report["status"]["upgrade"]["checks"] if one["name"] == "Rehearsal")
    return jobs, check


def test_it_is_created_once_with_the_statements_of_the_user() -> None:
    statements = {"spec.upgrade": {"canaryStatements": ["select 1", "select '{{ 1 }}'"]}}
    (job,), check = rehearsed(statements)
    assert check["result"] == "Unknown"
    name = job["metadata"]["name"]
    assert name.startswith("rehearsal-")
    assert check["message"] == f"RestoreJob {name} restores Backup b into the new version"
    assert job["metadata"]["labels"]["matrixorigin.io/cluster"] == "mo"
    assert job["spec"] == {
        "ttl": "24h",
        "backupName": "b",
        "verify": {
            "version": NEW,
            "checks": [
                {"name": "spec.upgrade.canaryStatements[0]", "sql": "select 1"},
                {"name": "spec.upgrade.canaryStatements[1]", "sql": "select '{{ 1 }}'"},
            ],
        },
    }
    live = {"metadata": {"name": name}, "status": {"phase": "Running", "message": "reading"}}
    (again,), check = rehearsed(statements, rehearsals=[live])
    assert again["metadata"]["name"] == name
    assert check["message"].endswith("into the new version (Running: reading)")


@pytest.mark.parametrize(
    ("changes", "seen", "result"),
    [
        ({}, {"backups": []}, "Unknown"),
        ({}, {"backups": None}, "Unknown"),
        (
            {},
            {"backups": [{**BACKUP, "status": {**BACKUP["status"], "rehearsal": FOUND}}]},
            "Passed",
        ),
        (
            {},
            {
                "backups": [
                    {
                        **BACKUP,
                        "status": {**BACKUP["status"], "rehearsal": {**FOUND, "result": "Failed"}},
                    }
                ]
            },
            "Failed",
        ),
        ({"spec.upgrade": {"waive": {"to": NEW, "checks": ["Rehearsal"]}}}, {}, "Waived"),
        ({"spec.version": "nightly", "spec.semanticVersion": NEW}, {}, "Unknown"),
    ],
)
def test_nothing_is_rehearsed_twice_nor_without_a_proven_backup(
    changes: Json, seen: Json, result: str
) -> None:
    jobs, check = rehearsed(changes, **seen)
    assert (jobs, check["result"]) == ([], result)


def test_a_path_that_is_known_to_fail_is_not_rehearsed() -> None:
    plan, _report = told(cluster("2.0.1", "1.3.0"), observed("1.3.0", "1.3.0"))
    assert plan["objects"] == []


@pytest.mark.parametrize(("version", "asked"), [(NEW, True), ("2.1.0", False)])
def test_rehearsals_are_observed_across_major_releases_only(version: str, asked: bool) -> None:
    assert ("rehearsals" in references_of(cluster(version, OLD))) is asked
