# SPDX-License-Identifier: Apache-2.0
"""New clusters from Backups: what they share with an old one, and what must be their own."""

import copy
import json
import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from .creating import manifest
from .errors import PluginError
from .kubectl import Json, table_in
from .reading import SOURCE
from .saving import timed_name

_RESTORE_LETTERS: Final = 54
_OF_THE_OLD: Final = ("restoreFrom", "restoreSource", "hibernation")
"""What a new cluster does not have: it is restored from another place, and must not sleep."""
_OF_ONE_UPGRADE: Final = ("paused", "waive")


@dataclass(frozen=True, slots=True)
class Source:
    """What a Backup is of.

    Attributes:
        namespace: of the cluster.
        name: of the cluster.
        uid: of it; empty if that is not known.
        version: that it ran; empty if that is not known.
    """

    namespace: str
    name: str
    uid: str
    version: str


def source_of(backup: Json) -> Source:
    """Return what a Backup is of.

    Raises:
        PluginError: it is not of a MatrixOneCluster.
    """
    meta = table_in(backup, "meta")
    parts = str(meta.get("sourceRef") or "").split("/")
    if len(parts) != 3 or parts[0] != SOURCE:
        raise PluginError(
            f"Backup {backup['metadata']['name']} is of {meta.get('sourceRef') or 'something'}, "
            "which is no MatrixOneCluster"
        )
    return Source(parts[1], parts[2], str(meta.get("sourceUid") or ""), _version(meta))


def _version(meta: Json) -> str:
    try:
        record = json.loads(str(meta.get("raw") or ""))
    except ValueError:
        return ""
    return str(record.get("matrixoneVersion") or "") if isinstance(record, dict) else ""


@dataclass(frozen=True, slots=True)
class Proving:
    """How a Backup is verified.

    Attributes:
        version: of the throw-away cluster; empty for that of the old one.
        checks: statements that it must answer.
        credential: Secret of root at the time of the backup; empty for the present one.
    """

    version: str = ""
    checks: tuple[str, ...] = ()
    credential: str = ""


def verification_job(backup: Json, namespace: str, how: Proving, now: datetime) -> Json:
    """Return the RestoreJob that proves a Backup.

    Args:
        backup: the Backup.
        namespace: of the cluster that was backed up.
        how: it is verified.
        now: the present, in the name.
    """
    name = backup["metadata"]["name"]
    verify: Json = {}
    if how.version:
        verify["version"] = how.version
    if how.checks:
        verify["checks"] = [{"sql": one} for one in how.checks]
    if how.credential:
        verify["credentialSecretRef"] = {"name": how.credential}
    spec = {"backupName": name, "ttl": "24h", "verify": verify}
    return manifest("RestoreJob", timed_name(name, now, _RESTORE_LETTERS), namespace, spec)


@dataclass(frozen=True, slots=True)
class Restoring:
    """What the user says of a new cluster.

    Attributes:
        name: of it.
        namespace: of it.
        path: of its data; empty for a place beside those of the old one.
        credential: Secret of root at the time of the backup; empty for that of the old cluster.
        version: of MatrixOne; empty for that of the old one.
    """

    name: str
    namespace: str
    path: str = ""
    credential: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True)
class Restored:
    """A new cluster.

    Attributes:
        manifest: of it.
        notes: what its user has to know or to see to.
    """

    manifest: Json
    notes: tuple[str, ...]


def restored(backup: Json, like: Json, wanted: Restoring) -> Restored:
    """Return a cluster that is restored from a Backup, with the spec of another one.

    Args:
        backup: the Backup.
        like: a MatrixOneCluster: the source, or one that has the settings of the source.
        wanted: what the user says.

    Raises:
        PluginError: the Backup cannot be restored, or something is not known that must be.
    """
    _check(backup)
    spec = copy.deepcopy(table_in(like, "spec"))
    for name in _OF_THE_OLD:
        spec.pop(name, None)
    upgrade = table_in(spec, "upgrade")
    for name in _OF_ONE_UPGRADE:
        upgrade.pop(name, None)
    notes = [*_own_storage(spec, wanted), *_own_ports(spec)]
    spec["version"] = wanted.version or _version_of(like)
    secret = wanted.credential or _credential(backup, like, wanted)
    spec["credentialSecretRef"] = {"name": secret}
    spec["restoreFrom"] = backup["metadata"]["name"]
    notes.extend(_notes(backup, like, spec, wanted))
    made = manifest("MatrixOneCluster", wanted.name, wanted.namespace, spec)
    return Restored(made, tuple(notes))


