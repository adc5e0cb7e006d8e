# SPDX-License-Identifier: Apache-2.0
"""Passes over a BackupSchedule: what is started, left out and deleted, and what is reported.

The world around the schedule is played: BackupJobs end, Backups appear, the clock goes on.
"""

import copy
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils import kinds
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.kinds import kind_of
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.reporting.applied import (
    Applied,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.workload.kind import PassEnd

from tests.support.resources import DELETE, merged

Json = dict[str, Any]
START = datetime(2026, 11, 22, 10, 0, 30, tzinfo=UTC)


def text(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def schedule(**spec: Any) -> Json:
    base = {
        "schedule": "0 3 * * *",
        "template": {
            "source": {"clusterRef": "mo"},
            "target": {"s3": {"path": "backups/mo/", "endpoint": "http://minio:9000"}},
            "ttl": "1h",
        },
    }
    return {
        "apiVersion": "core.matrixorigin.io/v1alpha1",
        "kind": "BackupSchedule",
        "metadata": {
            "name": "nightly",
            "namespace": "prod",
            "uid": "u",
            "generation": 1,
            "creationTimestamp": text(START),
        },
        "spec": merged(base, spec),
    }


@dataclass
class World:
    """A schedule, its BackupJobs and Backups, and the clock."""

    resource: Json
    now: datetime = START
    jobs: dict[str, Json] = field(default_factory=dict)
    backups: dict[str, Json] = field(default_factory=dict)
    others: list[Json] = field(default_factory=list)
    restores: list[Json] = field(default_factory=list)
    clusters: list[Json] = field(default_factory=list)
    source: Json | None = None
    events: list[Json] = field(default_factory=list)
    report: Any = None
    plan: Any = None

    def play(self, failure: str = "", writes_status: bool = True) -> Json:
        """Play one pass, apply it as the API server would, and return the status."""
        kind = kind_of(self.resource)
        observed = copy.deepcopy(
            {
                "jobs": list(self.jobs.values()),
                "backups": list(self.backups.values()),
                "everyBackup": [*self.backups.values(), *self.others],
                "everyBackupJob": list(self.jobs.values()),
                "everyRestoreJob": self.restores,
                "everyCluster": self.clusters,
                "source": self.source,
                "now": text(self.now),
            }
        )
        self.plan = kind.plan(self.resource, observed)
        plan = kind.plan_type.read(self.plan.variables())
        applied = {} if failure else self._apply(plan)
        self.report = kind.reporter.report(
            PassEnd(self.resource, plan, observed, Applied.read(applied), failure)
        )
        if writes_status:
            self.resource["status"] = dict(self.report.status)
            self.events += self.report.events
        return self.resource.get("status") or {}

    def _apply(self, plan: Any) -> Json:
        done, objects = [], {}
        for one in plan.objects:
            name = one["metadata"]["name"]
            objects[f"BackupJob/{name}"] = self.jobs.setdefault(name, copy.deepcopy(one))
            done.append({"kind": "BackupJob", "name": name, "change": "created"})
        for one in plan.remove:
            del self.backups[one["metadata"]["name"]]
            done.append({"kind": "Backup", "name": one["metadata"]["name"], "change": "deleted"})
        return {"objects": objects, "done": done}

    def wait(self, **time: float) -> None:
        self.now += timedelta(**time)

    def complete(self, name: str = "") -> Json:
        """End the running BackupJob well, and return its Backup."""
        job = self.jobs[name or self.active[0]]
        base = (job["spec"].get("base") or {}).get("backupName")
        backup = {
            "metadata": {"name": job["metadata"]["name"], "labels": job["metadata"]["labels"]},
            "meta": {
                "id": f"id-{job['metadata']['name']}",
                "type": job["spec"]["type"],
                "atTime": text(self.now),
                "location": job["spec"]["target"],
                "sourceRef": "matrixonecluster/prod/mo",
                "size": "64Mi",
                **({"base": {"id": self.backups[base]["meta"]["id"]}} if base else {}),
            },
            "status": {"phase": "Available"},
        }
        self.backups[backup["metadata"]["name"]] = backup
        job["status"] = {
            "phase": "Completed",
            "startTime": text(self.now - timedelta(seconds=90)),
            "completionTime": text(self.now),
            "backup": backup["metadata"]["name"],
            "size": "64Mi",
        }
        return backup

    def fail(self, reason: str, message: str) -> None:
        condition = {"type": "Degraded", "status": "True", "reason": reason}
        ended = {"phase": "Failed", "message": message, "conditions": [condition]}
        self.jobs[self.active[0]]["status"] = ended

    @property
    def active(self) -> list[str]:
        ended = {"Completed", "Failed"}
        return [
            name
            for name, job in self.jobs.items()
            if (job.get("status") or {}).get("phase") not in ended
        ]

    def condition(self, kind: str) -> tuple[str, str]:
        found = {one["type"]: one for one in self.resource["status"]["conditions"]}
        return found[kind]["status"], found[kind]["reason"]

    def told(self) -> list[str]:
        return [event["reason"] for event in self.events]

    def night(self) -> str:
        """Let the next backup be made; return its name."""
        self.now = datetime.combine(
            self.now.date() + timedelta(days=self.now.hour >= 3),
            datetime.min.time().replace(hour=3),
            UTC,
        )
        self.play()
        name = self.active[0]
        self.wait(minutes=10)
        self.complete()
        self.play()
        self.wait(hours=2)
        self.jobs.clear()
        self.play()
        return name


def test_nothing_is_made_before_it_is_due():
    world = World(schedule())
    status = world.play()
    assert world.jobs == {}
    assert status["nextScheduleTime"] == "2026-11-23T03:00:00Z"
    assert world.condition("Ready") == ("True", "Scheduled")
    assert world.condition("Degraded") == ("False", "AsExpected")
    assert (status["phase"], status["message"], status["active"]) == ("Ready", "", [])
    assert world.report.requeue == "0h10m0s"
    assert "lastScheduleTime" not in status


def test_it_wakes_up_when_the_next_one_is_due():
    world = World(schedule(), datetime(2026, 11, 23, 2, 59, 58, tzinfo=UTC))
    world.play()
    assert world.report.requeue == "0h0m2s"


def test_the_backup_that_is_due_is_made_once():
    world = World(schedule())
    world.now = datetime(2026, 11, 23, 3, 0, 1, tzinfo=UTC)
    status = world.play()
    [job] = world.jobs.values()
    assert job["metadata"] == {
        "name": "nightly-202611230300",
        "namespace": "prod",
        "labels": {
            "matrixorigin.io/namespace": "prod",
            "matrixorigin.io/backup-schedule": "nightly",
        },
        "annotations": {"matrixorigin.io/scheduled-at": "2026-11-23T03:00:00Z"},
    }
    assert job["spec"] == {
        "source": {"clusterRef": "mo"},
        "target": {
            "s3": {
                "path": "backups/mo/prod/nightly/20261123T030000Z",
                "endpoint": "http://minio:9000",
            }
        },
        "ttl": "1h",
        "type": "full",
        "deletionPolicy": "Retain",
    }
    assert status["lastScheduleTime"] == "2026-11-23T03:00:00Z"
    assert status["active"] == ["nightly-202611230300"]
    assert world.told() == ["BackupStarted"]
    world.wait(seconds=5)
    assert world.play()["active"] == ["nightly-202611230300"]
    assert (len(world.jobs), world.told()) == (1, ["BackupStarted"])


def test_an_operator_that_ends_before_it_writes_the_status_makes_none_twice():
    world = World(schedule(), datetime(2026, 11, 23, 3, 0, 1, tzinfo=UTC))
    world.play(writes_status=False)
    world.wait(minutes=1)
    world.play()
    assert list(world.jobs) == ["nightly-202611230300"]
    assert world.resource["status"]["lastScheduleTime"] == "2026-11-23T03:00:00Z"


def test_a_pass_that_fails_is_repeated():
    world = World(schedule(), datetime(2026, 11, 23, 3, 0, 1, tzinfo=UTC))
    world.play(failure="the server is away")
    assert world.condition("Synced") == ("False", "ApplyFailed")
    assert "lastScheduleTime" not in world.resource["status"]
    world.wait(minutes=1)
    world.play()
    assert list(world.jobs) == ["nightly-202611230300"]
    assert world.condition("Synced") == ("True", "Applied")


def test_the_first_one_is_made_immediately_and_the_next_in_time():
    world = World(schedule(immediate=True))
    world.wait(seconds=2)
    world.play()
    assert list(world.jobs) == ["nightly-202611221000"]
    world.wait(minutes=5)
    world.complete()
    status = world.play()
    assert status["lastBackup"] == "nightly-202611221000"
    assert status["lastSuccessfulTime"] == "2026-11-22T10:05:32Z"
    assert world.told() == ["BackupStarted", "BackupCompleted"]
    assert world.night() == "nightly-202611230300"


def test_what_ended_is_remembered_when_its_job_is_gone():
    world = World(schedule())
    for _ in range(12):
        world.night()
    status = world.resource["status"]
    assert len(status["history"]) == 10
    assert status["history"][0] == {
        "name": "nightly-202612040300",
        "scheduleTime": "2026-12-04T03:00:00Z",
        "type": "full",
        "phase": "Completed",
        "startTime": "2026-12-04T03:08:30Z",
        "completionTime": "2026-12-04T03:10:00Z",
        "backup": "nightly-202612040300",
        "size": "64Mi",
    }
    assert status["backups"] == {
        "total": 12,
        "restorable": 12,
        "broken": 0,
        "unchained": 0,
        "unknown": 0,
    }


def test_a_job_that_somebody_deletes_does_not_hold_up_the_next():
    world = World(schedule(), datetime(2026, 11, 23, 3, 0, 1, tzinfo=UTC))
    world.play()
    world.jobs.clear()
    status = world.play()
    assert (status["active"], status["history"][0]["phase"]) == ([], "Unknown")
    world.night()
    assert list(world.backups) == ["nightly-202611240300"]


@pytest.mark.parametrize(
    ("late", "spec", "made", "missed"),
    [
        ({"days": 3}, {}, ["nightly-202611250300"], None),
        ({"days": 3}, {"startingDeadlineSeconds": 25500}, ["nightly-202611250300"], None),
        ({"days": 3}, {"startingDeadlineSeconds": 3600}, [], "2026-11-25T03:00:00Z"),
        ({"days": 3}, {"suspend": True}, [], None),
        ({"hours": 3}, {}, [], None),
    ],
)
def test_after_an_outage_the_last_one_is_made_unless_it_is_too_late(late, spec, made, missed):
    world = World(schedule(**spec))
    world.play()
    world.wait(**late)
    status = world.play()
    assert list(world.jobs) == made
    assert status.get("lastMissedTime") == missed
    world.play()
    assert world.told().count("BackupMissed") == bool(missed)


def test_a_schedule_that_is_resumed_goes_on():
    world = World(schedule(suspend=True, retention={"keepLast": 1}))
    world.wait(days=3)
    world.play()
    assert world.condition("Ready") == ("False", "Suspended")
    assert "nextScheduleTime" not in world.resource["status"]
    assert world.report.requeue == ""
    world.resource["spec"]["suspend"] = False
    world.play()
    assert list(world.jobs) == ["nightly-202611250300"]


def test_the_next_waits_for_the_previous_one():
    world = World(schedule(schedule="0 * * * *"))
    world.wait(hours=1)
    world.play()
    world.wait(hours=2)
    status = world.play()
    assert list(world.jobs) == ["nightly-202611221100"]
    assert "waits for BackupJob nightly-202611221100" in status["message"]
    world.complete()
    world.play()
    assert list(world.jobs) == ["nightly-202611221100", "nightly-202611221300"]


def test_the_next_is_left_out_while_the_previous_one_runs():
    world = World(schedule(schedule="0 * * * *", concurrencyPolicy="Forbid"))
    world.wait(hours=1)
    world.play()
    world.wait(hours=1)
    assert world.play()["lastMissedTime"] == "2026-11-22T12:00:00Z"
    world.complete()
    world.play()
    assert list(world.jobs) == ["nightly-202611221100"]
    assert world.told() == ["BackupStarted", "BackupMissed", "BackupCompleted"]
    world.wait(hours=1)
    world.play()
    assert list(world.jobs)[1:] == ["nightly-202611221300"]


def test_every_third_one_is_full():
    world = World(schedule(fullEvery=3))
    names = [world.night() for _ in range(5)]
    bases = [(one["meta"].get("base") or {}).get("id", "") for one in world.backups.values()]
    assert bases == ["", f"id-{names[0]}", f"id-{names[1]}", "", f"id-{names[3]}"]


@pytest.mark.parametrize("phase", ["Broken", "Deleting", None])
def test_a_full_one_follows_one_that_is_of_no_use(phase):
    world = World(schedule(fullEvery=7))
    world.night()
    last = world.night()
    if phase:
        world.backups[last]["status"]["phase"] = phase
    else:
        del world.backups[world.resource["status"]["history"][1]["backup"]]
    assert world.backups[world.night()]["meta"]["type"] == "full"


def test_a_full_one_follows_when_building_on_one_fails():
    """Also when the job that failed has been forgotten by then."""
    world = World(schedule(fullEvery=7))
    world.night()
    world.now = datetime(2026, 11, 24, 3, tzinfo=UTC)
    world.play()
    assert world.jobs[world.active[0]]["spec"]["type"] == "incremental"
    world.fail("ObjectMissing", "x")
    world.jobs[next(iter(world.jobs))]["status"]["conditions"][0]["reason"] = "ChainBroken"
    world.play()
    world.jobs.clear()
    assert world.backups[world.night()]["meta"]["type"] == "full"


@pytest.mark.parametrize(
    "change",
    [
        {"template": {"source": {"clusterRef": "other"}}},
        {"template": {"target": {"s3": {"path": "elsewhere/mo"}}}},
        {"template": {"source": {"clusterRef": DELETE, "cnSetRef": "mo"}}},
    ],
)
def test_another_source_or_target_begins_another_chain(change):
    world = World(schedule(fullEvery=7))
    world.night()
    world.resource["spec"] = merged(world.resource["spec"], change)
    assert world.backups[world.night()]["meta"]["type"] == "full"


def test_retention_deletes_backups_and_their_data():
    world = World(schedule(fullEvery=2, retention={"keepLast": 3}))
    names = [world.night() for _ in range(6)]
    assert list(world.backups) == names[2:]
    assert {job["spec"]["deletionPolicy"] for job in world.jobs.values()} <= {"Delete"}
    assert world.told().count("BackupsDeleted") == 1
    assert world.resource["status"]["backups"]["total"] == 4


def test_the_template_decides_about_the_data_of_deleted_backups():
    spec = schedule(retention={"keepLast": 3}, template={"deletionPolicy": "Retain"})
    world = World(spec, datetime(2026, 11, 23, 3, 0, 1, tzinfo=UTC))
    world.play()
    assert world.jobs["nightly-202611230300"]["spec"]["deletionPolicy"] == "Retain"
    assert kind_of(spec).judge.warns(spec, None) != []


def test_a_kept_backup_stays():
    world = World(schedule(retention={"keepLast": 1}))
    first = world.night()
    world.backups[first]["metadata"]["annotations"] = {"matrixorigin.io/keep": "true"}
    last = [world.night() for _ in range(3)][-1]
    assert list(world.backups) == [first, last]


def test_failures_are_counted_told_and_forgotten():
    world = World(schedule())
    world.night()
    for night, reason in ((24, "BackupFailed"), (25, "BackupTooOld")):
        world.now = datetime(2026, 11, night, 3, tzinfo=UTC)
        world.play()
        world.fail("AccessDenied", "the store refuses the key")
        status = world.play()
        assert world.condition("Degraded") == ("True", reason)
        said = f"BackupJob nightly-202611{night}0300 failed: the store refuses the key"
        assert (status["phase"], status["failures"]) == ("Degraded", night - 23)
        assert said in status["message"]
    assert "no backup since 2026-11-23T03:10:00Z can be restored" in status["message"]
    assert world.told().count("BackupFailed") == 2
    assert status["history"][0]["reason"] == "AccessDenied"
    world.night()
    assert world.condition("Degraded") == ("False", "AsExpected")
    assert world.resource["status"]["failures"] == 0


@pytest.mark.parametrize(
    ("expression", "alert", "hours"),
    [
        ("0 3 * * *", None, 26),
        ("0 * * * *", None, 3),
        ("0 3 * * MON-FRI", None, 74),
        ("@weekly", None, 170),
        ("0 3 * * *", "50h", 50),
    ],
)
def test_the_age_that_is_too_much(expression, alert, hours):
    world = World(schedule(schedule=expression, **({"alertAfter": alert} if alert else {})))
    assert world.play()["alertAfterSeconds"] == hours * 3600


def test_a_schedule_without_any_backup_says_so_in_time():
    world = World(schedule())
    world.wait(hours=25)
    world.play()
    assert world.condition("Degraded") == ("False", "AsExpected")
    world.wait(hours=2)
    world.play()
    assert world.condition("Degraded") == ("True", "BackupTooOld")


def test_broken_backups_are_reported():
    world = World(schedule(fullEvery=3))
    names = [world.night() for _ in range(4)]
    world.backups[names[0]]["status"]["phase"] = "Broken"
    status = world.play()
    counts = {"total": 4, "restorable": 1, "broken": 1, "unchained": 2, "unknown": 0}
    assert status["backups"] == counts
    assert world.condition("Degraded") == ("True", "BackupBroken")


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"schedule": "0 25 * * *"}, "spec.schedule: hour: must be 0 to 23"),
        ({"schedule": "0 0 31 2 *"}, "spec.schedule: '0 0 31 2 *' is never due"),
        ({"timeZone": "Mars"}, "spec.timeZone: must be a time zone"),
        ({"retention": {"maxAge": "1y"}}, "spec.retention.maxAge: must be a duration"),
        ({"retention": {"keepLast": -1}}, "spec.retention.keepLast: must be at least 0"),
        ({"template": {"target": {"s3": {"path": "a/../b"}}}}, "spec.template.target.s3.path"),
        ({"template": {"target": DELETE}}, "spec.template.target"),
        ({"alertAfter": "99999999999999999999h"}, "spec.alertAfter"),
    ],
)
def test_a_spec_that_cannot_be_used(spec, said):
    world = World(schedule(**spec))
    world.wait(days=2)
    world.play()
    assert world.jobs == {}
    assert world.condition("Ready") == ("False", "InvalidSpec")
    assert world.condition("Synced") == ("False", "InvalidSpec")
    assert said in world.resource["status"]["message"]
    assert any(said in str(one) for one in kind_of(world.resource).judge.mistakes(world.resource))


