# SPDX-License-Identifier: Apache-2.0
"""What a Job is to do, and what became of it.

The operator writes a task as ``task.json`` in a ConfigMap; the program in the Job reads it and
writes its result to the key ``result.json`` of another ConfigMap, which outlives the Job.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Final

from ...api.errors import InvalidSpec
from ...api.fields import Fields
from ...api.owners import Owner
from ...location import locations
from ...location.errors import InvalidLocation
from ...location.locations import Location
from .. import manifest as manifests
from ..errors import BackupError, InvalidTask
from ..manifest import Manifest, Origin
from ..verification.checks import Check

FOLDER: Final = "/etc/matrixone-backup"
"""Where the Job's Pod has ``task/task.json``, ``login/``, ``tls/``, ``target/``, ``source/``
and ``target-ca/``, ``source-ca/``."""
TASK_KEY: Final = "task.json"
RESULT_KEY: Final = "result.json"
LONGEST_MESSAGE: Final = 1024
"""Letters of a result's message; a longer one is cut."""
REMOVED: Final = "what it had written was deleted"
"""At the end of the message of a backup that failed and has left nothing."""
DONE, TRY_AGAIN, PERMANENT = 0, 1, 2
"""Exit codes of the program."""
DEADLINE_SECONDS: Final = 24 * 3600
PARALLELISM: Final = 8
"""Of a task that names none."""


class Verb(StrEnum):
    """What a task does."""

    BACKUP = "backup"
    VERIFY = "verify"
    RESTORE = "restore"
    DELETE = "delete"
    READ = "read"
    PURGE = "purge"
    RECLAIM = "reclaim"
    CLAIM = "claim"


class Step(StrEnum):
    """What a task is doing."""

    CHECK_TARGET = "CheckTarget"
    BACKUP = "Backup"
    VERIFY = "Verify"
    RECORD = "Record"
    COPY = "Copy"
    DELETE = "Delete"


class Phase(StrEnum):
    """How far a task is."""

    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


class Reason(StrEnum):
    """Why a task failed."""

    TARGET_NOT_EMPTY = "TargetNotEmpty"
    TARGET_IS_SOURCE = "TargetIsSource"
    TARGET_MISSING = "TargetMissing"
    ACCESS_DENIED = "AccessDenied"
    CREDENTIALS_EXPIRED = "CredentialsExpired"
    UNREACHABLE = "Unreachable"
    OUT_OF_SPACE = "OutOfSpace"
    STATEMENT_FAILED = "StatementFailed"
    LOGIN_FAILED = "LoginFailed"
    OBJECT_MISSING = "ObjectMissing"
    OBJECT_CORRUPT = "ObjectCorrupt"
    CHAIN_BROKEN = "ChainBroken"
    BASE_MISSING = "BaseMissing"
    DEADLINE_EXCEEDED = "DeadlineExceeded"
    INTERRUPTED = "Interrupted"
    TABLE_UNREADABLE = "TableUnreadable"
    CHECK_FAILED = "CheckFailed"
    CATALOG_NOT_UPGRADED = "CatalogNotUpgraded"
    VERSION_NOT_SUITABLE = "VersionNotSuitable"
    INVALID_TASK = "InvalidTask"


RETRYABLE: Final = frozenset(
    {
        Reason.CREDENTIALS_EXPIRED,  # a Secret's files follow the Secret
        Reason.UNREACHABLE,
        Reason.STATEMENT_FAILED,
        Reason.LOGIN_FAILED,
        Reason.INTERRUPTED,
    }
)
"""Reasons after which the same task may succeed later, with nothing changed by its owner."""


@dataclass(frozen=True, slots=True)
class Login:
    """Where the database answers SQL; user and password are files of the Pod.

    Attributes:
        host: name or address.
        port: of the SQL protocol.
        tls: whether it has to prove what it is, by the certificates in files of the Pod.
    """

    host: str
    port: int
    tls: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """The ConfigMap that gets the result."""

    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class BaseBackup:
    """The backup that an incremental one continues.

    Attributes:
        location: on the server of the target, with its credentials.
        id: what its manifest must have.
    """

    location: Location
    id: str


