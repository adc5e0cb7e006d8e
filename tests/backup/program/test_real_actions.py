# SPDX-License-Identifier: Apache-2.0
"""The actions backup, restore, backup_info and read_back in plays, on a real database."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.task.tasks import (
    PERMANENT,
    Login,
    Reason,
    Task,
    Verb,
)

from testbed.object_store import ObjectStore
from tests.docs import pages
from tests.support import places
from tests.support.plays import Played, play

from .database import PASSWORD, USER, Database, Storage, database, type_for
from .plays import played, s3
from .pods import Pods, keys_of

pytestmark = [pytest.mark.rpc, pytest.mark.timeout(900)]


_OF_THE_PAGE = ("backups.yml", "restore.yml", "read-back.yml")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    root = tmp_path_factory.mktemp("database")
    with database(root / "processes", Storage(folder=root / "shared")) as made:
        made.run("create database d")
        made.run("create table d.t (n int primary key)")
        made.run("insert into d.t values (1), (2)")
        yield made


@pytest.fixture(scope="module")
def kind(source: Database, server: ObjectStore) -> str:
    """The type of location under which this MatrixOne backs up to the server."""
    return type_for(source, server)


def read_back_of(restored: Database, folder: Path) -> None:
    """Read a database whole; then one in which a name is strange, and answers that differ."""
    login = {"login_host": "127.0.0.1", "login_port": restored.port}
    login |= {"login_user": USER, "login_password": PASSWORD}
    restored.run("create table d.`we``ird %s` (`co``l %%` int, `select` json)")
    expected = {"sql": "select n from d.t where n < 3 order by n", "rows": [[1], ["2"]]}
    wrong = [
        {"name": "too many", "sql": "select count(*) from d.t", "rows": [[4]]},
        {"name": "no such table", "sql": "select * from d.missing"},
        {"sql": "select 'a' like 'a%'", "rows": [[True]]},
    ]
    came = played(
        folder,
        {
            "good": {"read_back": {**login, "checks": [expected]}},
            "wrong": {"read_back": {**login, "checks": wrong}},
            "closed": {"read_back": {**login, "login_password": "a-wrong-one"}},
            "gone": {"read_back": {**login, "login_port": 1}},
        },
        PASSWORD,
    )
    good = came["good"]
    assert not good["failed"], good
    assert (good["changed"], good["problems"]) == (False, [])
    assert good["tables"] > 20
    assert good["rows"] > 100
    first, second = came["wrong"]["problems"]
    assert first == "check too many: (3) instead of (4)"
    assert second.startswith("check no such table: SQL at 127.0.0.1")
    assert came["closed"]["reason"] == "LoginFailed"
    assert came["gone"]["reason"] == "Unreachable"


def test_an_object_that_is_lost_is_found_by_reading(
    server: ObjectStore, kind: str, source: Database, tmp_path: Path
) -> None:
    """The database starts without it, and counts its rows; only their values are missing."""
    source.run("create table if not exists d.large (n int primary key, x varchar(500))")
    for first in range(0, 24_000, 8_000):
        rows = ",".join(f"({n}, '{'y' * 300}')" for n in range(first, first + 8_000))
        source.run(f"insert into d.large values {rows}")  # noqa: S608
    source.run("select mo_ctl('dn', 'flush', 'd.large')")
    login = {"login_host": "127.0.0.1", "login_port": source.port}
    login |= {"login_user": USER, "login_password": PASSWORD}
    address = f"backups/{tmp_path.name}"
    folder = {"file_system": {"path": str(tmp_path / "restored")}}
    came = played(
        tmp_path,
        {
            "made": {"backup": {**login, "target": s3(server, address, type=kind)}},
            "restored": {"restore": {"source": s3(server, address, type=kind), "target": folder}},
        },
    )
    assert came["restored"]["changed"], came
    objects = [one for one in (tmp_path / "restored").rglob("*_0000*") if one.is_file()]
    max(objects, key=lambda one: one.stat().st_size).unlink()
    storage = Storage(folder=tmp_path / "restored")
    with database(tmp_path / "processes", storage, restore=True) as restored:
        login["login_port"] = restored.port
        found = played(tmp_path, {"lost": {"read_back": login}})["lost"]
        pods = Pods(tmp_path / "pods", keys_of(server), {"username": USER, "password": PASSWORD})
        read = pods.run(Task(Verb.READ, "r", login=Login("127.0.0.1", restored.port)))
    assert found["failed"]
    assert [one.partition(" cannot be read")[0] for one in found["problems"]] == ["table d.large"]
    assert (read.code, read.result.reason) == (PERMANENT, Reason.TABLE_UNREADABLE)
    assert read.result.message.startswith("table d.large cannot be read")
    assert read.result.reading
    assert read.result.reading.tables == found["tables"] > 20


def test_a_database_is_backed_up_and_comes_back(
    server: ObjectStore, kind: str, source: Database, tmp_path: Path
) -> None:
    root = f"backups/{tmp_path.name}"
    login = {
        "login_host": "127.0.0.1",
        "login_port": source.port,
        "login_user": USER,
        "login_password": PASSWORD,
        "source": {"kind": "MatrixOneCluster", "namespace": "shop", "name": "mo"},
    }
    full = {"backup": {**login, "target": s3(server, f"{root}/full", type=kind)}}
    own = s3(server, f"{root}/inside/data", type=kind)
    refused = {**login, "target": s3(server, f"{root}/inside", type=kind), "storage": own}
    wrong = {
        **login,
        "login_password": "a-wrong-one",
        "target": s3(server, f"{root}/wrong", type=kind),
    }
    tasks = {"full": full, "inside": {"backup": refused}, "wrong": {"backup": wrong}}
    checked = played(tmp_path, tasks, server.secret_key, PASSWORD, check=True)
    assert (checked["full"]["changed"], checked["full"]["diff"]["after"]["type"]) == (True, "full")
    assert checked["inside"]["reason"] == "TargetIsSource"
    assert checked["wrong"]["reason"] == "LoginFailed"
    assert not list((server.folder / "backups").glob(f"{tmp_path.name}/**/*.json"))

    made = played(tmp_path, tasks, server.secret_key, PASSWORD)
    assert made["full"]["changed"]
    record = made["full"]["backup"]
    assert (record["type"], record["source"]["name"]) == ("full", "mo")
    assert made["full"]["diff"]["after"] == record

    source.run("insert into d.t values (3)")
    folder = {"file_system": {"path": str(tmp_path / "restored")}}
    more = played(
        tmp_path,
        {
            "full": {"backup": {**full["backup"], "verify": True}},
            "more": {
                "backup": {
                    **login,
                    "target": s3(server, f"{root}/more", type=kind),
                    "base": f"{root}/full",
                }
            },
            "listed": {"backup_info": {"location": s3(server, root, type=kind)}},
            "restored": {
                "restore": {"source": s3(server, f"{root}/more", type=kind), "target": folder}
            },
        },
        server.secret_key,
        PASSWORD,
    )
    assert (more["full"]["changed"], more["full"]["backup"]) == (False, record)
    assert (more["more"]["changed"], more["more"]["backup"]["type"]) == (True, "incremental")
    assert [one["path"] for one in more["listed"]["backups"]] == [f"{root}/full", f"{root}/more"]
    assert more["restored"]["id"] == more["more"]["backup"]["id"]
    storage = Storage(folder=tmp_path / "restored")
    with database(tmp_path / "processes", storage, restore=True) as restored:
        assert restored.run("select n from d.t order by n") == [(1,), (2,), (3,)]
        read_back_of(restored, tmp_path)

    damaged = next((server.folder / "backups" / tmp_path.name / "full" / "tae").glob("*"))
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"?")
    broken = played(tmp_path, {"full": {"backup": {**full["backup"], "verify": True}}})
    assert broken["full"]["reason"] in ("ObjectCorrupt", "ObjectMissing")


def test_the_playbooks_of_the_page(
    server: ObjectStore, kind: str, source: Database, tmp_path: Path
) -> None:
    """The page's own files: a full backup, one of the day on it, the same day again, a restore."""
    page = pages.read(places.ROOT / "docs" / "playbooks.md")
    for step in page.steps:
        if isinstance(step, pages.File) and step.name in _OF_THE_PAGE:
            (tmp_path / step.name).write_text(step.content)
    server.make_bucket("databases")
    secrets = tmp_path / "secrets.json"
    store = {**s3(server, "", type=kind)["s3"]}
    del store["path"]
    login = {"login_host": "127.0.0.1", "login_port": source.port}
    login |= {"login_user": USER, "login_password": PASSWORD}
    secrets.write_text(json.dumps({"store": store, "login": login}))

    def run(name: str, *more: str) -> Played:
        options = ("-e", f"@{secrets}", "-e", "day=2026-11-22", *more)
        came = play(name, tmp_path / "no-cluster", tmp_path / "home", *options)
        assert came.code == 0, came.output
        return came

    backups = str(tmp_path / "backups.yml")
    assert run(backups).counts["changed"] == 2
    assert run(backups).counts["changed"] == 0
    assert run(str(tmp_path / "restore.yml"), "--check").counts["changed"] == 1
    assert run(str(tmp_path / "restore.yml")).counts["changed"] == 1
    assert (server.folder / "databases" / "restored" / "hk_data").exists()

    source.run("create database shop")
    source.run("create table shop.orders (id int primary key)")
    source.run("insert into shop.orders values (1), (2), (3)")
    of_source = ("-e", "restored_host=127.0.0.1", "-e", f"restored_port={source.port}")
    assert run(str(tmp_path / "read-back.yml"), *of_source).counts["changed"] == 0

    options = tmp_path / "options.json"
    place = {"location": {"s3": {**store, "path": "backups/mo"}}}
    options.write_text(json.dumps(place))
    assert "backups/mo/2026-11-22" in run("backups", "-e", f"@{options}").output
    options.write_text(json.dumps({"target": {"s3": {**store, "path": "backups/mo/full"}}}))
    deleted = ("-e", f"@{options}", "-e", "state=absent")
    came = play("backup", tmp_path / "no-cluster", tmp_path / "home", *deleted)
    assert (came.code, "ChainBroken" in came.output) == (2, True), came.output
    options.write_text(json.dumps({"target": {"s3": {**store, "path": "backups/mo/2026-11-22"}}}))
    assert run("backup", *deleted).counts["changed"] == 1
    assert not (server.folder / "backups" / "mo" / "2026-11-22" / "tae").exists()