HOST_PATH = {"hostPath": {"path": "/"}}
FOLDER = {"fileSystem": {"path": "/b", "mountPath": "/b", "volume": HOST_PATH}}
IN_TEMPLATES = [
    {"overlay": {"hostNetwork": True}},
    {"overlay": {"volumes": [{"name": "a", **HOST_PATH}]}},
    {"overlay": {"securityContext": {"runAsUser": 0}}},
    {"overlay": {"podAnnotations": "text"}},
    {"target": FOLDER},
    {"target": {"s3": {"path": "backups/mo/../other", "endpoint": "http://minio:9000"}}},
    {"target": {"s3": {"path": ""}}},
    {"target": {}},
    {"ttl": "1y"},
    {"activeDeadlineSeconds": 0},
    {"engine": "mo_br"},
]


@pytest.mark.parametrize("wrong", IN_TEMPLATES, ids=str)
def test_a_template_is_refused_as_its_backup_jobs_would_be(wrong):
    resource = schedule()
    resource["spec"]["template"] = {**resource["spec"]["template"], **wrong}
    job = {**resource, "kind": "BackupJob", "spec": resource["spec"]["template"]}
    expected = [str(one).replace("spec.", "spec.template.", 1) for one in kinds.refusals(job, None)]
    assert expected
    assert [str(one) for one in kinds.refusals(resource, None)] == expected
    world = World(resource)
    world.wait(days=2)
    world.play()
    assert world.jobs == {}
    assert world.condition("Synced") == ("False", "InvalidSpec")