@dataclass(frozen=True, slots=True)
class Task:
    """The work of one Job.

    Attributes:
        verb: what to do.
        id: of the backup that is made, or of the task; a repeated attempt has the same.
        type: of the backup that is made.
        base: for an incremental backup.
        owner: whose the target is to be, or is; a task without one is its own owner.
        login: of the database that is backed up or read.
        origin: what is backed up, for the manifest.
        source: the backup that is verified or restored.
        target: where a backup is made, restored to, or deleted, a restored copy is purged, or the
            data of a database are deleted, or are going to be.
        predecessor: for a claim, who had the path before under the same uid; without a name,
            whoever had it. None if nobody did.
        forbidden: the cluster's own storage: the target must not be inside it, nor around it.
        expected_id: the backup that source (verify, restore) or target (delete) must hold; None
            accepts any backup. For a purge, the restore that has filled target.
        attempts: that the Job makes of a backup; 0 where that is not known.
        checks: of the user, for a database that is read.
        upgraded_to: version to which such a database has to upgrade its catalog before it is read;
            empty if it runs the version that has written it.
        runs: version of the database that is to run on what is restored; empty if it is unknown.
        checksums: whether a restore compares checksums where the server itself copies (everywhere
            else it does so anyway), and a verification reads files at all.
        report: the ConfigMap of the result; None for none (playbooks read standard output).
        deadline_seconds: for the whole task.
        parallelism: files at a time, and the statement's own parallelism.
    """

    verb: Verb
    id: str
    type: str = manifests.FULL
    base: BaseBackup | None = None
    owner: Owner = field(default_factory=Owner)
    login: Login | None = None
    origin: Origin = field(default_factory=lambda: Origin("", "", ""))
    source: Location | None = None
    target: Location | None = None
    predecessor: Owner | None = None
    forbidden: tuple[Location, ...] = ()
    expected_id: str | None = None
    attempts: int = 0
    checks: tuple[Check, ...] = ()
    upgraded_to: str = ""
    runs: str = ""
    checksums: bool = True
    report: Report | None = None
    deadline_seconds: int = DEADLINE_SECONDS
    parallelism: int = PARALLELISM


