# SPDX-License-Identifier: Apache-2.0
"""What must be true of a cluster whenever nothing happens to it, whatever has happened before."""

import json
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator

import pymysql

from tests.e2e.clusters import Cluster, Json
from tests.e2e.traffic import rows_seen
from tests.soak.life import Life

_READ = (
    "mo,logset,dnset,cnset,proxyset,pods,pvc,jobs,cm,statefulset,deployment,replicaset,service,"
    "secret,backupjob,restorejob,database,databaseuser,bucketclaim,pdb"
)
_NAMED = ("Service", "StatefulSet", "Deployment", "Secret", "PersistentVolumeClaim")
"""Kinds whose objects have names that a spec determines."""
_SETS = {"LogSet": "logService", "DNSet": "tn", "ProxySet": "proxy"}
_VERSIONS = {"ConfigMap": 40, "ReplicaSet": 24}
"""How many objects of a kind may be there, whatever has happened."""
_BEHIND_SECONDS = 30.0
_ORDINAL = re.compile(r"mo-log-\d+$")


class Seen:
    """All objects of the namespace at one moment."""

    def __init__(self, cluster: Cluster) -> None:
        self.objects: list[Json] = cluster.get(_READ)["items"]

    def of(self, *kinds: str) -> list[Json]:
        """Return the objects of some kinds."""
        return [one for one in self.objects if one["kind"] in kinds]

    def names(self, kind: str) -> list[str]:
        """Return the names of all objects of a kind."""
        return sorted(one["metadata"]["name"] for one in self.of(kind))

    @property
    def spec(self) -> Json:
        """The spec of the cluster."""
        return dict(self.of("MatrixOneCluster")[0]["spec"])

    def volumes(self) -> dict[str, str]:
        """Return the identity of the volume of each log store."""
        return {
            str(found[0]): one["metadata"]["uid"]
            for one in self.of("PersistentVolumeClaim")
            if (found := _ORDINAL.search(one["metadata"]["name"]))
        }


def unsettled(seen: Seen) -> list[str]:
    """Return what is not (yet) as the spec asks for."""
    return [
        *(reason for one in _all_sets(seen) for reason in _conditions(one)),
        *_counts(seen),
        *_pods(seen),
        *_jobs(seen),
        *_stores(seen),
        *_deleted(seen),
    ]


def _all_sets(seen: Seen) -> list[Json]:
    return seen.of("MatrixOneCluster", "LogSet", "DNSet", "CNSet", "ProxySet")


def _conditions(one: Json) -> Iterator[str]:
    """Compare all conditions with those of a healthy object at its present generation."""
    status = one.get("status", {})
    said = {condition["type"]: condition for condition in status.get("conditions", [])}
    name = f"{one['kind']} {one['metadata']['name']}"
    for kind in ("Ready", "Synced"):
        found = said.get(kind, {})
        if found.get("status") != "True":
            yield f"{name}: {kind} {found}"
        elif found.get("observedGeneration") != one["metadata"]["generation"]:
            yield f"{name}: {kind} is of another generation"
    for kind in ("Progressing", "Degraded", "Paused"):
        if said.get(kind, {}).get("status", "False") != "False":
            yield f"{name}: {kind} {said[kind]}"
    if status.get("message"):
        yield f"{name}: message {status['message']!r}"
    if status.get("failedStores"):
        yield f"{name}: failed stores {status['failedStores']}"


def _counts(seen: Seen) -> Iterator[str]:
    """Compare numbers of Pods, claims and groups with the spec."""
    spec = seen.spec
    desired = {kind: spec[part]["replicas"] for kind, part in _SETS.items()}
    desired["CNSet"] = sum(one["replicas"] for one in spec["cnGroups"])
    found = Counter(
        one["metadata"].get("labels", {}).get("matrixorigin.io/component") for one in seen.of("Pod")
    )
    for kind, count in desired.items():
        if found[kind] != count:
            yield f"{found[kind]} Pods of {kind} instead of {count}"
    groups = sorted(f"mo-{one['name']}" for one in spec["cnGroups"])
    if seen.names("CNSet") != groups:
        yield f"CNSets {seen.names('CNSet')} instead of {groups}"
    stores = [f"mo-log-{number}" for number in range(desired["LogSet"])]
    if sorted(seen.volumes()) != stores:
        yield f"claims of {sorted(seen.volumes())} instead of {stores}"


