# SPDX-License-Identifier: Apache-2.0
"""One resource of each kind, and what has to be there for it to do its work.

What stands beside a resource is not reconciled, so that a point is about one kind alone; a cluster
is, with all of its parts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache
from typing import Any

import yaml
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.schedule.runs import (
    labels_of,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.task import tasks

from faults import ROOT
from faults.simulation.objects import copied
from faults.simulation.server import ApiServer
from faults.simulation.world import World
from tests.backup import worlds as backups
from tests.support import resources as r
from tests.support.certificates import Authority

Json = dict[str, Any]
NAMESPACE = "prod"
_KEYS: Json = {"AWS_ACCESS_KEY_ID": "eA==", "AWS_SECRET_ACCESS_KEY": "eQ=="}
SETS = frozenset({"LogSet", "DNSet", "CNSet", "ProxySet", "WebUI"})
_SERVING = (("LogSet", "mo"), ("DNSet", "mo"), ("CNSet", "mo-tp"), ("StatefulSet", "mo-log"))


@dataclass(frozen=True)
class Scene:
    """A resource and its surroundings.

    Attributes:
        subject: the resource.
        companions: objects that are there before it, with their status.
        kinds: what the operator reconciles.
    """

    subject: Json
    companions: tuple[Json, ...]
    kinds: frozenset[str]

    def world(self) -> World:
        """Return a cluster with the companions."""
        world = World(self.kinds)
        world.controllers.program = run_program
        for one in self.companions:
            world.server.add(one)
        return world


def _secret(name: str, data: Mapping[str, str] = _KEYS) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "data": dict(data),
    }


@cache
def _certificates() -> tuple[Json, ...]:
    """Return Secrets of the names that fields get, each with a certificate for SQL."""
    authority, years = Authority(), timedelta(days=3650)
    return tuple(_secret(name, authority.secret(valid=years)) for name in ("tp", "ap"))


@cache
def _serving() -> Mapping[str, Json]:
    """Return sets as they are when they serve, and the workload of the log service, by kind."""
    world = World(SETS | {"BucketClaim"})
    world.controllers.program = run_program
    for one in (_secret("minio"), r.logset(), r.dnset(), r.cnset()):
        world.apply(one)
    world.settle()
    found = {kind: world.get(kind, name) for kind, name in _SERVING}
    return {kind: _companion(one) for kind, one in found.items() if one is not None}


def _log_service() -> tuple[Json, ...]:
    serving = _serving()
    return serving["LogSet"], serving["StatefulSet"]


def _companion(live: Json) -> Json:
    metadata = {key: live["metadata"][key] for key in ("name", "namespace")}
    return {**live, "metadata": metadata}


def _example(name: str) -> Json:
    """Return an example of the documentation, in the namespace of the scenes."""
    found: Json = yaml.safe_load((ROOT / "examples" / name).read_text())
    if found["kind"] != "Backup":
        found["metadata"]["namespace"] = NAMESPACE
    return found


def _cluster_that_serves() -> Json:
    found = backups.cluster()
    found["apiVersion"] = r.API_VERSION
    found["metadata"] = {"name": "mo", "namespace": NAMESPACE}
    storage = {"s3": {**r.S3, "path": "data/mo"}}
    found["spec"] = r.cluster(logService={"sharedStorage": storage})["spec"]
    return found


def run_program(server: ApiServer, job: Json) -> bool:
    """Do what the program of a backup Job does: report in the ConfigMap of its result."""
    name, namespace = job["metadata"]["name"], job["metadata"].get("namespace", "")
    task = server.objects.get(("v1", "configmaps", namespace, f"{name}-task"))
    result = server.objects.get(("v1", "configmaps", namespace, f"{name}-result"))
    if task is None or result is None:
        return True
    data = reported_by_program(task, server.timestamp())
    key = ("v1", "configmaps", namespace, f"{name}-result")
    server.update(key, lambda one: one.update(data=data))
    return True


def reported_by_program(task: Json, now: str) -> Json:
    """Return what the program of a Job writes into the ConfigMap of its result when all went well.

    Args:
        task: the ConfigMap with its task.
        now: the present, RFC 3339.
    """
    given = tasks.task_from_json(task["data"][tasks.TASK_KEY])
    moment = f"{int(datetime.fromisoformat(now).timestamp())}000000000-0"
    record = backups.record(given.expected_id or given.id)
    record = replace(record, started_at=now, completed_at=now, timestamp=moment)
    reads = given.verb in {tasks.Verb.BACKUP, tasks.Verb.VERIFY}
    more: Json = {"manifest": record} if reads else {}
    data: Json = backups.result("Succeeded", **more)["data"]
    return data


def _sets() -> dict[str, Scene]:
    serving = _serving()
    log, dn_set, cn_set = _log_service(), serving["DNSet"], serving["CNSet"]
    beside: Mapping[str, tuple[Json, ...]] = {
        "LogSet": (),
        "DNSet": log,
        "CNSet": (*log, dn_set, *_certificates()),
        "ProxySet": (*log, *_certificates()),
        "WebUI": (*log, cn_set),
    }
    makers: Mapping[str, Callable[[], Json]] = {
        "LogSet": r.logset,
        "DNSet": r.dnset,
        "CNSet": r.cnset,
        "ProxySet": r.proxyset,
        "WebUI": r.webui,
    }
    return {
        kind: Scene(make(), (_secret("minio"), *beside[kind]), frozenset({kind, "BucketClaim"}))
        for kind, make in makers.items()
    }


def _backups() -> dict[str, Scene]:
    source, secrets = _cluster_that_serves(), (_secret("minio"), _secret("store"))
    found = {
        "BackupJob": _example("backup-job.yaml"),
        "BackupSchedule": _example("backup-schedule.yaml"),
        "RestoreJob": _example("restore-job.yaml"),
        "Backup": _example("backup.yaml"),
        "BucketClaim": _example("bucket-claim.yaml"),
    }
    found["Backup"]["meta"]["secretNamespace"] = NAMESPACE
    backup = _example("backup.yaml")
    backup["metadata"] = {"name": "my-backup"}
    backup["meta"]["secretNamespace"] = NAMESPACE
    kinds = frozenset(found)
    beside = (*secrets, source)
    scenes = {kind: Scene(one, beside, kinds) for kind, one in found.items()}
    schedule = found["BackupSchedule"]
    schedule["spec"]["retention"] = {"keepDaily": 30}
    kept = tuple(_backup_of_schedule(day) for day in range(25, 30))
    scenes["BackupSchedule"] = Scene(schedule, (*beside, *kept), kinds)
    restore = scenes["RestoreJob"]
    scenes["RestoreJob"] = Scene(restore.subject, (*beside, backup), kinds)
    return scenes


def _backup_of_schedule(day: int) -> Json:
    """Return a full Backup that the schedule made on a day of November."""
    found = _example("backup.yaml")
    moment = f"2026-11-{day}T18:10:00Z"
    found["metadata"] = {"name": f"nightly-{day}", "labels": labels_of(NAMESPACE, "nightly")}
    location = {"s3": {**found["meta"]["location"]["s3"], "path": f"backups/old/{day}"}}
    found["meta"] |= {
        "id": f"id-{day}",
        "atTime": moment,
        "completeTime": moment,
        "location": location,
        "secretNamespace": NAMESPACE,
        "sourceRef": f"matrixonecluster/{NAMESPACE}/mo",
    }
    return {**found, "deletionPolicy": "Delete"}


def _pools() -> dict[str, Scene]:
    beside = (_secret("minio"), *_log_service(), _serving()["DNSet"])
    kinds = frozenset({"CNPool", "CNClaim", "CNClaimSet", "CNSet"})
    pool = _example("cn-pool.yaml")
    for one in pool["spec"]["deps"].values():
        one["metadata"]["namespace"] = NAMESPACE
    # A pool that is larger by day would make claims a matter of the hour.
    steady = copied(pool)
    del steady["spec"]["strategy"]["scaleStrategy"]["schedule"]
    return {
        "CNPool": Scene(pool, beside, kinds),
        "CNClaim": Scene(_example("cn-claim.yaml"), (*beside, steady), kinds),
        "CNClaimSet": Scene(_example("cn-claim-set.yaml"), (*beside, steady), kinds),
    }


@cache
def scenes() -> Mapping[str, Scene]:
    """Return the scene of each kind."""
    whole = frozenset({"MatrixOneCluster", "BucketClaim", *SETS})
    cluster = r.cluster(proxy={"replicas": 1}, webui={"replicas": 1})
    return {
        **_sets(),
        **_backups(),
        **_pools(),
        "MatrixOneCluster": Scene(cluster, (_secret("minio"), *_certificates()), whole),
        "MatrixoneCluster": Scene(r.early(), (), frozenset({"MatrixoneCluster"})),
        # It waits for its cluster: no database answers here.
        "Database": Scene(_example("database.yaml"), (), frozenset({"Database"})),
        "DatabaseUser": Scene(_example("database-user.yaml"), (), frozenset({"DatabaseUser"})),
    }


def subject(kind: str) -> Json:
    """Return a copy of the resource of a kind's scene."""
    found: Json = copied(scenes()[kind].subject)
    return found