@pytest.mark.parametrize("template", ["text", None, []], ids=str)
def test_a_template_of_another_type_is_refused(template):
    resource = schedule()
    resource["spec"]["template"] = template
    assert kinds.refusals(resource, None)


class Namespaced(World):
    """A schedule whose operator may not read Backups."""

    def play(self, failure="", writes_status=True):
        kind = kind_of(self.resource)
        jobs = copy.deepcopy(list(self.jobs.values()))
        observed = {"jobs": jobs, "backups": None, "now": text(self.now)}
        self.plan = kind.plan(self.resource, observed)
        report = kind.reporter.report(
            PassEnd(
                self.resource, self.plan, observed, Applied.read(self._apply(self.plan)), failure
            )
        )
        self.resource["status"] = dict(report.status)
        return self.resource["status"]


def test_an_operator_of_one_namespace_makes_full_backups_and_follows_their_jobs():
    world = Namespaced(schedule())
    for _ in range(2):
        world.wait(days=1)
        world.play()
        world.complete()
        status = world.play()
        assert {job["spec"]["type"] for job in world.jobs.values()} == {"full"}
        assert status["lastBackupTime"] == text(world.now - timedelta(seconds=90))
        assert "backups" not in status
    assert world.condition("Degraded") == ("False", "AsExpected")
    world.jobs.clear()
    assert world.play()["lastBackupTime"] == status["lastBackupTime"]
    world.wait(days=3)
    world.play()
    assert world.condition("Degraded") == ("True", "BackupTooOld")


