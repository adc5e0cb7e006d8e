# SPDX-License-Identifier: Apache-2.0
"""When a BackupSchedule has its newest Backup proven by restoring it, and what it reports of it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils import kinds
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.kinds import kind_of
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.reporting.applied import (
    Applied,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.workload.kind import PassEnd

from tests.backup import worlds as w
from tests.backup.test_schedule_passes import schedule, text

Json = dict[str, Any]
CREATED = datetime(2026, 11, 22, 10, 0, 30, tzinfo=UTC)  # a Sunday, as in `schedule`
DUE = datetime(2026, 11, 29, 5, 0, tzinfo=UTC)
CHECKS = [{"sql": "select 1", "rows": [[1]]}]
WEEKLY = {"schedule": "0 5 * * SUN", "checks": CHECKS}
OVERLAY = {"priorityClassName": "low"}


def weekly(status: Json | None = None, **spec: Any) -> Json:
    made = schedule(verify=WEEKLY, template={"overlay": OVERLAY}, **spec)
    return {**made, "status": status} if status else made


def made(name: str, hour: int, **status: Any) -> Json:
    at = text(DUE.replace(hour=hour))
    found = w.backup(name, atTime=at, completeTime=at)
    return {**found, "status": {"phase": "Available", **status}}


BACKUPS = [made("older", 1), made("newest", 3)]
REFUTED = {"verification": {"result": "Failed", "reason": "TableUnreadable"}}


def proof(due: datetime, ended: bool, result: str = "Passed") -> Json:
    """Return a RestoreJob of the schedule."""
    status: Json = {"phase": "Running"}
    if ended:
        record = {"result": result, "completionTime": text(due + timedelta(minutes=9))}
        states = [{"type": "Ended", "status": "True"}]
        status = {"phase": "Completed", "verification": record, "conditions": states}
    return {
        "kind": "RestoreJob",
        "metadata": {
            "name": f"nightly-v{due:%Y%m%d%H%M}",
            "annotations": {"matrixorigin.io/scheduled-at": text(due)},
        },
        "spec": {"backupName": "older", "verify": {}},
        "status": status,
    }


def play(resource: Json, now: datetime, **observed: Any) -> tuple[Json, Json, list[str]]:
    """Return plan and status of a pass, and the reasons of its Events."""
    kind = kind_of(resource)
    seen = {"jobs": [], "backups": BACKUPS, "restoreJobs": [], "now": text(now), **observed}
    plan = kind.plan(resource, seen)
    variables = plan.variables()
    applied = {
        "objects": {f"{one['kind']}/{one['metadata']['name']}": one for one in plan.objects},
        "done": [
            {"kind": one["kind"], "name": one["metadata"]["name"], "change": "created"}
            for one in plan.objects
        ],
    }
    report = kind.reporter.report(
        PassEnd(resource, kind.plan_type.read(variables), seen, Applied.read(applied))
    )
    return variables, dict(report.status), [one["reason"] for one in report.events]


def ordered(plan: Json) -> str:
    """Return the name of the Backup that is going to be verified; empty for none."""
    orders = [one for one in plan["objects"] if one["kind"] == "RestoreJob"]
    return str(orders[0]["spec"]["backupName"]) if orders else ""


BEFORE = proof(DUE - timedelta(days=7), ended=True)
RUNS = proof(DUE - timedelta(days=7), ended=False)
A_MINUTE = DUE + timedelta(minutes=1)

#: now, status so far, what is found, the Backup that is verified
CASES: dict[str, tuple[datetime, Json, Json, str]] = {
    "not due": (DUE - timedelta(minutes=1), {}, {}, ""),
    "due": (A_MINUTE, {}, {}, "newest"),
    "done": (A_MINUTE, {"lastVerifyTime": text(DUE)}, {}, ""),
    "done, the status is not written": (A_MINUTE, {}, {"restoreJobs": [proof(DUE, True)]}, ""),
    "after the last one": (A_MINUTE, {}, {"restoreJobs": [BEFORE]}, "newest"),
    "another runs": (A_MINUTE, {}, {"restoreJobs": [RUNS]}, ""),
    "three weeks late": (DUE + timedelta(days=20), {}, {}, "newest"),
    "no Backup": (A_MINUTE, {}, {"backups": []}, ""),
    "the newest was refuted": (
        A_MINUTE,
        {},
        {"backups": [BACKUPS[0], made("newest", 3, **REFUTED)]},
        "older",
    ),
    "a check differed": (
        A_MINUTE,
        {},
        {
            "backups": [
                BACKUPS[0],
                made("newest", 3, verification={"result": "Failed", "reason": "CheckFailed"}),
            ]
        },
        "newest",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_pass(case: str) -> None:
    now, status, observed, expected = CASES[case]

    plan, came, events = play(weekly(status), now, **observed)

    assert ordered(plan) == expected
    assert ("VerificationStarted" in events) == bool(expected)
    assert came["nextVerifyTime"] > text(now)
    if expected:
        assert came["lastVerifyTime"] == text(
            max(DUE, DUE + timedelta(days=(now - DUE).days // 7 * 7))
        )


def test_order() -> None:
    plan, _status, _events = play(weekly(suspend=False), A_MINUTE)

    [order] = [one for one in plan["objects"] if one["kind"] == "RestoreJob"]

    assert order["metadata"]["name"] == "nightly-v202611290500"
    assert order["spec"]["verify"] == {"checks": CHECKS}
    assert (order["spec"]["overlay"], order["spec"]["ttl"]) == (OVERLAY, "1h")
    assert "schedule" not in order["spec"]["verify"]
    assert kinds.refusals(order, None) == []


def test_a_verification_that_runs_holds_up_no_backup() -> None:
    """And a backup that runs holds up no verification."""
    job = {
        "kind": "BackupJob",
        "metadata": {"name": "nightly-x", "creationTimestamp": text(DUE)},
        "spec": {},
        "status": {"phase": "Running"},
    }
    begun, _status, _events = play(weekly(), A_MINUTE, jobs=[job])
    night, _status, _events = play(weekly(), A_MINUTE, restoreJobs=[RUNS])

    assert ordered(begun) == "newest"
    assert [one["kind"] for one in night["objects"]] == ["BackupJob"]


def test_it_wakes_up_when_a_verification_is_due() -> None:
    resource = weekly({"lastScheduleTime": text(DUE)})
    kind = kind_of(resource)
    now = DUE - timedelta(minutes=3)
    seen = {"jobs": [], "backups": BACKUPS, "restoreJobs": [], "now": text(now)}

    report = kind.reporter.report(PassEnd(resource, kind.plan(resource, seen), seen))

    assert report.requeue == "0h3m0s"


def test_the_last_result_is_remembered_when_its_job_is_gone() -> None:
    _plan, status, _events = play(weekly(), A_MINUTE, restoreJobs=[BEFORE])
    _plan, later, _events = play(weekly(status), A_MINUTE)

    assert (status["verification"]["result"], status["verification"]["backup"]) == (
        "Passed",
        "older",
    )
    assert later["verification"] == status["verification"]


def test_the_result_of_a_job_of_a_short_ttl_is_known_from_the_backup() -> None:
    record = {"result": "Passed", "completionTime": text(A_MINUTE), "tables": 3}

    _plan, status, _events = play(weekly(), A_MINUTE, backups=[made("a", 1, verification=record)])

    assert status["verification"] == {**record, "backup": "a"}


def test_a_refuted_backup_counts_as_broken_and_is_not_built_on() -> None:
    refuted = [made("older", 1), made("newest", 3, **REFUTED)]
    resource = weekly(fullEvery=7)

    plan, status, _events = play(resource, A_MINUTE, backups=refuted)

    assert (status["backups"]["broken"], status["lastBackup"]) == (1, "older")
    [job] = [one for one in plan["objects"] if one["kind"] == "BackupJob"]
    assert job["spec"]["type"] == "full"


def test_suspended() -> None:
    plan, status, _events = play(weekly(suspend=True), A_MINUTE)

    assert plan["objects"] == []
    assert "nextVerifyTime" not in status


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"verify": {"schedule": "every week"}}, "spec.verify.schedule: must be five fields"),
        ({"verify": {"schedule": "0 5 31 2 *"}}, "spec.verify.schedule"),
        ({"verify": {"checks": [{"name": "x"}]}}, "spec.verify.checks[0].sql"),
        (
            {"template": {"source": {"clusterRef": None, "cnSetRef": "tp", "secretRef": "s"}}},
            "spec.verify: can be given only where template.source has clusterRef",
        ),
    ],
)
def test_refusals(spec: Json, said: str) -> None:
    resource = schedule(**{"verify": WEEKLY, **spec})

    found = [str(one) for one in kinds.refusals(resource, None)]

    assert any(said in one for one in found), found


def test_it_needs_to_read_backups() -> None:
    resource = weekly()
    plan = kind_of(resource).plan(
        resource, {"jobs": [], "backups": None, "restoreJobs": [], "now": text(A_MINUTE)}
    )

    assert "spec.verify: verification cannot be used" in plan.invalid
