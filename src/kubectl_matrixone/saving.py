# SPDX-License-Identifier: Apache-2.0
"""Backups: where a further one goes, and what is known of those that there are."""

import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from .creating import manifest
from .errors import PluginError, UsageError
from .facts import BackupRecord, Proof
from .kubectl import Json, table_in
from .reading import SOURCE, moment

_NAME_LETTERS: Final = 52
"""Of a BackupJob and, near enough, of a RestoreJob: crds/schema/backupjob.yaml."""
_STORE: Final = ("type", "endpoint", "region")
_GO_ALONG: Final = (
    "activeDeadlineSeconds",
    "backoffLimit",
    "overlay",
    "parallelism",
    "resources",
    "serviceAccountName",
    "ttl",
)
"""Settings of the BackupJobs of a schedule that a further one has, too."""


@dataclass(frozen=True, slots=True)
class Destination:
    """Where backups of a cluster go.

    Attributes:
        origin: from what that is known, such as ``BackupSchedule daily``.
        target: as of a BackupJob; its path is that of a folder for many, or of one backup.
        is_parent: whether each backup has a folder of its own below path; else beside it.
        settings: other fields of the BackupJob.
        login: source.secretRef; empty for the root credential of the cluster.
    """

    origin: str
    target: Json
    is_parent: bool
    settings: Json = field(default_factory=dict)
    login: str = ""

    @property
    def address(self) -> tuple[str, str]:
        """Path and endpoint, by which two destinations are told apart."""
        _kind, fields = _provider(self.target)
        return str(fields.get("path")), str(fields.get("endpoint") or "")


@dataclass(frozen=True, slots=True)
class Store:
    """A bucket or folder that the user names; empty fields are those of a known destination.

    Attributes:
        path: of the backup itself, ``<bucket>/<prefix>`` or an absolute folder.
        dialect: aws or minio.
        endpoint: of the store.
        region: of the store.
        secret: with its keys.
    """

    path: str = ""
    dialect: str = ""
    endpoint: str = ""
    region: str = ""
    secret: str = ""

    @property
    def names_store(self) -> bool:
        """Whether it says more than a path."""
        return bool(self.dialect or self.endpoint or self.region or self.secret)


def destinations(
    cluster: Json, schedules: Sequence[Json], jobs: Sequence[Json], backups: Sequence[Json]
) -> list[Destination]:
    """Return where backups of a cluster go, by its schedules, else by its last job or Backup.

    Args:
        cluster: the MatrixOneCluster.
        schedules: BackupSchedules of its namespace.
        jobs: BackupJobs of its namespace.
        backups: of any database.
    """
    name, namespace = cluster["metadata"]["name"], cluster["metadata"]["namespace"]
    ordered = sorted(schedules, key=lambda one: str(one["metadata"]["name"]))
    found = [
        _of_job(f"BackupSchedule {one['metadata']['name']}", template, is_parent=True)
        for one in ordered
        if _is_source(template := table_in(table_in(one, "spec"), "template"), name)
    ]
    if found:
        return found
    by_age = sorted(jobs, key=lambda one: str(one["metadata"].get("creationTimestamp") or ""))
    for one in reversed(by_age):
        if _is_source(table_in(one, "spec"), name):
            return [_of_job(f"BackupJob {one['metadata']['name']}", one["spec"], is_parent=False)]
    return _of_backups(backups, name, namespace)


def _of_job(origin: str, spec: Json, *, is_parent: bool) -> Destination:
    settings: Json = {key: spec[key] for key in _GO_ALONG if key in spec}
    login = str(table_in(spec, "source").get("secretRef") or "")
    return Destination(origin, table_in(spec, "target"), is_parent, settings, login)


def _of_backups(backups: Sequence[Json], name: str, namespace: str) -> list[Destination]:
    source = f"{SOURCE}/{namespace}/{name}"
    own = [
        one
        for one in backups
        if table_in(one, "meta").get("sourceRef") == source
        and one["meta"].get("secretNamespace") == namespace
    ]
    newest = max(own, key=lambda one: str(one["meta"].get("atTime") or ""), default=None)
    if newest is None:
        return []
    account = newest["meta"].get("serviceAccountName")
    settings = {"serviceAccountName": account} if account else {}
    target = table_in(newest["meta"], "location")
    return [Destination(f"Backup {newest['metadata']['name']}", target, False, settings)]


def _is_source(spec: Json, cluster: str) -> bool:
    return table_in(spec, "source").get("clusterRef") == cluster


def chosen_destination(found: Sequence[Destination], schedule: str, cluster: str) -> Destination:
    """Return the destination of a schedule, or the only one that there is.

    Raises:
        PluginError: there is none, or it is not clear which is meant; the message says what to do.
    """
    if schedule:
        for one in found:
            if one.origin == f"BackupSchedule {schedule}":
                return one
        raise PluginError(f"no BackupSchedule {schedule} of MatrixOneCluster {cluster} is here")
    if not found:
        raise PluginError(
            f"it is not known where backups of MatrixOneCluster {cluster} go: it has no "
            "BackupSchedule, BackupJob or Backup here that says so. Name a place by --path, with "
            "--endpoint and --secret of its store"
        )
    if len({one.address for one in found}) > 1:
        names = ", ".join(one.origin.rpartition(" ")[2] for one in found)
        raise PluginError(f"its schedules have several destinations; choose by --schedule: {names}")
    return found[0]