@pytest.mark.parametrize(
    ("spec", "said"),
    [({"fullEvery": 7}, "spec.fullEvery"), ({"retention": {"keepLast": 3}}, "spec.retention")],
)
def test_what_needs_backups_is_refused_where_they_cannot_be_read(spec, said):
    world = Namespaced(schedule(**spec))
    world.wait(days=1)
    world.play()
    assert world.jobs == {}
    assert world.condition("Synced") == ("False", "InvalidSpec")
    assert f"{said}: " in world.resource["status"]["message"]


def test_a_paused_schedule_does_nothing():
    world = World(schedule(retention={"keepLast": 1}))
    world.night()
    world.night()
    world.resource["metadata"]["annotations"] = {"matrixorigin.io/paused": "true"}
    world.wait(days=3)
    status = world.play()
    assert (len(world.jobs), len(world.backups)) == (0, 1)
    assert (status["phase"], world.condition("Paused")[0]) == ("Paused", "True")
    assert status["lastBackup"]


def test_what_cannot_be_observed_leaves_the_status_as_it_was():
    world = World(schedule())
    world.night()
    kind = kind_of(world.resource)
    before = copy.deepcopy(world.resource["status"])
    report = kind.reporter.report(
        PassEnd(world.resource, kind.plan_type.read({}), failure="the server is away")
    )
    assert report.status["history"] == before["history"]
    ready = next(one for one in report.status["conditions"] if one["type"] == "Ready")
    assert (ready["status"], ready["reason"]) == ("Unknown", "ObservationFailed")


