# SPDX-License-Identifier: Apache-2.0
"""What happens to a resource from creation to end, as far as it can live on fake nodes.

No database runs there: HAKeeper never answers, and nothing that needs its word happens.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus
from pathlib import Path
from typing import Any

import yaml

from demo import memcached
from faults import ROOT
from faults.live.beside import (
    HAKEEPER,
    PassContext,
    hakeeper,
    nothing,
    programs,
    replaced,
)
from faults.scenes import NAMESPACE, scenes
from testbed.api import ApiError
from testbed.bed import TestBed
from tests.early.resources import KIND as EARLY
from tests.early.resources import early
from tests.support import pools
from tests.support import resources as r
from tests.support.api import Api, conditions, holds
from tests.support.namespaces import install
from tests.support.operator_rights import account

Json = dict[str, Any]
CREATE, DELETE = "create", "delete"
_SHARED: Json = {
    "fileSystem": {
        "path": "/var/lib/matrixone-shared",
        "claim": {"size": "1Gi", "accessModes": ["ReadWriteOnce"]},
    }
}


@dataclass(frozen=True)
class Life:
    """The life of a kind.

    Attributes:
        resource: what is created; in all texts ``prod`` means the namespace.
        changes: merge patches by step, in order, between creation and deletion.
        watched: kinds that the operator watches; all of the project when empty.
        project: with the watches file.
        conditions: that hold when a step is done.
        is_settled: whether its status says, besides, that nothing is to follow by itself.
        listed: kinds of objects that are compared, as `kubectl` names them.
        prepare: makes the cluster ready, and writes a kubeconfig of the operator's account.
        companions: what is created before it, with a status if nobody else writes it.
        around: what answers or works beside the operator; gives what it is to be called in texts.
        everywhere: whether the operator watches all namespaces, without which nobody looks after
            Backups. Two such lives cannot be played at once.
    """

    resource: Json
    changes: Mapping[str, Json]
    watched: frozenset[str]
    project: Path
    conditions: tuple[str, ...]
    listed: tuple[str, ...]
    prepare: Callable[[TestBed, str, Path], Path]
    companions: tuple[Json, ...] = ()
    around: PassContext = nothing
    everywhere: bool = False
    is_settled: Callable[[Json], bool] = bool

    @property
    def steps(self) -> list[str]:
        """The names of the steps."""
        return [CREATE, *self.changes, DELETE]

    @property
    def name(self) -> str:
        """Name of the resource."""
        return str(self.resource["metadata"]["name"])

    @property
    def kind(self) -> str:
        """Kind with its group, as `kubectl` takes it."""
        return _kind(self.resource)

    def placed(self, texts: Mapping[str, str]) -> Life:
        """Return the life with other texts, such as its namespace, in its resources."""
        return replace(
            self,
            resource=replaced(self.resource, texts),
            companions=tuple(replaced(one, texts) for one in self.companions),
            changes=replaced(self.changes, texts),
        )

    def is_done(self, api: Api, namespace: str) -> bool:
        """Whether the resource says that it is as its spec says, and nothing goes on beside it."""
        found = api.get(self.kind, namespace, self.name)
        if not found or not all(holds(found, one) for one in self.conditions):
            return False
        if not self.is_settled(found.get("status") or {}):
            return False
        _, *watched = self.deleted
        beside = (api.get(_kind(one), namespace, one["metadata"]["name"]) for one in watched)
        # A claim set is Ready while its pool still drains what the claims have released.
        return not any(one and holds(one, "Progressing") for one in beside)

    def is_over(self, api: Api, namespace: str) -> bool:
        """Whether all that is deleted at the end is gone."""
        return not any(
            api.get(_kind(one), namespace, one["metadata"]["name"]) for one in self.deleted
        )

    @property
    def deleted(self) -> list[Json]:
        """What goes in the last step: all that the operator looks after, the resource first."""
        companions = [one for one in self.companions if one["kind"] in self.watched]
        return [self.resource, *reversed(companions)]


def _kind(resource: Json) -> str:
    group = resource["apiVersion"].rpartition("/")[0]
    return f"{resource['kind'].lower()}.{group}" if group else str(resource["kind"].lower())


def take(life: Life, step: str, api: Api, namespace: str) -> None:
    """Do what a user does in a step."""
    if step == CREATE:
        for one in (*life.companions, life.resource):
            _create(one, api, namespace)
    elif step == DELETE:
        for one in life.deleted:
            _delete(one, api, namespace)
    else:
        api.merge(life.kind, namespace, life.name, life.changes[step])


def _delete(resource: Json, api: Api, namespace: str) -> None:
    """Delete what may be gone by what an earlier deletion, or a retention, has led to."""
    try:
        api.request("DELETE", api.path(_kind(resource), namespace, resource["metadata"]["name"]))
    except ApiError as error:
        if error.status != HTTPStatus.NOT_FOUND:
            raise


def _create(resource: Json, api: Api, namespace: str) -> None:
    given = {name: one for name, one in resource.items() if name != "status"}
    api.apply(given, namespace, force=True)
    if "status" in resource:
        path = api.path(_kind(resource), namespace, resource["metadata"]["name"])
        change = {"status": resource["status"]}
        api.request("PATCH", f"{path}/status", change, "application/merge-patch+json")


def project_of(life: Life, folder: Path) -> Path:
    """Return a folder with a watches file of the kinds of a life."""
    if not life.watched:
        return life.project
    entries = yaml.safe_load((life.project / "watches.yaml").read_text())
    chosen = [one for one in entries if one["kind"] in life.watched]
    folder.mkdir(exist_ok=True)
    (folder / "watches.yaml").write_text(yaml.safe_dump(chosen, sort_keys=False))
    return folder


def _of_the_collection(bed: TestBed, namespace: str, file: Path) -> Path:
    install(bed)
    return account(bed, namespace, file, everywhere=True)


def _of_memcached(bed: TestBed, _namespace: str, file: Path) -> Path:
    memcached.install(bed)
    return memcached.service_account_kubeconfig(bed, file.parent)


_LISTED = (
    "statefulsets", "deployments", "services", "configmaps", "secrets", "pvc", "pods",
    "poddisruptionbudgets", "networkpolicies", "jobs",
)  # fmt: skip
_OURS = (
    "logset", "dnset", "cnset", "proxyset", "webui", "bucketclaim", "mo", "backupjob",
    "backupschedule", "backup", "restorejob", "cnpool", "cnclaim", "cnclaimset",
    "database", "databaseuser", EARLY,
)  # fmt: skip


def _here(found: Json) -> Json:
    """Return a resource without the namespace that other tests have it in."""
    metadata = {name: one for name, one in found["metadata"].items() if name != "namespace"}
    return {**found, "metadata": metadata}


def _collection(
    resource: Json,
    changes: Mapping[str, Json],
    watched: Collection[str],
    conditions_: tuple[str, ...] = ("Synced", "Ready"),
    companions: Iterable[Json] = (),
    around: PassContext = nothing,
) -> Life:
    return Life(
        resource=_here(resource),
        changes=changes,
        watched=frozenset(watched),
        project=ROOT,
        conditions=conditions_,
        listed=(*_OURS, *_LISTED),
        prepare=_of_the_collection,
        companions=tuple(_here(one) for one in companions),
        around=around,
    )


def _cluster() -> Json:
    found: Json = yaml.safe_load((ROOT / "examples" / "tiny-cluster.yaml").read_text())
    return found


def _log_set() -> Json:
    storage = {"s3": r.DELETE, **_SHARED}
    return r.logset(volume={"size": "1Gi"}, replicas=1, sharedStorage=storage)


def _of_sets() -> dict[str, Life]:
    """Return the lives of sets, with those that they depend on."""
    log, transaction, compute = _log_set(), r.dnset(), r.cnset()
    sets = ("LogSet", "DNSet", "CNSet", "ProxySet", "WebUI")
    return {
        "LogSet": _collection(
            r.merged(_log_set(), {"spec": {"replicas": 3}}),
            {
                "roll": _NEW_IMAGE,
                "grow": {"spec": {"volume": {"size": "2Gi"}}},
                "config": {"spec": {"config": '[log]\nlevel = "debug"\n'}},
            },
            {"LogSet", "BucketClaim"},
        ),
        "DNSet": _collection(
            transaction,
            {"roll": _NEW_IMAGE, "config": {"spec": {"config": '[log]\nlevel = "debug"\n'}}},
            sets[:2],
            companions=(log,),
        ),
        "CNSet": _collection(
            compute,
            {
                "out": {"spec": {"replicas": 3}},
                "roll": _NEW_IMAGE,
                "config": {"spec": {"config": '[log]\nlevel = "debug"\n'}},
                "in": {"spec": {"replicas": 1}},
            },
            sets[:3],
            companions=(log, transaction),
        ),
        "ProxySet": _collection(
            r.proxyset(), {"roll": _NEW_IMAGE, "out": {"spec": {"replicas": 3}}}, sets,
            companions=(log,),
        ),
        "WebUI": _collection(
            r.webui(),
            {"roll": {"spec": {"image": "dash:0.2.0"}}, "out": {"spec": {"replicas": 2}}},
            sets,
            companions=(log, transaction, compute),
        ),
    }  # fmt: skip


def _of_pools() -> dict[str, Life]:
    kinds = {"CNPool", "CNClaim", "CNClaimSet", "CNSet"}
    pool = pools.pool("shared", HAKEEPER)
    scaling = {"spec": {"strategy": {"scaleStrategy": {"maxIdle": 3}}}}
    roll = {"spec": {"template": {"image": "matrixorigin/matrixone:1.3.1"}}}
    return {
        "CNPool": _collection(
            pool, {"more": scaling, "roll": roll}, kinds, ("Ready",), around=hakeeper
        ),
        "CNClaim": _collection(
            pools.claim("tenant", "shared"), {}, kinds, ("Ready",), (pool,), hakeeper
        ),
        "CNClaimSet": _collection(
            pools.claim_set("tenants", "shared", 2),
            {"out": {"spec": {"replicas": 3}}, "in": {"spec": {"replicas": 1}}},
            kinds,
            ("Ready",),
            (pool,),
            hakeeper,
        ),
    }


def _of_backups() -> dict[str, Life]:
    """Return the lives of backups: those of the simulation, with their companions."""
    ends: Mapping[str, tuple[Mapping[str, Json], tuple[str, ...]]] = {
        "BackupJob": ({}, ("Ended", "Ready")),
        "RestoreJob": ({}, ("Ended", "Ready")),
        "BackupSchedule": ({"less": {"spec": {"retention": {"keepLast": 2}}}}, ("Ready",)),
        "Backup": ({"delete-data": {"deletionPolicy": "Delete"}}, ("Ready",)),
        "BucketClaim": (
            {"delete-data": {"spec": {"s3": {"s3RetentionPolicy": "Delete"}}}},
            ("Synced",),
        ),
    }
    found = {}
    for kind, (changes, conditions_) in ends.items():
        scene = scenes()[kind]
        subject, companions = (
            replaced({"": one}, _IN_THE_PAST)[""] for one in (scene.subject, scene.companions)
        )
        if kind == "BackupSchedule":
            subject = r.merged(subject, {"spec": _STEADY_SCHEDULE})
        life = _collection(subject, changes, scene.kinds, conditions_, companions, programs)
        found[kind] = replace(life, everywhere=True)
    found["BackupSchedule"] = replace(found["BackupSchedule"], is_settled=_knows_its_backups)
    return found


def _knows_its_backups(status: Json) -> bool:
    """Whether it is known of each Backup whether it can be restored: retention waits for that."""
    return not int((status.get("backups") or {}).get("unknown") or 0)


_IN_THE_PAST = {
    "2026": "2025",
    "minio:9000": f"minio.{NAMESPACE}:9000",
    "my-backup": f"my-backup-{NAMESPACE}",
    "mo-full-0195abcd": f"mo-full-{NAMESPACE}",
    **{f"nightly-{day}": f"nightly-{day}-{NAMESPACE}" for day in range(25, 30)},
}
"""What has no namespace has one in its name here, and a store of its own; its time is past."""
_STEADY_SCHEDULE = {
    "schedule": "@yearly",
    "verify": {"schedule": "@yearly"},
    "retention": {"keepDaily": r.DELETE, "keepLast": 4},
}


_NEW_IMAGE = {"spec": {"image": "matrixorigin/matrixone:2.0.2"}}


def lives() -> Mapping[str, Life]:
    """Return the life of each kind."""
    groups = _cluster()["spec"]["cnGroups"]
    return {
        "Memcached": Life(
            resource={
                "apiVersion": "cache.example.com/v1alpha1",
                "kind": "Memcached",
                "metadata": {"name": "cache"},
                "spec": {"size": 2},
            },
            changes={
                "scale": {"spec": {"size": 4}},
                "roll": {"spec": {"containerPort": 11311}},
                "in": {"spec": {"size": 1}},
            },
            watched=frozenset(),
            project=memcached.PROJECT,
            conditions=("Available",),
            listed=("memcached", *_LISTED),
            prepare=_of_memcached,
        ),
        **_of_sets(),
        **_of_pools(),
        **_of_backups(),
        "MatrixOneCluster": _collection(
            _cluster(),
            {
                "scale": {"spec": {"cnGroups": [{**groups[0], "replicas": 2}]}},
                "group": {
                    "spec": {
                        "cnGroups": [{**groups[0], "replicas": 2}, {"name": "ap", "replicas": 1}]
                    }
                },
                "roll": {"spec": {"version": "3.0.19"}},
                "proxy": {"spec": {"proxy": {"replicas": 2}}},
            },
            frozenset(),
        ),
        "MatrixoneCluster": _collection(
            early(),
            {
                "roll": {"spec": {"image": "matrixorigin/matrixone:1.3.1"}},
                "grow": {"spec": {"dataVolumeCap": "20Gi"}},
            },
            {"MatrixoneCluster"},
        ),
        "Database": _collection(
            scenes()["Database"].subject,
            {"drop": {"spec": {"deletionPolicy": "Delete"}}},
            {"Database"},
            (),
        ),
        "DatabaseUser": _collection(
            scenes()["DatabaseUser"].subject,
            {"drop": {"spec": {"deletionPolicy": "Delete"}}},
            {"DatabaseUser"},
            (),
        ),
    }


def reported(resource: Json) -> str:
    """Return the conditions of a resource, for messages."""
    return "; ".join(
        f"{name}={one.get('status')} {one.get('reason', '')}: {str(one.get('message', ''))[:200]}"
        for name, one in conditions(resource).items()
    )
