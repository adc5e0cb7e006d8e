# SPDX-License-Identifier: Apache-2.0
"""A real database is backed up to a bucket and a folder, and restored from each to each."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.manifest import Origin
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.task.tasks import (
    PERMANENT,
    BaseBackup,
    Login,
    Phase,
    Reason,
    Step,
    Task,
    Verb,
    result_from_json,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.verification.checks import (
    Check,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.location.locations import (
    FolderLocation,
    Location,
)

from testbed.object_store import ObjectStore

from .database import PASSWORD, USER, Database, Storage, database, refusal_of_minio, type_for
from .pods import Pods, bucket, keys_of

pytestmark = [pytest.mark.rpc, pytest.mark.timeout(900)]
ORIGIN = Origin("MatrixOneCluster", "ns", "mo")


@pytest.fixture(scope="module")
def pods(server: ObjectStore, tmp_path_factory: pytest.TempPathFactory) -> Pods:
    login = {"username": USER, "password": PASSWORD}
    return Pods(tmp_path_factory.mktemp("pods"), keys_of(server), login)


@pytest.fixture(scope="module")
def places(
    server: ObjectStore, kind: str, pods: Pods, tmp_path_factory: pytest.TempPathFactory
) -> list[tuple[Location, Location]]:
    """The chains of one database, full and incremental: in a bucket, in a folder.

    Row 3 is deleted and one is added between the two; one comes after the second.
    """
    root = tmp_path_factory.mktemp("source")
    folder = str(root / "backups")
    chains = [
        (
            bucket(server, "backups/mo/1", kind=kind),
            bucket(server, "backups/mo/2", kind=kind),
        ),
        (
            FolderLocation(f"{folder}/1", f"{folder}/1"),
            FolderLocation(f"{folder}/2", f"{folder}/2"),
        ),
    ]
    with database(root / "processes", Storage(folder=root / "shared")) as source:
        _fill(source)
        for number, (full, _) in enumerate(chains):
            _back_up(pods, source, f"full{number}", full, root / "shared")
        source.run("insert into d.t (x) values ('between')")
        source.run("delete from d.t where n = 3")
        for number, (full, more) in enumerate(chains):
            base = BaseBackup(full, f"full{number}")
            _back_up(pods, source, f"more{number}", more, root / "shared", base)
        source.run("insert into d.t (x) values ('after')")
    return chains


def _fill(source: Database) -> None:
    source.run("create database d")
    source.run("create table d.t (n bigint primary key auto_increment, x varchar(500))")
    for _ in range(3):
        rows = ",".join([f"('{'y' * 400}')"] * 2000)
        source.run("insert into d.t (x) values " + rows)  # noqa: S608


def _back_up(
    pods: Pods,
    source: Database,
    name: str,
    target: Location,
    own: Path,
    base: BaseBackup | None = None,
) -> None:
    task = Task(
        Verb.BACKUP,
        name,
        type="incremental" if base else "full",
        base=base,
        login=Login("127.0.0.1", source.port),
        origin=ORIGIN,
        target=target,
        forbidden=(FolderLocation(str(own), str(own)),),
    )
    ended = pods.run(task)
    assert ended.code == 0, ended
    made = ended.result.manifest
    assert made
    assert (made.id, made.source, made.base and made.base.id) == (
        name, ORIGIN, base and base.id,
    )  # fmt: skip
    assert made.matrixone_version == source.run("select version()")[0][0]
    assert made.started_at <= made.completed_at
    again = pods.run(task)
    assert (again.code, again.result.manifest) == (0, made)


@pytest.mark.parametrize("source", [0, 1], ids=["from-bucket", "from-folder"])
@pytest.mark.parametrize("to_bucket", [True, False], ids=["to-bucket", "to-folder"])
def test_a_restored_database_has_the_rows_of_the_backup(
    places: list[tuple[Location, Location]],
    server: ObjectStore,
    pods: Pods,
    tmp_path: Path,
    source: int,
    to_bucket: bool,
) -> None:
    backup = places[source][1]
    verified = pods.run(Task(Verb.VERIFY, "v", source=backup, expected_id=f"more{source}"))
    assert (verified.code, verified.result.phase) == (0, Phase.SUCCEEDED), verified
    folder = str(tmp_path / "shared")
    target: Location = FolderLocation(folder, folder)
    storage = Storage(folder=tmp_path / "shared")
    if to_bucket:
        target = bucket(server, f"data/restored{source}")
        storage = Storage(store=server, bucket="data", prefix=f"restored{source}")
    task = Task(Verb.RESTORE, "r", source=backup, target=target, expected_id=f"more{source}")
    ended = pods.run(task)
    assert ended.code == 0, ended
    assert ended.result.done == ended.result.total
    with database(tmp_path / "processes", storage, restore=True) as restored:
        assert restored.run("select count(*), max(n) from d.t") == [(6000, 6001)]
        assert restored.run("select n from d.t where x = 'between'") == [(6001,)]
        assert restored.run("select n from d.t where x = 'after' or n = 3") == []
        restored.run("insert into d.t (x) values ('new')")
        assert restored.run("select count(*) from d.t where n > 6001") == [(1,)]
        before = restored.run("select count(*) from d.t")
        again = pods.run(task)
        assert (again.code, again.result.done.files) == (0, 0)
        assert restored.run("select count(*) from d.t") == before
        _require_read(pods, restored, before[0][0])
    if to_bucket:
        purge = Task(Verb.PURGE, "p", target=target, expected_id="r")
        assert pods.run(purge).code == 0
        assert not any(
            one.is_file() for one in (server.folder / "data").glob(f"{storage.prefix}/**/*")
        )


def _require_read(pods: Pods, restored: Database, rows: int) -> None:
    """Every table is read; a check that differs is named."""
    login = Login("127.0.0.1", restored.port)
    count = {"name": "rows", "sql": "select count(*) from d.t"}
    checks = (Check.of({**count, "rows": [[rows]]}), Check.of({"sql": "select 1"}))
    good = pods.run(Task(Verb.READ, "read", login=login, checks=checks))
    assert (good.code, good.result.phase) == (0, Phase.SUCCEEDED), good
    assert good.result.reading
    assert good.result.reading.tables > 20
    assert good.result.reading.rows > rows
    wrong = (Check.of({**count, "rows": [[0]]}),)
    bad = pods.run(Task(Verb.READ, "read", login=login, checks=wrong))
    assert (bad.code, bad.result.reason) == (PERMANENT, Reason.CHECK_FAILED)
    assert bad.result.message == f"check rows: ({rows}) instead of (0)"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """A database with some rows, in a folder."""
    folder = tmp_path_factory.mktemp("running")
    with database(folder / "processes", Storage(folder=folder / "shared")) as source:
        _fill(source)
        yield source


@pytest.fixture(scope="module")
def kind(running: Database, server: ObjectStore) -> str:
    """The type of location under which this MatrixOne backs up to the server."""
    return type_for(running, server)


@pytest.mark.parametrize(
    ("step", "to_bucket"),
    [
        (Step.CHECK_TARGET, True),
        (Step.BACKUP, True),
        (Step.BACKUP, False),
        (Step.VERIFY, True),
        (Step.RECORD, False),
    ],
)
def test_a_backup_that_is_killed_in_a_step_is_made_by_the_next_attempt(
    running: Database,
    server: ObjectStore,
    kind: str,
    pods: Pods,
    tmp_path: Path,
    step: Step,
    to_bucket: bool,
) -> None:
    folder = str(tmp_path / "backup")
    target: Location = FolderLocation(folder, folder)
    if to_bucket:
        target = bucket(server, f"backups/killed/{step}", kind=kind)
    task = Task(
        Verb.BACKUP, f"killed-{step}", login=Login("127.0.0.1", running.port), target=target
    )
    _kill_in(pods.start(task), step)

    unfinished = pods.run(Task(Verb.VERIFY, "v", source=target))
    assert (unfinished.code, unfinished.result.reason) == (2, Reason.OBJECT_MISSING), unfinished
    ended = pods.run(task)
    assert ended.code == 0, ended
    verified = pods.run(Task(Verb.VERIFY, "v", source=target, expected_id=task.id))
    assert (verified.code, verified.result.manifest) == (0, ended.result.manifest), verified
    deleted = pods.run(Task(Verb.DELETE, "d", target=target, expected_id=task.id))
    assert deleted.code == 0, deleted


def _kill_in(process: "subprocess.Popen[str]", step: Step) -> None:
    """Kill a program as soon as it reports a step."""
    with process:
        assert process.stdout
        begun = any(result_from_json(line).step == step for line in process.stdout)
        process.kill()
        assert begun


def test_a_location_of_type_minio_is_for_the_database_to_take(
    running: Database, server: ObjectStore, pods: Pods
) -> None:
    """1.3 takes it; the others say how the server answered, and the program what became of it."""
    target = bucket(server, "backups/of-type-minio")
    login = Login("127.0.0.1", running.port)
    refusal = refusal_of_minio(running, server)

    ended = pods.run(Task(Verb.BACKUP, "minio", login=login, target=target))

    assert refusal in {"", "Access Denied."}
    expected = (1, Reason.STATEMENT_FAILED) if refusal else (0, "")
    assert (ended.code, ended.result.reason or "") == expected, ended


def test_what_the_database_refuses(running: Database, server: ObjectStore, tmp_path: Path) -> None:
    """Wrong password; a target that only the program can write to; no database."""
    wrong = Pods(tmp_path / "pods", keys_of(server), {"username": USER, "password": "no-password"})
    target = bucket(server, "backups/refused")
    login = Login("127.0.0.1", running.port)
    ended = wrong.run(Task(Verb.BACKUP, "b", login=login, target=target))
    assert (ended.code, ended.result.reason) == (1, Reason.LOGIN_FAILED), ended
    right = Pods(tmp_path / "more", keys_of(server), {"username": USER, "password": PASSWORD})
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where the database would make a folder")
    place = FolderLocation(str(tmp_path / "seen"), str(blocked / "backup"))
    ended = right.run(Task(Verb.BACKUP, "b", login=login, target=place))
    assert (ended.code, ended.result.reason) == (1, Reason.STATEMENT_FAILED), ended
    running.stop()
    gone = wrong.run(Task(Verb.BACKUP, "b", login=login, target=target))
    assert (gone.code, gone.result.reason) == (1, Reason.UNREACHABLE), gone