def test_metrics_show_the_status_and_are_taken_away():
    world = World(schedule(fullEvery=3))
    world.night()
    last = world.night()
    world.backups[last]["status"]["phase"] = "Broken"
    kind = kind_of(world.resource)
    found = kind.metrics(world.resource, world.play())
    values = {one["name"].removeprefix("matrixone_"): one["gauge"].get("set") for one in found}
    assert values == {
        "backup_newest_timestamp_seconds": datetime(2026, 11, 23, 3, 10, tzinfo=UTC).timestamp(),
        "backup_schedule_created_timestamp_seconds": START.timestamp(),
        "backup_alert_after_seconds": 26 * 3600,
        "backup_next_timestamp_seconds": datetime(2026, 11, 25, 3, tzinfo=UTC).timestamp(),
        "backup_suspended": 0,
        "backup_failures": 0,
        "backup_last_duration_seconds": 90,
        "backup_last_size_bytes": 64 << 20,
        "backups": 2,
        "backups_restorable": 1,
        "backups_broken": 1,
        "backups_unchained": 0,
    }
    labels = {"schedule_namespace": "prod", "schedule": "nightly"}
    assert all(one["labels"] == labels and one["description"] for one in found)
    gone = kind.metrics(world.resource, None)
    assert [one["name"] for one in gone] == [one["name"] for one in found]
    assert all(one["gauge"] == {"remove": True} for one in gone)


