# SPDX-License-Identifier: Apache-2.0
"""An operator that is killed between any two of its writes goes on with a BackupJob afterwards.

The API server is played: passes carry out their plan write by write, as the role does, and the
Job's program reports what it reports on a real database.
"""

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils import kinds
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.plain import plain
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.task import tasks
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.workload.kind import (
    PassEnd,
    Play,
)

from tests.backup import worlds as w

Json = dict[str, Any]
Write = Callable[[], object]
FULL, MORE = "full", "more"
ROUNDS = 12
"""Enough for both backups with one pass lost: each takes three passes."""


@dataclass
class World:
    """Two BackupJobs of one database, the second based on the first, and an operator.

    Args:
        lives: how many writes the operator makes before it is killed; None if it is not.
    """

    lives: int | None = None
    objects: dict[str, Json] = field(default_factory=dict)
    created: list[str] = field(default_factory=list)
    written: int = 0

    def __post_init__(self) -> None:
        base = {"type": "incremental", "base": {"latest": True}}
        target = {"s3": {**w.S3, "path": "backups/mo/more"}}
        self._jobs = {
            FULL: w.backup_job(FULL, "u-full", verify={}),
            MORE: w.backup_job(MORE, "u-more", target=target, **base),
        }

    def status(self, name: str) -> Json:
        return dict(self._jobs[name].get("status") or {})

    def of_kind(self, kind: str) -> list[Json]:
        return [one for one in self.objects.values() if one["kind"] == kind]

    def run(self) -> int:
        """Play passes until nothing is left to do; return the number of writes."""
        for _ in range(ROUNDS):
            for name in self._jobs:
                self._pass(name)
            self._programs()
        return self.written

    def _pass(self, name: str) -> None:
        for write in self._writes(name):
            if self.written == self.lives:
                self.lives = None
                return
            write()
            self.written += 1

    def _writes(self, name: str) -> Iterator[Write]:
        """Yield the writes of a pass in the order of roles/backupjob."""
        resource = copy.deepcopy(self._jobs[name])
        observed = self._observed(name)
        kind = kinds.kind_of(resource)
        plan = plain(kind.plan(resource, observed, Play(image="operator:1")).variables())
        for one in plan["objects"]:
            yield lambda one=one: self._apply(one, plan["createOnly"])
        recorded: Json = {}
        for one in plan["record"]:
            yield lambda one=one: self._apply(one, plan["recordOnce"])
            recorded[_key(one)] = self.objects[_key(one)]
        found = {**observed, "recorded": {"objects": recorded}}
        report = kind.reporter.report(PassEnd(resource, kind.plan_type.read(plan), found))
        status = plain(report.status)
        if status != self.status(name):
            yield lambda: self._jobs[name].update(status=status)

    def _apply(self, wanted: Json, create_only: list[str]) -> None:
        key = _key(wanted)
        if key not in self.objects:
            self.created.append(key)
            self.objects[key] = copy.deepcopy(wanted)
        elif key not in create_only:
            self.objects[key] = {**self.objects[key], **copy.deepcopy(wanted)}

    def _observed(self, name: str) -> Json:
        found = {
            "job": self.objects.get(f"Job/{name}-backup"),
            "task": self.objects.get(f"ConfigMap/{name}-backup-task"),
            "result": self.objects.get(f"ConfigMap/{name}-backup-result"),
            "jobs": list(self._jobs.values()),
            "backups": self.of_kind("Backup"),
            "now": w.NOW,
        }
        return w.around(**copy.deepcopy(found))

    def _programs(self) -> None:
        """Let the program of each Job go on: one that began has succeeded the next time."""
        for job in self.of_kind("Job"):
            name = job["metadata"]["name"]
            result = self.objects[f"ConfigMap/{name}-result"]
            if "status" not in job:
                job["metadata"].update(uid=f"j-{name}", creationTimestamp=w.BEGAN)
                job["status"] = {"startTime": w.BEGAN}
                result["data"] = w.result()["data"]
                continue
            task = self.objects[f"ConfigMap/{name}-task"]["data"][tasks.TASK_KEY]
            record = w.record(tasks.task_from_json(task).id)
            result["data"] = w.result("Succeeded", manifest=record)["data"]
            job["status"] |= {"conditions": [w.ended("Complete")]}


def _key(one: Json) -> str:
    return f"{one['kind']}/{one['metadata']['name']}"


def outcome(world: World) -> Json:
    """Return what a user finds in the end."""
    return {
        "objects": world.objects,
        "statuses": {name: world.status(name) for name in (FULL, MORE)},
    }


UNDISTURBED = World()
WRITES = UNDISTURBED.run()


def test_without_a_crash_both_backups_are_made_in_turn() -> None:
    assert [UNDISTURBED.status(name)["phase"] for name in (FULL, MORE)] == ["Completed"] * 2
    jobs = [key for key in UNDISTURBED.created if key.startswith(("Job/", "Backup/"))]
    first, second = (UNDISTURBED.status(name)["backup"] for name in (FULL, MORE))
    expected = ["Job/full-backup", f"Backup/{first}", "Job/more-backup", f"Backup/{second}"]
    assert jobs == expected
    assert len(UNDISTURBED.of_kind("RestoreJob")) == 1
    assert UNDISTURBED.status(MORE)["base"]["name"] == first
    assert WRITES > 15


@pytest.mark.parametrize("lives", range(WRITES))
def test_a_crash_after_any_write_changes_nothing_of_the_outcome(lives: int) -> None:
    """Nothing is created twice, nothing is left waiting, and the chain is the same."""
    world = World(lives)
    world.run()
    assert world.lives is None, "it was not killed"
    assert outcome(world) == outcome(UNDISTURBED)
    assert sorted(world.created) == sorted(UNDISTURBED.created)