def placed(known: Destination | None, store: Store, folder: str) -> Destination:
    """Return the destination of one backup: its target has a path that nothing else has.

    Args:
        known: where backups of the cluster go; None if the user names all of it.
        store: what the user names.
        folder: of the backup, in or beside a known path.

    Raises:
        UsageError: a store without a path.
        PluginError: a known path has no place beside it.
    """
    if store.names_store and not store.path:
        raise UsageError("name the place of the backup, too: --path BUCKET/PREFIX")
    if store.names_store or (known is None and store.path):
        return Destination("the command line", _named(store), False)
    if known is None:
        raise UsageError("name the place of the backup: --path BUCKET/PREFIX")
    kind, fields = _provider(known.target)
    path = store.path or _beside(known, folder)
    if kind != ("fileSystem" if path.startswith("/") else "s3"):
        return Destination("the command line", _named(store), False, known.settings, known.login)
    target = {kind: {**fields, "path": path}}
    return Destination(known.origin, target, False, known.settings, known.login)


def _named(store: Store) -> Json:
    if store.path.startswith("/"):
        return {"fileSystem": {"path": store.path}}
    values = (store.dialect, store.endpoint, store.region)
    fields = {name: value for name, value in zip(_STORE, values, strict=True) if value}
    secret = {"secretRef": {"name": store.secret}} if store.secret else {}
    return {"s3": {**fields, "path": store.path, **secret}}


def _beside(known: Destination, folder: str) -> str:
    kind, fields = _provider(known.target)
    path = str(fields.get("path") or "").rstrip("/")
    if known.is_parent:
        return f"{path}/{folder}"
    parent = posixpath.dirname(path)
    mount = str(fields.get("mountPath") or "").rstrip("/")
    is_inside = parent == mount or parent.startswith(f"{mount}/") if mount else parent != "/"
    if not parent or (kind == "fileSystem" and not is_inside):
        raise PluginError(
            f"{known.origin} fills all of {path}: name another place by --path BUCKET/PREFIX"
        )
    return f"{parent}/{posixpath.basename(folder)}"


def _provider(target: Json) -> tuple[str, Json]:
    kind = "fileSystem" if table_in(target, "fileSystem") else "s3"
    return kind, table_in(target, kind)


@dataclass(frozen=True, slots=True)
class Kind:
    """What kind of backup is made.

    Attributes:
        is_incremental: whether only what has changed since the base.
        base: a Backup; empty for the newest.
        is_verified: whether it is restored into a throw-away cluster afterwards.
    """

    is_incremental: bool = False
    base: str = ""
    is_verified: bool = False


def backup_job(cluster: Json, name: str, place: Destination, kind: Kind) -> Json:
    """Return a BackupJob.

    Args:
        cluster: the MatrixOneCluster.
        name: of the job.
        place: with the path of this backup.
        kind: of backup.
    """
    base: Any = {"backupName": kind.base} if kind.base else {"latest": True}
    metadata = cluster["metadata"]
    source = {"clusterRef": metadata["name"]}
    spec: Json = {
        **({"type": "incremental", "base": base} if kind.is_incremental else {}),
        "source": {**source, **({"secretRef": place.login} if place.login else {})},
        "target": place.target,
        **place.settings,
        **({"verify": {}} if kind.is_verified else {}),
    }
    return manifest("BackupJob", name, metadata["namespace"], spec)


def timed_name(name: str, now: datetime, letters: int = _NAME_LETTERS) -> str:
    """Return a name that no other object has, as long as nobody creates two within a second.

    Args:
        name: of what it is about.
        now: the present.
        letters: that the name may have.
    """
    end = f"-{now.astimezone(UTC):%Y%m%d%H%M%S}"
    return f"{name[: letters - len(end)].rstrip('-.')}{end}"


def records(
    backups: Sequence[Json], namespace: str, cluster: str, uid: str
) -> Iterator[BackupRecord]:
    """Yield what is known of Backups, newest first.

    Args:
        backups: of any database.
        namespace: of the cluster; empty for all.
        cluster: its name; empty for all.
        uid: of the cluster that has the name now; empty if there is none, or many are asked for.
    """
    newest = sorted(
        backups, key=lambda one: str(table_in(one, "meta").get("atTime") or ""), reverse=True
    )
    for one in newest:
        kind, _slash, rest = str(table_in(one, "meta").get("sourceRef") or "").partition("/")
        place, _slash, name = rest.partition("/")
        if namespace in {"", place} and (not cluster or (kind, name) == (SOURCE, cluster)):
            yield _record(one, uid)


def _record(one: Json, uid: str) -> BackupRecord:
    meta, status = table_in(one, "meta"), table_in(one, "status")
    proof = _proof(table_in(status, "verification"))
    return BackupRecord(
        name=one["metadata"]["name"],
        source=str(meta.get("sourceRef") or ""),
        moment=moment(meta.get("atTime")),
        size=str(meta.get("size") or "?"),
        type=str(meta.get("type") or "full"),
        phase=str(status.get("phase") or "Unknown"),
        proof=proof,
        problem=_problem(meta, status, proof, uid),
    )


def _proof(found: Json) -> Proof | None:
    if not found:
        return None
    return Proof(
        result=str(found.get("result") or "Unknown"),
        at=moment(found.get("completionTime")),
        message=str(found.get("message") or found.get("reason") or ""),
    )


def _problem(meta: Json, status: Json, proof: Proof | None, uid: str) -> str:
    found = []
    if status.get("phase") != "Available" and status.get("message"):
        found.append(str(status["message"]))
    if proof and proof.result != "Passed" and proof.message:
        found.append(proof.message)
    if uid and meta.get("sourceUid") not in {None, "", uid}:
        found.append("of an earlier cluster of this name")
    return "; ".join(found)