def test_a_value_that_is_not_known_is_no_value():
    world = World(schedule(suspend=True))
    found = kind_of(world.resource).metrics(world.resource, world.play())
    removed = {one["name"] for one in found if one["gauge"] == {"remove": True}}
    assert removed == {
        "matrixone_backup_newest_timestamp_seconds",
        "matrixone_backup_next_timestamp_seconds",
        "matrixone_backup_last_duration_seconds",
        "matrixone_backup_last_size_bytes",
    }


def kept_of(world: World) -> set[str]:
    """Return the Backups that a pass leaves."""
    world.play()
    return set(world.backups)


@pytest.mark.parametrize("status", [None, {}, {"phase": "Pending"}, {"message": "half written"}])
def test_backups_that_were_applied_again_stay_until_it_is_known_how_they_are(status):
    world = World(schedule(retention={"keepLast": 100}))
    names = [world.night() for _ in range(14)]
    written = {name: world.backups[name].pop("status") for name in names[:-1]}
    for name in written:
        if status is not None:
            world.backups[name]["status"] = status
    world.resource["spec"]["retention"] = {"keepLast": 1}
    assert kept_of(world) == set(names)
    report = world.resource["status"]
    assert report["backups"]["unknown"] == 13
    assert "no Backup is deleted: it is not known yet whether Backup" in report["message"]
    assert world.condition("Degraded") == ("False", "AsExpected")
    for name in names[:-2]:
        world.backups[name]["status"] = written[name]
    assert kept_of(world) == set(names)
    world.backups[names[-2]]["status"] = written[names[-2]]
    assert kept_of(world) == {names[-1]}
    assert "no Backup is deleted" not in world.resource["status"]["message"]