def _pods(seen: Seen) -> Iterator[str]:
    for one in seen.of("Pod"):
        name, said = one["metadata"]["name"], one["status"].get("conditions", [])
        if "deletionTimestamp" in one["metadata"]:
            yield f"Pod {name} is being deleted"
        elif not any(of["type"] == "Ready" and of["status"] == "True" for of in said):
            yield f"Pod {name} is not ready"


def _jobs(seen: Seen) -> Iterator[str]:
    """Nothing but the database is left: a Job deletes itself soon after its end."""
    for kind in ("Job", "BackupJob", "RestoreJob", "Database", "DatabaseUser"):
        for name in seen.names(kind):
            yield f"{kind} {name} is there"


def _stores(seen: Seen) -> Iterator[str]:
    for one in seen.of("CNSet"):
        name, status = one["metadata"]["name"], one.get("status", {})
        states = [store["state"] for store in status.get("stores", [])]
        desired = next(
            (of["replicas"] for of in seen.spec["cnGroups"] if f"mo-{of['name']}" == name), 0
        )
        if states != ["Working"] * desired:
            yield f"CNSet {name}: stores {states}"
    for one in seen.of("LogSet"):
        shards = one.get("status", {}).get("shards", [])
        if not shards or any(of["available"] != of["replicas"] for of in shards):
            yield f"LogSet: shards {shards}"


def _deleted(seen: Seen) -> Iterator[str]:
    for one in seen.objects:
        if "deletionTimestamp" in one["metadata"] and one["kind"] != "Pod":
            kept = one["metadata"].get("finalizers")
            yield f"{one['kind']} {one['metadata']['name']} is being deleted; finalizers {kept}"


def left_over(before: Seen, now: Seen) -> list[str]:
    """Return objects that a cluster with a history has and a new one has not, or lacks."""
    found = []
    for kind in _NAMED:
        old, new = set(before.names(kind)), set(now.names(kind))
        if old != new:
            found.append(f"{kind}: more {sorted(new - old)}, fewer {sorted(old - new)}")
    for kind, most in _VERSIONS.items():
        if len(now.names(kind)) > most:
            found.append(f"{len(now.names(kind))} objects {kind}: {now.names(kind)}")
    return found


def replaced_volumes(before: Seen, now: Seen, allowed: Iterable[str]) -> list[str]:
    """Return the log stores whose volume is not that of before, without having been scaled away."""
    after = now.volumes()
    return [
        store
        for store, uid in before.volumes().items()
        if after.get(store) != uid and store not in allowed
    ]


def lost_rows(life: Life) -> list[str]:
    """Return through which way acknowledged rows are not found: the proxy, a compute node."""
    known = set(life.traffic.acknowledged)
    ways = {"the proxy": life.cluster.entrance["host"]}
    ways |= {name: pod["status"]["podIP"] for name, pod in life.cluster.pods("CNSet").items()}
    deadline, missing = time.monotonic() + _BEHIND_SECONDS, list(ways)
    while missing:
        said = {way: found for way in missing if (found := _missing(life, ways[way], known))}
        if time.monotonic() > deadline:
            return [f"through {way}: {found}" for way, found in said.items()]
        missing = list(said)
        time.sleep(1 if said else 0)
    return []


def _missing(life: Life, host: str, known: set[int]) -> str:
    """Say which rows are not found at an address; empty if all are."""
    try:
        with pymysql.connect(
            **{**life.cluster.entrance, "host": host}, connect_timeout=15, read_timeout=60
        ) as session:
            lost = sorted(known - rows_seen(session))
    except (pymysql.MySQLError, OSError) as error:
        return str(error)
    return f"{len(lost)} rows are missing: {lost[:10]}" if lost else ""


def warnings(cluster: Cluster) -> Counter[str]:
    """Return how often which warnings were given about resources of the operator."""
    listed = cluster.get("events.events.k8s.io")["items"]
    return Counter(
        f"{one['regarding']['kind']} {one['reason']}: {one.get('note', '')[:160]}"
        for one in listed
        if one["type"] == "Warning" and "matrixorigin" in one["regarding"].get("apiVersion", "")
    )


def complaints(cluster: Cluster) -> list[str]:
    """Return what a programmer has to look at in the operator's log."""
    found = []
    for line in cluster.operator.log.read_text(errors="replace").splitlines():
        if "Traceback" in line or "Unexpected" in line:
            found.append(line[:400])
        elif line.startswith("{"):
            try:
                said = json.loads(line)
            except ValueError:
                continue
            if str(said.get("level", "")).lower() in {"error", "critical"}:
                found.append(line[:400])
    return found