def _check(backup: Json) -> None:
    status = table_in(backup, "status")
    phase = status.get("phase") or "Unknown"
    if phase != "Available":
        why = f": {status['message']}" if status.get("message") else ""
        raise PluginError(f"Backup {backup['metadata']['name']} is {phase}, not Available{why}")


def _version_of(like: Json) -> str:
    """Return the version that a cluster runs: what it is asked for may be a later one."""
    found = table_in(like, "status").get("version") or table_in(like, "spec").get("version")
    if not found:
        raise PluginError("it is not known which version the database has: name it by --version")
    return str(found)


def _credential(backup: Json, like: Json, wanted: Restoring) -> str:
    """Return the Secret with the root credential that the restored database will have."""
    source, metadata = source_of(backup), like["metadata"]
    is_source = (
        metadata.get("name") == source.name
        and metadata.get("namespace", wanted.namespace) == source.namespace == wanted.namespace
        and (not source.uid or metadata.get("uid") in {None, source.uid})
    )
    named = table_in(table_in(like, "status"), "credentialRef").get("name")
    named = named or table_in(table_in(like, "spec"), "credentialSecretRef").get("name")
    if is_source and named:
        return str(named)
    raise PluginError(
        "the restored database has the root user and password of the one that was backed up, "
        f"{source.namespace}/{source.name}: name the Secret with them by --credential"
    )


def _own_storage(spec: Json, wanted: Restoring) -> Iterator[str]:
    """Give a spec a place of its own for the data; yield where."""
    shared = table_in(table_in(spec, "logService"), "sharedStorage")
    s3, files = table_in(shared, "s3"), table_in(shared, "fileSystem")
    if s3:
        old = str(s3.get("path") or "").strip("/")
        parent = posixpath.dirname(old)
        if not parent and not wanted.path:
            raise PluginError(
                f"the data of the old cluster fill the bucket {old}: name another place by "
                "--path BUCKET/PREFIX"
            )
        s3["path"] = wanted.path or f"{parent}/{wanted.name}"
        yield f"its data will be in {s3['path']}, which must be empty"
    elif files.get("claim"):
        if wanted.path:
            files["path"] = wanted.path
        yield "its data will be in a new volume"
    elif files:
        raise PluginError(
            "the data of the old cluster are in a volume that was not created for it, and the new "
            "one must not share it: write another one into the manifest, and give that by -f"
        )
    else:
        raise PluginError("the spec has no logService.sharedStorage")


def _own_ports(spec: Any) -> Iterator[str]:
    """Take ports of nodes out of a spec, which only one Service can have."""
    if isinstance(spec, dict):
        if spec.pop("nodePort", None) is not None:
            yield "its Service gets another port of the nodes than that of the old cluster"
        for value in spec.values():
            yield from _own_ports(value)
    elif isinstance(spec, list):
        for value in spec:
            yield from _own_ports(value)


def _notes(backup: Json, like: Json, spec: Json, wanted: Restoring) -> Iterator[str]:
    source, meta = source_of(backup), table_in(backup, "meta")
    if source.version and _release(source.version) != _release(str(spec["version"])):
        yield f"the backup is of {source.version}; the new cluster runs {spec['version']}"
    secret = table_in(table_in(table_in(meta, "location"), "s3"), "secretRef").get("name")
    if secret and meta.get("secretNamespace") not in {None, wanted.namespace}:
        yield (
            f"Secret {secret} with the keys of the backup must exist in namespace "
            f"{wanted.namespace}, too: it is in {meta['secretNamespace']}"
        )
    name = spec["credentialSecretRef"]["name"]
    policy = table_in(spec, "logService").get("pvcRetentionPolicy")
    if name == f"{like['metadata'].get('name')}-credential" and policy != "Retain":
        yield f"Secret {name} is deleted with the old cluster: keep a copy of it under another name"


def _release(version: str) -> list[str]:
    return version.removeprefix("v").split(".")[:2]