@pytest.mark.parametrize(
    ("metadata", "status"),
    [({"generation": 2}, {"observedGeneration": 1}), ({}, {"id": "of-another-backup"})],
)
def test_a_status_of_something_else_tells_nothing(metadata, status):
    world = World(schedule(retention={"keepLast": 100}))
    names = [world.night() for _ in range(2)]
    world.backups[names[1]]["metadata"].update(metadata)
    world.backups[names[1]]["status"].update(status)
    world.resource["spec"]["retention"] = {"keepLast": 1}
    assert kept_of(world) == set(names)


def test_a_backup_that_cannot_be_read_keeps_all():
    world = World(schedule(retention={"keepLast": 100}))
    names = {world.night() for _ in range(3)}
    world.resource["spec"]["retention"] = {"keepLast": 1}
    odd = {"metadata": {"name": "odd"}, "meta": {"atTime": "yesterday"}}
    world.backups["odd"] = odd
    assert kept_of(world) == {*names, "odd"}


def test_the_age_alert_waits_while_nothing_is_known():
    world = World(schedule())
    names = [world.night() for _ in range(3)]
    before = world.play()
    for name in names:
        del world.backups[name]["status"]
    after = world.play()
    assert after["lastBackupTime"] == before["lastBackupTime"]
    assert world.condition("Degraded") == ("False", "AsExpected")


