# SPDX-License-Identifier: Apache-2.0
"""Objects of the API as facts. Whatever is missing in them is unknown, not zero."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, Final

from .errors import KubectlError, NoSuchCluster
from .facts import (
    Backup,
    Certificate,
    Check,
    Cluster,
    Component,
    Pod,
    Problem,
    Shard,
    Upgrade,
    Volume,
)
from .kubectl import Json, Kubectl, Listing, table_in

GROUP: Final = "core.matrixorigin.io"
LABEL: Final = "matrixorigin.io/cluster"
"""On all that belongs to a cluster: its name."""
COMPONENT: Final = "matrixorigin.io/component"
"""On a Pod: the kind of its set."""
OPERATOR: Final = "app.kubernetes.io/name=matrixone-operator"
"""What selects the Deployment and the Pods of the operator."""
POOL: Final = "pool.matrixorigin.io/pool-name"
"""On a Pod of a CNPool: its name."""
CORDON: Final = "matrixorigin.io/store-cordon"
SETS: Final = ("LogSet", "DNSet", "CNSet", "ProxySet", "WebUI")
SOURCE: Final = "matrixonecluster"
"""How ``meta.sourceRef`` of a Backup begins."""
_SERVING: Final = frozenset(
    {"Ready", "Synced", "StorageReachable", "StorageWritable", "StorageCredentialCurrent"}
)
"""Conditions that are True where all is well."""
_FAULTS: Final = frozenset({"Degraded", "Paused", "Stalled"})
"""Conditions that are True where something is not."""
_OF_SETS: Final = frozenset({*_SERVING, "Degraded"} - {"Ready", "Synced"})
"""Conditions of sets that their cluster does not repeat."""
_INSTANCE: Final = "matrixorigin.io/instance"


def resource_of(kind: str) -> str:
    """Return by which name the API serves one of our kinds."""
    return f"{kind.lower()}s.{GROUP}"


CLUSTER: Final = resource_of("MatrixOneCluster")
BACKUPS: Final = resource_of("Backup")
_KINDS: Final = (*map(resource_of, SETS), "pods", "persistentvolumeclaims")


def chosen(kubectl: Kubectl, name: str) -> Json:
    """Return the cluster of a name, or the only one there is where none is given.

    Raises:
        NoSuchCluster: there is none, or several without a name.
        KubectlError: it cannot be read.
    """
    if name:
        return kubectl.get(CLUSTER, name)
    found = kubectl.list([CLUSTER]).items
    if len(found) == 1:
        return found[0]
    if not found:
        raise NoSuchCluster("no MatrixOneCluster in this namespace; set another one with -n")
    known = ", ".join(sorted(one["metadata"]["name"] for one in found))
    raise NoSuchCluster(f"several clusters are in this namespace, name one of them: {known}")


def read(kubectl: Kubectl, cluster: Json) -> Cluster:
    """Read what belongs to a cluster; what the user may not read is said in ``unread``."""
    unread: list[str] = []
    parts = _listed(kubectl, unread, _KINDS, f"--selector={LABEL}={cluster['metadata']['name']}")
    backups = _listed(kubectl, unread, [BACKUPS])
    return facts_of(cluster, parts.items, backups.items, unread)


def _listed(kubectl: Kubectl, unread: list[str], kinds: Sequence[str], *arguments: str) -> Listing:
    try:
        found = kubectl.list(kinds, *arguments)
    except KubectlError as error:
        unread.append(str(error))
        return Listing([], [])
    unread.extend(found.problems)
    return found


def facts_of(
    cluster: Json, parts: Sequence[Json], backups: Sequence[Json], unread: Sequence[str] = ()
) -> Cluster:
    """Return the facts of a cluster.

    Args:
        cluster: the MatrixOneCluster.
        parts: its sets, Pods and claims.
        backups: of any database.
        unread: what could not be read.
    """
    spec, status, metadata = (
        table_in(cluster, "spec"),
        table_in(cluster, "status"),
        cluster["metadata"],
    )
    sets = sorted((one for one in parts if one["kind"] in SETS), key=_place)
    host, port = status.get("host"), status.get("port")
    return Cluster(
        namespace=metadata["namespace"],
        name=metadata["name"],
        phase=str(status.get("phase") or "Unknown"),
        ready=condition(cluster, "Ready").get("status", "Unknown"),
        version=str(status.get("version") or ""),
        wanted=str(spec.get("version") or ""),
        address=f"{host}:{port}" if host and port else "",
        credential=str(table_in(status, "credentialRef").get("name") or ""),
        storage=_storage(table_in(table_in(spec, "logService"), "sharedStorage")),
        problems=tuple(_problems(cluster, sets)),
        components=tuple(map(_component, sets)),
        pods=tuple(_pods(parts, sets)),
        shards=tuple(_shards(sets)),
        volumes=tuple(_volumes(parts)),
        backup=_newest(backups, metadata),
        certificate=_certificate(sets),
        upgrade=_upgrade(table_in(status, "upgrade")),
        binding=str(table_in(status, "binding").get("name") or ""),
        unread=tuple(unread),
    )


def moment(text: Any) -> datetime | None:
    """Return a time of the API; None where it is none."""
    try:
        return datetime.fromisoformat(str(text))
    except ValueError:
        return None


def _place(one: Json) -> tuple[int, str]:
    return SETS.index(one["kind"]), one["metadata"]["name"]


def _conditions(one: Json) -> list[Json]:
    return table_in(one, "status").get("conditions") or []


def condition(one: Json, kind: str) -> Json:
    """Return a condition of an object; an empty one where there is none."""
    return next((each for each in _conditions(one) if each["type"] == kind), {})


def _problems(cluster: Json, sets: Sequence[Json]) -> Iterator[Problem]:
    for one, kinds in ((cluster, _SERVING | _FAULTS), *((each, _OF_SETS) for each in sets)):
        for condition in _conditions(one):
            kind, state = condition["type"], condition.get("status", "Unknown")
            well = "True" if kind in _SERVING else "False"
            if kind in kinds and state != well:
                yield Problem(
                    what=_title(one, cluster, f"{kind}={state}"),
                    reason=str(condition.get("reason") or ""),
                    message=str(condition.get("message") or ""),
                    since=moment(condition.get("lastTransitionTime")),
                )


def _title(one: Json, cluster: Json, text: str) -> str:
    return text if one is cluster else f"{one['kind']} {one['metadata']['name']} {text}"


def _component(one: Json) -> Component:
    status = table_in(one, "status")
    return Component(
        kind=one["kind"],
        name=one["metadata"]["name"],
        pods=str(status.get("pods") or "?"),
        version=str(status.get("version") or ""),
        phase=str(status.get("phase") or "Unknown"),
        message=str(status.get("message") or ""),
    )


def _storage(table: Json) -> str:
    s3, files = table_in(table, "s3"), table_in(table, "fileSystem")
    if s3:
        return f"s3 {s3.get('path')} at {s3.get('endpoint') or 'AWS'}"
    return f"folder {files.get('path')}" if files else ""


def _pods(parts: Sequence[Json], sets: Sequence[Json]) -> Iterator[Pod]:
    stores = {
        str(store.get("podName")): str(store.get("state") or "Unknown")
        for one in sets
        for store in table_in(one, "status").get("stores") or []
    }
    order = {f"{one['kind']}/{one['metadata']['name']}": number for number, one in enumerate(sets)}
    found = [_pod(one, stores) for one in parts if one["kind"] == "Pod"]
    return iter(sorted(found, key=lambda pod: (order.get(pod.part, len(order)), pod.name)))


def _pod(pod: Json, stores: dict[str, str]) -> Pod:
    metadata, status = pod["metadata"], table_in(pod, "status")
    labels = table_in(metadata, "labels")
    containers = status.get("containerStatuses") or []
    ready = any(
        one["type"] == "Ready" and one.get("status") == "True"
        for one in status.get("conditions") or []
    )
    return Pod(
        name=metadata["name"],
        part=f"{labels.get(COMPONENT) or '?'}/{labels.get(_INSTANCE) or '?'}",
        ready=ready and not metadata.get("deletionTimestamp"),
        state=_state(pod, containers, stores.get(metadata["name"], "")),
        restarts=restarts_of(pod),
        started=moment(metadata.get("creationTimestamp")),
        node=str(table_in(pod, "spec").get("nodeName") or ""),
    )


def restarts_of(pod: Json) -> int:
    """Return how often the containers of a Pod were restarted."""
    containers = table_in(pod, "status").get("containerStatuses") or []
    return sum(int(one.get("restartCount") or 0) for one in containers)


def _state(pod: Json, containers: Sequence[Json], store: str) -> str:
    if pod["metadata"].get("deletionTimestamp"):
        return "Terminating"
    for one in containers:
        waiting = table_in(table_in(one, "state"), "waiting")
        if waiting:
            return str(waiting.get("reason") or "Waiting")
    state = store or str(table_in(pod, "status").get("phase") or "Unknown")
    cordoned = CORDON in table_in(pod["metadata"], "annotations")
    return f"{state}, cordoned" if cordoned else state


def _shards(sets: Sequence[Json]) -> Iterator[Shard]:
    for one in sets:
        for shard in table_in(one, "status").get("shards") or []:
            yield Shard(int(shard["shard"]), int(shard["available"]), int(shard["replicas"]))


def _volumes(parts: Sequence[Json]) -> Iterator[Volume]:
    for one in sorted(parts, key=lambda part: str(part["metadata"]["name"])):
        if one["kind"] != "PersistentVolumeClaim":
            continue
        status = table_in(one, "status")
        asked = table_in(table_in(table_in(one, "spec"), "resources"), "requests")
        size = table_in(status, "capacity").get("storage") or asked.get("storage")
        yield Volume(one["metadata"]["name"], str(size or "?"), str(status.get("phase") or "?"))


def _newest(backups: Sequence[Json], metadata: Json) -> Backup | None:
    source = f"{SOURCE}/{metadata['namespace']}/{metadata['name']}"
    own = [one for one in backups if _is_of(table_in(one, "meta"), source, metadata.get("uid"))]
    newest = max(own, key=lambda one: str(one["meta"].get("atTime") or ""), default=None)
    if newest is None:
        return None
    status = table_in(newest, "status")
    verification = table_in(status, "verification")
    return Backup(
        name=newest["metadata"]["name"],
        moment=moment(newest["meta"].get("atTime")),
        phase=str(status.get("phase") or "Unknown"),
        proven=str(verification.get("result") or ""),
        proven_at=moment(verification.get("completionTime")),
    )


def _is_of(meta: Json, source: str, uid: str | None) -> bool:
    """Return whether a backup is of a cluster, and not of an earlier one of its name."""
    return meta.get("sourceRef") == source and meta.get("sourceUid") in (None, "", uid)


def _certificate(sets: Sequence[Json]) -> Certificate | None:
    for one in sets:
        tls = table_in(table_in(one, "status"), "tls")
        if tls:
            return Certificate(str(tls.get("secretName")), moment(tls.get("notAfter")))
    return None


def _upgrade(record: Json) -> Upgrade | None:
    if not record:
        return None
    return Upgrade(
        before=str(record.get("from") or ""),
        to=str(record.get("to") or ""),
        phase=str(record.get("phase") or "Unknown"),
        point_of_no_return=str(record.get("pointOfNoReturn") or ""),
        message=str(record.get("message") or ""),
        checks=tuple(
            Check(one["name"], one["result"], str(one.get("message") or ""))
            for one in record.get("checks") or []
        ),
    )