@dataclass(frozen=True, slots=True)
class Amount:
    """Files and bytes, done or in all."""

    files: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Reading:
    """What could be read of a database: tables, their rows, and bytes of the values."""

    tables: int = 0
    rows: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a task, or how far it is.

    Attributes:
        phase: ``Running`` until the end.
        step: the last one begun; None before the first.
        done: of the step.
        total: of the step; zero while unknown.
        reason: why it failed.
        message: for people, without secrets; also what a task that succeeded has to say.
        retryable: whether the Job tries again.
        manifest: of the backup that was made, verified or restored.
        reading: of the database that was read.
        started_at: RFC 3339; of this attempt.
        ended_at: RFC 3339; empty while it runs.
    """

    phase: Phase
    step: Step | None = None
    done: Amount = field(default_factory=Amount)
    total: Amount = field(default_factory=Amount)
    reason: Reason | None = None
    message: str = ""
    retryable: bool = False
    manifest: Manifest | None = None
    reading: Reading | None = None
    started_at: str = ""
    ended_at: str = ""


def task_to_json(task: Task) -> str:
    """Return a task as ``task.json`` has it."""
    base = task.base
    document = {
        "verb": task.verb,
        "id": task.id,
        "type": task.type,
        "base": base and {"location": locations.to_document(base.location), "id": base.id},
        **({} if task.owner == Owner() else {"owner": asdict(task.owner)}),
        "login": task.login and _login_document(task.login),
        "origin": {
            "kind": task.origin.kind,
            "namespace": task.origin.namespace,
            "name": task.origin.name,
            **({"uid": task.origin.uid} if task.origin.uid else {}),
        },
        "source": locations.to_document(task.source),
        "target": locations.to_document(task.target),
        **({"predecessor": asdict(task.predecessor)} if task.predecessor else {}),
        "forbidden": [locations.to_document(location) for location in task.forbidden],
        "expects": {"id": task.expected_id},
        **({"checks": [check.document for check in task.checks]} if task.checks else {}),
        **({"upgradedTo": task.upgraded_to} if task.upgraded_to else {}),
        **({"runs": task.runs} if task.runs else {}),
        **({"attempts": task.attempts} if task.attempts else {}),
        **({} if task.checksums else {"checksums": False}),
        "report": task.report and {"namespace": task.report.namespace, "name": task.report.name},
        "deadlineSeconds": task.deadline_seconds,
        "parallelism": task.parallelism,
    }
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False)


def _login_document(login: Login) -> dict[str, Any]:
    tls = {"tls": True} if login.tls else {}
    return {"host": login.host, "port": login.port, **tls}


def task_from_json(text: str | bytes) -> Task:
    """Read a task.

    Raises:
        InvalidTask: it is none, or lacks what its verb needs.
    """
    fields = Fields("", _object(text, "a task"))
    try:
        task = _task_of(fields)
    except (InvalidSpec, InvalidLocation, BackupError) as error:
        raise InvalidTask(f"the task is malformed: {error}") from error
    _require_complete(task)
    return task


def _task_of(fields: Fields) -> Task:
    base, login, report = (fields.table(name) for name in ("base", "login", "report"))
    origin, predecessor = fields.table("origin"), fields.table("predecessor")
    return Task(
        verb=Verb(fields.choice("verb", tuple(Verb), "")),
        id=fields.required_text("id"),
        type=fields.choice("type", manifests.TYPES, manifests.FULL),
        base=BaseBackup(_required_location(base, "location"), base.required_text("id"))
        if base.data
        else None,
        owner=_owner(fields.table("owner")),
        login=Login(login.required_text("host"), login.number("port", 1) or 0, login.flag("tls"))
        if login.data
        else None,
        origin=Origin(
            origin.text("kind"), origin.text("namespace"), origin.text("name"), origin.text("uid")
        ),
        source=_location(fields, "source"),
        target=_location(fields, "target"),
        predecessor=_owner(predecessor) if predecessor.data else None,
        forbidden=tuple(_locations(fields.tables("forbidden"))),
        expected_id=fields.table("expects").text("id") or None,
        attempts=fields.number("attempts") or 0,
        checks=tuple(Check.of(table.data) for table in fields.tables("checks")),
        upgraded_to=fields.text("upgradedTo"),
        runs=fields.text("runs"),
        checksums=fields.flag("checksums") or not fields.has("checksums"),
        report=Report(report.required_text("namespace"), report.required_text("name"))
        if report.data
        else None,
        deadline_seconds=fields.number("deadlineSeconds", 1) or DEADLINE_SECONDS,
        parallelism=fields.number("parallelism", 1) or PARALLELISM,
    )


def _require_complete(task: Task) -> None:
    needed: dict[Verb, Sequence[str]] = {
        Verb.BACKUP: ("target", "login"),
        Verb.VERIFY: ("source",),
        Verb.RESTORE: ("source", "target"),
        Verb.DELETE: ("target",),
        Verb.READ: ("login",),
        Verb.PURGE: ("target", "expected_id"),
        Verb.RECLAIM: ("target",),
        Verb.CLAIM: ("target",),
    }
    for name in needed[task.verb]:
        if getattr(task, name) is None:
            raise InvalidTask(f"the task {task.verb} needs {name}")
    incremental = task.verb == Verb.BACKUP and task.type == manifests.INCREMENTAL
    if incremental != (task.base is not None):
        raise InvalidTask("base must be set for an incremental backup, and for no other task")


def result_to_json(result: Result) -> str:
    """Return a result as ``result.json`` has it."""
    document = {
        "phase": result.phase,
        "step": result.step,
        "done": {"files": result.done.files, "bytes": result.done.bytes},
        "total": {"files": result.total.files, "bytes": result.total.bytes},
        "reason": result.reason,
        "message": _cut(result.message),
        "retryable": result.retryable,
        "manifest": result.manifest and manifests.to_document(result.manifest),
        **({"reading": asdict(result.reading)} if result.reading else {}),
        "startedAt": result.started_at,
        "endedAt": result.ended_at,
    }
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False)


def result_from_json(text: str | bytes) -> Result:
    """Read a result.

    Raises:
        InvalidTask: it is none.
    """
    fields = Fields("", _object(text, "a result"))
    try:
        step, reason = fields.text("step"), fields.text("reason")
        record = fields.table("manifest").data
        return Result(
            phase=Phase(fields.choice("phase", tuple(Phase), "")),
            step=Step(step) if step else None,
            done=_amount(fields.table("done")),
            total=_amount(fields.table("total")),
            reason=Reason(reason) if reason else None,
            message=_cut(fields.text("message")),
            retryable=fields.flag("retryable"),
            manifest=manifests.from_document(record) if record else None,
            reading=_reading(fields.table("reading")),
            started_at=fields.text("startedAt"),
            ended_at=fields.text("endedAt"),
        )
    except (InvalidSpec, InvalidLocation, BackupError, ValueError) as error:
        raise InvalidTask(f"the result is malformed: {error}") from error


def _reading(fields: Fields) -> Reading | None:
    if not fields.data:
        return None
    return Reading(*(fields.number(name) or 0 for name in ("tables", "rows", "bytes")))


def _amount(fields: Fields) -> Amount:
    return Amount(fields.number("files") or 0, fields.number("bytes") or 0)


def _cut(message: str) -> str:
    return message if len(message) <= LONGEST_MESSAGE else f"{message[: LONGEST_MESSAGE - 1]}…"


def _owner(fields: Fields) -> Owner:
    return Owner(*(fields.text(name) for name in ("kind", "namespace", "name", "uid")))


def _location(fields: Fields, name: str) -> Location | None:
    return locations.from_document(fields.table(name).data or None)


def _required_location(fields: Fields, name: str) -> Location:
    location = _location(fields, name)
    if location is None:
        raise fields.refuse(name, "must be set")
    return location


def _locations(tables: Any) -> list[Location]:
    found = (locations.from_document(table.data) for table in tables)
    return [one for one in found if one is not None]


def _object(text: str | bytes, what: str) -> Mapping[str, Any]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidTask(f"{what} is not JSON") from error
    if not isinstance(document, Mapping):
        raise InvalidTask(f"{what} is not an object")
    return document