def test_another_database_does_not_push_out_the_backups_of_the_first():
    world = World(schedule(retention={"keepLast": 2}))
    old = [world.night() for _ in range(4)][-2:]
    for name in old:
        world.backups[name]["meta"]["sourceRef"] = "matrixonecluster/prod/earlier"
    new = [world.night() for _ in range(4)][-2:]
    assert kept_of(world) == {*old, *new}


def test_a_later_database_of_the_same_name_is_another_one():
    world = World(schedule(retention={"keepLast": 1}))
    old = world.night()
    world.backups[old]["meta"]["sourceUid"] = "u-1"
    new = world.night()
    world.backups[new]["meta"]["sourceUid"] = "u-2"
    assert kept_of(world) == {old, new}


@pytest.mark.parametrize(
    ("attribute", "user"),
    [
        ("restores", {"kind": "RestoreJob", "spec": {"backupName": "{}"}}),
        ("clusters", {"kind": "MatrixOneCluster", "spec": {"restoreFrom": "{}"}}),
        ("others", {"kind": "Backup", "meta": {"id": "mine", "base": {"id": "id-{}"}}}),
    ],
)
def test_what_is_in_use_is_not_deleted(attribute, user):
    world = World(schedule(retention={"keepLast": 100}))
    names = [world.night() for _ in range(3)]
    world.resource["spec"]["retention"] = {"keepLast": 1}
    filled = json.loads(json.dumps(user).replace("{}", names[0]))
    filled["metadata"] = {"name": "user", "namespace": "elsewhere", "uid": "u"}
    getattr(world, attribute).append(filled)
    assert kept_of(world) == {names[0], names[2]}
    getattr(world, attribute).clear()
    assert kept_of(world) == {names[2]}


def test_nothing_is_deleted_where_users_cannot_be_listed():
    world = World(schedule(retention={"keepLast": 100}))
    names = {world.night() for _ in range(3)}
    world.resource["spec"]["retention"] = {"keepLast": 1}
    world.clusters = None
    assert kept_of(world) == names
    assert "may not list what uses them" in world.resource["status"]["message"]


def cluster(reason: str, ready: str = "False") -> Json:
    state = {"type": "Ready", "status": ready, "reason": reason}
    return {"kind": "MatrixOneCluster", "status": {"conditions": [state]}}


@pytest.mark.parametrize("reason", ["Hibernated", "Stopped"])
def test_a_backup_waits_while_its_database_sleeps(reason: str) -> None:
    """No BackupJob is started that could only fail, no alert fires, and it is made on waking."""
    world = World(schedule(alertAfter="26h"), source=cluster(reason))
    world.play()
    world.wait(days=3)

    status = world.play()
    assert world.jobs == {}
    assert status["message"] == "the backup of 2026-11-25T03:00:00Z waits until the database wakes"
    assert "alertAfterSeconds" not in status
    assert degraded(status) == "AsExpected"
    assert world.report.requeue == "0h0m30s"

    world.source = cluster("AllSetsReady", "True")
    status = world.play()
    assert list(world.jobs) == ["nightly-202611250300"]
    assert status["alertAfterSeconds"] == 26 * 3600


@pytest.mark.parametrize(
    "source", [None, cluster("SQLNotAnswered"), cluster("LogServiceNotReady"), {"status": {}}]
)
def test_a_database_that_should_answer_is_backed_up_in_time(source: Json | None) -> None:
    """Its BackupJob waits for it, and says so; what is broken is no sleep."""
    world = World(schedule(), source=source)
    world.play()
    world.wait(days=1)

    assert "alertAfterSeconds" in world.play()
    assert list(world.jobs) == ["nightly-202611230300"]


def test_what_waited_too_long_is_left_out() -> None:
    """startingDeadlineSeconds counts while it sleeps, too."""
    world = World(schedule(startingDeadlineSeconds=600), source=cluster("Hibernated"))
    world.play()
    world.wait(days=1)

    assert world.play()["lastMissedTime"] == "2026-11-23T03:00:00Z"
    assert world.jobs == {}


def degraded(status: Json) -> str:
    return str(next(one["reason"] for one in status["conditions"] if one["type"] == "Degraded"))
