# SPDX-License-Identifier: Apache-2.0
"""What happens to a resource from creation to end, as far as it can live on fake nodes.

No database runs there: HAKeeper never answers, and nothing that needs its word happens.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from demo import memcached
from faults import ROOT
from testbed.bed import TestBed
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
        resource: what is created, without a namespace; others before it are its companions.
        changes: merge patches by step, in order, between creation and deletion.
        watched: kinds that the operator watches; all of the project when empty.
        project: with the watches file.
        conditions: that hold when a step is done.
        listed: kinds of objects that are compared, as `kubectl` names them.
        prepare: makes the cluster ready, and writes a kubeconfig of the operator's account.
    """

    resource: Json
    changes: Mapping[str, Json]
    watched: frozenset[str]
    project: Path
    conditions: tuple[str, ...]
    listed: tuple[str, ...]
    prepare: Callable[[TestBed, str, Path], Path]
    companions: tuple[Json, ...] = field(default=())

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
        group = self.resource["apiVersion"].partition("/")[0]
        return f"{self.resource['kind'].lower()}.{group}"

    def is_done(self, api: Api, namespace: str) -> bool:
        """Whether the resource says that it is as its spec says."""
        found = api.get(self.kind, namespace, self.name)
        return bool(found) and all(holds(found, one) for one in self.conditions)


def take(life: Life, step: str, api: Api, namespace: str) -> None:
    """Do what a user does in a step."""
    if step == CREATE:
        for one in (*life.companions, life.resource):
            api.apply(one, namespace, force=True)
    elif step == DELETE:
        api.request("DELETE", api.path(life.kind, namespace, life.name))
    else:
        api.merge(life.kind, namespace, life.name, life.changes[step])


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
    return account(bed, namespace, file)


def _of_memcached(bed: TestBed, _namespace: str, file: Path) -> Path:
    memcached.install(bed)
    return memcached.service_account_kubeconfig(bed, file.parent)


_LISTED = (
    "statefulsets", "deployments", "services", "configmaps", "secrets", "pvc", "pods",
    "poddisruptionbudgets", "networkpolicies", "jobs",
)  # fmt: skip
_OURS = ("logset", "dnset", "cnset", "proxyset", "webui", "bucketclaim", "mo")


def _here(found: Json) -> Json:
    """Return a resource without the namespace that other tests have it in."""
    metadata = {name: one for name, one in found["metadata"].items() if name != "namespace"}
    return {**found, "metadata": metadata}


def _collection(
    resource: Json,
    changes: Mapping[str, Json],
    watched: frozenset[str],
    conditions_: tuple[str, ...] = ("Synced", "Ready"),
) -> Life:
    return Life(
        resource=_here(resource),
        changes=changes,
        watched=watched,
        project=ROOT,
        conditions=conditions_,
        listed=(*_OURS, *_LISTED),
        prepare=_of_the_collection,
    )


def _cluster() -> Json:
    found: Json = yaml.safe_load((ROOT / "examples" / "tiny-cluster.yaml").read_text())
    return found


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
        "LogSet": _collection(
            r.logset(volume={"size": "1Gi"}, sharedStorage={"s3": r.DELETE, **_SHARED}),
            {
                "roll": {"spec": {"image": "matrixorigin/matrixone:2.0.2"}},
                "grow": {"spec": {"volume": {"size": "2Gi"}}},
                "config": {"spec": {"config": '[log]\nlevel = "debug"\n'}},
            },
            frozenset({"LogSet", "BucketClaim"}),
        ),
        "MatrixOneCluster": _collection(
            _cluster(),
            {
                "scale": {"spec": {"cnGroups": [{**groups[0], "replicas": 2}]}},
                "group": {
                    "spec": {
                        "cnGroups": [{**groups[0], "replicas": 2}, {"name": "ap", "replicas": 1}]
                    }
                },
                "roll": {"spec": {"version": "1.3.1"}},
                "proxy": {"spec": {"proxy": {"replicas": 2}}},
            },
            frozenset(),
        ),
    }


def reported(resource: Json) -> str:
    """Return the conditions of a resource, for messages."""
    return "; ".join(
        f"{name}={one.get('status')} {one.get('reason', '')}: {str(one.get('message', ''))[:200]}"
        for name, one in conditions(resource).items()
    )
