# SPDX-License-Identifier: Apache-2.0
"""What users were promised about their data, in the situations in which it was once broken.

Each is crossed with the age of the situation: what holds for a minute must hold for days.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.task import tasks

from faults import lives
from faults.points import Fault, Method, Point
from faults.scenes import NAMESPACE, run_program, scenes, subject
from faults.simulation.server import ApiServer
from faults.simulation.world import World
from tests.support import resources as r

Json = dict[str, Any]
NAME = "promises"
_AGES = {"new": 0.0, "minutes": 660.0, "hours": 3 * 3600.0, "day": 25 * 3600.0, "days": 3 * 86400.0}


def points(kind: str, _rng: random.Random) -> Iterator[Point]:
    """Yield each promise about a kind at each age."""
    for name in _PROMISES.get(kind, {}):
        for age in _AGES:
            yield Point(NAME, kind, f"{name}:{age}")


def run(point: Point) -> None:
    """Bring a situation about, and let it become old.

    Raises:
        Fault: a promise is broken.
    """
    name, _, age = point.place.partition(":")
    world = scenes()[point.kind].world()
    world.settle()
    _PROMISES[point.kind][name](world, _AGES[age])


def _base_in_use(world: World, age: float) -> None:
    """A Backup from which a cluster is still to be restored keeps its data."""
    kind, backup = "Backup", subject("Backup")
    cluster = r.cluster(restoreFrom=backup["metadata"]["name"])
    cluster["metadata"]["name"] = "restored"
    world.apply(cluster)
    world.apply({**backup, "deletionPolicy": "Delete"})
    lives.settle(world, "made")
    world.delete(kind, "", backup["metadata"]["name"])
    lives.settle(world, "deleted")
    world.pass_time(age)
    lives.settle(world, "later")
    if world.get(kind, backup["metadata"]["name"]) is None:
        raise Fault("a Backup went from which a cluster is still to be restored")
    for key, found in world.server.of_kind("ConfigMap"):
        text = (found.get("data") or {}).get(tasks.TASK_KEY)
        if text and tasks.task_from_json(text).verb is tasks.Verb.DELETE:
            raise Fault(f"its data are deleted while a cluster needs them: {key[3]}")


def _each_source_keeps_one(world: World, age: float) -> None:
    """Retention of a schedule is for each database; of one that it backed up before, some stay."""
    live = [found for _key, found in world.server.of_kind("Backup")]
    for found in live[:2]:
        meta = {**found["meta"], "sourceRef": f"matrixonecluster/{NAMESPACE}/former"}
        key = world.server.key(found["apiVersion"], "Backup", "", found["metadata"]["name"])
        world.server.change(key, {**found, "meta": meta})
    schedule = subject("BackupSchedule")
    schedule["spec"]["retention"] = {"keepLast": 1}
    world.apply(schedule)
    lives.settle(world, "retention")
    world.pass_time(age)
    lives.settle(world, "later")
    sources = {
        found["meta"]["sourceRef"].rpartition("/")[2]
        for _key, found in world.server.of_kind("Backup")
    }
    if "former" not in sources:
        raise Fault("no Backup is left of the database that the schedule backed up before")


def _retained(world: World, age: float) -> None:
    """A claim with the policy Retain goes without its data, also when it is deleted by name."""
    claim = subject("BucketClaim")
    claim["spec"]["logSetRef"] = {"name": "gone", "uid": "uid-gone", "released": True}
    world.apply(claim)
    lives.settle(world, "made")
    world.pass_time(age)
    lives.settle(world, "later")
    world.delete("BucketClaim", NAMESPACE, claim["metadata"]["name"])
    lives.settle(world, "deleted")
    if world.get("BucketClaim", claim["metadata"]["name"]) is not None:
        raise Fault("a claim that keeps its data does not go")
    made = [key[3] for key in world.server.created if key[1] == "jobs"]
    if made:
        raise Fault(f"the policy is Retain, and a Job deletes the data: {made}")


def _path_is_held(world: World, age: float) -> None:
    """Nobody gets a path whose data are being deleted, whether the claim is released or not."""
    world.controllers.program = _claims_alone
    first = subject("BucketClaim")
    first["spec"]["s3"]["s3RetentionPolicy"] = "Delete"
    world.apply(first)
    lives.settle(world, "made")
    world.delete("BucketClaim", NAMESPACE, first["metadata"]["name"])
    log_set = world.apply(r.logset())
    second = subject("BucketClaim")
    second["metadata"]["name"] = "next"
    uid = log_set["metadata"]["uid"]
    second["spec"]["logSetRef"] = {"name": log_set["metadata"]["name"], "uid": uid}
    _watched(world, first["metadata"]["name"])
    world.apply(second)
    _watched(world, first["metadata"]["name"])
    world.pass_time(age)
    _watched(world, first["metadata"]["name"])
    first["metadata"]["annotations"]["matrixorigin.io/release"] = "true"
    if world.get("BucketClaim", first["metadata"]["name"]) is not None:
        world.apply(first)
    _watched(world, first["metadata"]["name"])
    state = ((world.get("BucketClaim", "next") or {}).get("status") or {}).get("state")
    if state != "InUse":
        raise Fault(f"the path was released, and the next claim is {state}")


def _claims_alone(server: ApiServer, job: Json) -> bool:
    """Mark paths, and never end a Job that deletes data."""
    metadata = job["metadata"]
    key = ("v1", "configmaps", metadata["namespace"], f"{metadata['name']}-task")
    task = server.objects.get(key)
    given = tasks.task_from_json(task["data"][tasks.TASK_KEY]) if task else None
    return given is not None and given.verb is tasks.Verb.CLAIM and run_program(server, job)


def _watched(world: World, name: str) -> None:
    """Run some rounds; in none of them a path is granted while a Job deletes what is there."""
    for _ in range(_ROUNDS):
        world.round()
        world.pass_time(3.0)
        granted = ((world.get("BucketClaim", "next") or {}).get("status") or {}).get("state")
        jobs = [key[3] for key, _job in world.server.of_kind("Job") if key[3].startswith(name)]
        if granted == "InUse" and jobs:
            raise Fault(f"the path is granted while its data are deleted by {jobs}")


_ROUNDS = 12
_Promise = Callable[[World, float], None]
_PROMISES: Mapping[str, Mapping[str, _Promise]] = {
    "Backup": {"in-use": _base_in_use},
    "BackupSchedule": {"sources": _each_source_keeps_one},
    "BucketClaim": {"retained": _retained, "held": _path_is_held},
}
METHOD = Method(NAME, "what was promised about data, at every age", points, run)
