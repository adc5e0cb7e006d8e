# SPDX-License-Identifier: Apache-2.0
"""What a BackupJob backs up, and whose turn it is: one backup of a database at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..api import names
from ..api.fields import Fields
from ..api.types import Resource
from ..location.endpoints import Scope
from ..reporting.conditions import holds_now
from ..reporting.reasons import ENDED, ConditionType
from ..workload.tls import secret_name
from .task.plan import RUNNING

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Source:
    """A database as a BackupJob names it.

    Attributes:
        kind: ``MatrixOneCluster`` or ``CNSet``.
        name: of the resource.
        namespace: of the resource and of the BackupJob.
        host: where SQL is answered; empty while that is not known.
        port: where SQL is answered.
        secret: name of the Secret with user and password; empty while that is not known.
        certificate: name of the Secret by whose certificates the database proves what it is; empty
            where it is asked without TLS.
        storage: its own shared storage; None where that is not known.
        cluster_domain: DNS domain that its spec names; empty for the usual one.
        since: when the resource was created, RFC 3339; an older backup is of another database.
        uid: of the resource.
    """

    kind: str
    name: str
    namespace: str
    host: str
    port: int
    secret: str
    storage: Fields | None
    since: str
    cluster_domain: str = ""
    uid: str = ""
    certificate: str = ""

    @property
    def scope(self) -> Scope:
        """From where the endpoints of it and of its BackupJobs are looked up."""
        return Scope(self.namespace, self.cluster_domain)

    @property
    def reference(self) -> str:
        """The source as ``meta.sourceRef`` of a Backup has it."""
        return source_ref(self.kind, self.namespace, self.name)


def source_ref(kind: str, namespace: str, name: str) -> str:
    """Return the text by which a Backup names its source."""
    return f"{kind.lower()}/{namespace}/{name}"


def scope_of_record(meta: Fields) -> Scope:
    """Return from where the endpoint in ``meta.location`` of a Backup was looked up."""
    parts = meta.text("sourceRef").split("/")
    return Scope(meta.text("secretNamespace") or (parts[1] if len(parts) == 3 else ""))


def named_source(job: Resource) -> tuple[str, str]:
    """Return kind and name of what a BackupJob backs up; an empty name if it names nothing."""
    source = Fields("", job).table("spec").table("source")
    compute = source.text("cnSetRef")
    if compute:
        return names.CN_SET, compute
    return names.CLUSTER, source.text("clusterRef")


def find_source(
    job: Resource, live: Json | None, log_sets: Iterable[Json], port: int = names.PORT_SQL
) -> Source | None:
    """Return the source of a BackupJob; None while it does not exist.

    Args:
        job: the BackupJob.
        live: the MatrixOneCluster or CNSet.
        log_sets: the LogSets of the namespace, for the storage of a CNSet.
        port: where its status names none.
    """
    kind, name = named_source(job)
    if live is None:
        return None
    status = live.get("status") or {}
    given = Fields("", job).table("spec").table("source").text("secretRef")
    of_cluster = (status.get("credentialRef") or {}).get("name") or ""
    root = Fields("", live)
    return Source(
        kind=kind,
        name=name,
        namespace=job["metadata"]["namespace"],
        host=str(status.get("host") or ""),
        port=int(status.get("port") or port),
        secret=given or str(of_cluster),
        storage=_storage_of_cn_set(root, log_sets)
        if kind == names.CN_SET
        else _storage_in(root.table("spec").table("logService")),
        since=str(live["metadata"].get("creationTimestamp") or ""),
        cluster_domain=root.table("spec").text("clusterDomain"),
        uid=str(live["metadata"].get("uid") or ""),
        certificate=_certificate_of(kind, name, root),
    )


def _certificate_of(kind: str, name: str, root: Fields) -> str:
    """Return the Secret of a cluster's certificate if it is asked through proxies, which have it.

    Compute nodes are asked without TLS: some versions lose the beginning of a handshake there.
    """
    proxy = names.base_name(names.PROXY_SET, name)
    if kind != names.CLUSTER or root.table("status").text("host").partition(".")[0] != proxy:
        return ""
    return secret_name(root.table("spec"))


def _storage_of_cn_set(root: Fields, log_sets: Iterable[Json]) -> Fields | None:
    external = root.table("deps").table("externalLogSet")
    if external.data:
        return _storage_in(external)
    wanted = _log_set_of(root.data)
    for log_set in log_sets:
        metadata = log_set["metadata"]
        if f"{metadata['namespace']}/{metadata['name']}" == wanted:
            return _storage_in(Fields("", log_set).table("spec"))
    return None


def _storage_in(table: Fields) -> Fields | None:
    storage = table.table("sharedStorage")
    return storage if storage.data else None


def _log_set_of(cn_set: Json) -> str:
    """Return namespace and name of the log service of a CNSet, which tell its database."""
    deps, own = cn_set.get("deps") or {}, cn_set["metadata"]["namespace"]
    external = (deps.get("externalLogSet") or {}).get("haKeeperEndpoint")
    if external:
        return str(external)
    place = (deps.get("logSet") or {}).get("metadata") or {}
    return f"{place.get('namespace') or own}/{place.get('name')}"


def database_of(job: Resource, cn_sets: Iterable[Json]) -> str:
    """Return what tells the database of a BackupJob from others: its log service.

    That of a cluster has the cluster's name, so that a backup of a cluster and one of a CNSet in
    it are known to be of one database.
    """
    kind, name = named_source(job)
    namespace = job["metadata"]["namespace"]
    if kind == names.CLUSTER:
        return f"{namespace}/{name}"
    found = (one for one in cn_sets if one["metadata"]["name"] == name)
    cn_set = next(found, None)
    return _log_set_of(cn_set) if cn_set is not None else f"cnset/{namespace}/{name}"


def has_ended(job: Resource) -> bool:
    """Return whether a BackupJob or RestoreJob will do no more."""
    conditions = (job.get("status") or {}).get("conditions") or []
    return any(
        condition.get("type") == ENDED and condition.get("status") == "True"
        for condition in conditions
    )


def has_begun(job: Resource) -> bool:
    """Return whether a BackupJob has had its turn."""
    return bool((job.get("status") or {}).get("startTime"))


def is_running(job: Resource) -> bool:
    """Return whether a BackupJob has its Job, or is about to."""
    return (job.get("status") or {}).get("phase") == RUNNING


def ahead(job: Resource, others: Iterable[Resource], cn_sets: Sequence[Json]) -> str:
    """Return the name of the BackupJob of the same database whose turn comes first; or empty.

    One that runs goes on; of the others, the oldest is first, and of those of one second a full
    backup, on which an incremental one may be based. Nobody waits for one that has had its turn and
    waits itself, for a Secret for example that may never exist.

    Args:
        job: the BackupJob that asks.
        others: all BackupJobs of its namespace.
        cn_sets: all CNSets of its namespace.
    """
    database = database_of(job, cn_sets)
    rivals = [
        other
        for other in others
        if other["metadata"]["uid"] != job["metadata"].get("uid")
        and not has_ended(other)
        and not other["metadata"].get("deletionTimestamp")
        and not (other.get("spec") or {}).get("suspend")
        and not _is_refused(other)
        and (is_running(other) or not has_begun(other))
        and _is_readable(other)
        and database_of(other, cn_sets) == database
    ]
    first = min(rivals, key=_order, default=None)
    if first is None or _order(job) < _order(first):
        return ""
    return str(first["metadata"]["name"])


def _is_refused(job: Resource) -> bool:
    """Return whether a BackupJob has not begun, and waits for its author: its spec is refused.

    Nobody else waits for that. A spec that was changed since is looked at first.
    """
    return not has_begun(job) and holds_now(job, ConditionType.STALLED)


def _is_readable(job: Resource) -> bool:
    source = (job.get("spec") or {}).get("source") or {}
    return bool(source.get("cnSetRef") or source.get("clusterRef"))


def _order(job: Resource) -> tuple[bool, str, bool, str]:
    metadata, spec = job["metadata"], job.get("spec") or {}
    created = str(metadata.get("creationTimestamp") or "9")
    return (
        not is_running(job),
        created,
        spec.get("type") == "incremental",
        str(metadata.get("uid") or ""),
    )
