# SPDX-License-Identifier: Apache-2.0
"""The actions backup, restore and backups in plays, on a real S3 server and a real database."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.manifest import Base
from ansible_collections.matrixorigin.matrixone.plugins.plugin_utils.backup.stores import Mounts

from testbed import object_store
from testbed.object_store import ObjectStore
from tests.docs import pages
from tests.support import places
from tests.support.plays import Played, play

from . import written
from .database import PASSWORD, USER, Database, Storage, database
from .pods import bucket, keys_of

pytestmark = [pytest.mark.rpc, pytest.mark.timeout(900)]

Task = Mapping[str, Any]
_OF_THE_PAGE = ("backups.yml", "restore.yml", "read-back.yml")
FILES = {"a_00000": b"a" * 3000, "ckp/meta_0": b"checkpoint"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStore]:
    with object_store.serving(tmp_path_factory.mktemp("s3")) as server:
        for name in ("backups", "data"):
            server.make_bucket(name)
        yield server


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    root = tmp_path_factory.mktemp("database")
    with database(root / "processes", Storage(folder=root / "shared")) as made:
        made.run("create database d")
        made.run("create table d.t (n int primary key)")
        made.run("insert into d.t values (1), (2)")
        yield made


def s3(server: ObjectStore, path: str, **more: str) -> dict[str, Any]:
    return {
        "s3": {
            "path": path,
            "type": "minio",
            "endpoint": server.endpoint,
            "region": server.region,
            "access_key": server.access_key,
            "secret_key": server.secret_key,
            **more,
        }
    }


def played(
    folder: Path, tasks: Mapping[str, Task], *secrets: str, check: bool = False
) -> dict[str, dict[str, Any]]:
    """Play actions of the collection, each under a name, and return their results.

    A failure does not end the play. No secret may be in what it prints, however much that is.
    """
    results = folder / "results.json"
    steps: list[dict[str, Any]] = []
    for name, task in tasks.items():
        [(action, arguments)] = task.items()
        steps += [
            {
                "name": f"Step {name}",
                f"matrixorigin.matrixone.{action}": arguments,
                "register": f"r_{name}",
                "ignore_errors": True,
            }
        ]
    kept = ", ".join(f"'{name}': r_{name}" for name in tasks)
    steps.append(
        {
            "name": "Keep the results",
            "ansible.builtin.copy": {
                "content": f"{{{{ {{{kept}}} | to_json }}}}",
                "dest": str(results),
                "mode": "0600",
            },
            "check_mode": False,
        }
    )
    head = {"name": "Play", "hosts": "localhost", "gather_facts": False}
    playbook = folder / "play.yml"
    playbook.write_text(yaml.safe_dump([{**head, "connection": "local", "tasks": steps}]))
    options = ["-vvv", "--diff", *(["--check"] if check else [])]
    came: Played = play(str(playbook), folder / "no-cluster", folder / "home", *options)
    assert came.code == 0, came.output
    for secret in secrets:
        assert secret not in came.output
    found: dict[str, dict[str, Any]] = json.loads(results.read_text())
    return found


def test_backups_are_listed_restored_once_and_deleted_in_order(
    server: ObjectStore, tmp_path: Path
) -> None:
    secret = server.secret_key
    folder = tmp_path / "secrets" / "target"
    folder.mkdir(parents=True)
    for key, value in keys_of(server).items():
        (folder / key).write_text(value)
    mounts, base = Mounts(folder.parent), f"backups/{tmp_path.name}/1"
    newer = f"backups/{tmp_path.name}/2"
    first = written.backup(mounts.open(bucket(server, base)), "b1", {"old_00000": b"o" * 50})
    written.backup(
        mounts.open(bucket(server, newer)),
        "b2",
        FILES,
        older={"old_00000": b"o" * 50},
        base=Base(base, "b1"),
    )
    target = {"file_system": {"path": str(tmp_path / "restored")}}
    restore = {"restore": {"source": s3(server, newer), "target": target}}
    delete = {"target": s3(server, newer), "state": "absent"}
    tasks = {
        "listed": {"backups": {"location": s3(server, f"backups/{tmp_path.name}")}},
        "restored": restore,
        "other": {"restore": {"source": s3(server, base), "target": target}},
        "wrong": {"restore": {"source": s3(server, newer), "target": target, "id": "b9"}},
        "missing": {"restore": {"source": s3(server, "backups/none"), "target": target}},
        "kept": {"backup": {**delete, "target": s3(server, base)}},
        "foreign": {"backup": {**delete, "id": "b9"}},
        "deleted": {"backup": delete},
    }
    checked = played(tmp_path, tasks, secret, check=True)
    assert [checked[name]["changed"] for name in ("restored", "deleted")] == [True, True]
    listed = {key: value for key, value in checked["listed"]["backups"][1].items() if key != "path"}
    assert checked["deleted"]["diff"] == {"before": listed, "after": {}}
    assert not (tmp_path / "restored").exists()

    found = played(tmp_path, tasks, secret)
    assert [(one["id"], one["path"]) for one in found["listed"]["backups"]] == [
        ("b1", base),
        ("b2", newer),
    ]
    assert (found["restored"]["changed"], found["restored"]["id"]) == (True, "b2")
    assert found["restored"]["backup"]["base"] == {"path": base, "id": "b1"}
    assert found["other"]["reason"] == "TargetNotEmpty"
    assert found["wrong"]["reason"] == "ObjectCorrupt"
    assert found["missing"]["reason"] == "ObjectMissing"
    assert found["kept"]["reason"] == "ChainBroken"
    assert f"{newer} continues it" in found["kept"]["msg"]
    assert found["foreign"]["reason"] == "TargetNotEmpty"
    assert (found["deleted"]["changed"], found["deleted"]["backup"]["id"]) == (True, "b2")

    again = played(tmp_path, {**tasks, "last": tasks["kept"]}, secret)
    assert [one["id"] for one in again["listed"]["backups"]] == [first.id]
    assert (again["restored"]["changed"], again["restored"]["id"]) == (False, "b2")
    assert [again[name]["changed"] for name in ("deleted", "kept", "last")] == [False, True, False]


def test_what_is_refused(server: ObjectStore, tmp_path: Path) -> None:
    place = s3(server, "backups/refused")
    found = played(
        tmp_path,
        {
            "both": {"backups": {"location": {**place, "file_system": {"path": "/a"}}}},
            "neither": {"backups": {"location": {}}},
            "half": {"backups": {"location": {"s3": {"path": "b/c", "access_key": "half"}}}},
            "path": {"backups": {"location": {"file_system": {"path": "not/absolute"}}}},
            "bucket": {"backups": {"location": s3(server, "absent/prefix")}},
            "keys": {"backups": {"location": s3(server, "backups", access_key="unknown")}},
            "login": {"backup": {"target": place}},
            "token": {
                "backup": {
                    "target": s3(server, "backups/refused", session_token="of-an-hour"),
                    "login_host": "127.0.0.1",
                    "login_port": 1,
                    "login_user": "dump",
                    "login_password": "not-shown",
                }
            },
            "whole": {"backup": {"target": s3(server, "backups"), "state": "absent"}},
        },
        server.secret_key,
        "not-shown",
        "of-an-hour",
    )
    assert all(one["failed"] for one in found.values())
    assert "mutually exclusive" in found["both"]["msg"]
    assert "one of the following is required" in found["neither"]["msg"]
    assert "secret_key" in found["half"]["msg"]
    assert found["path"]["msg"].startswith("location.fileSystem.path: must be an absolute path")
    assert found["bucket"]["reason"] == "TargetMissing"
    assert found["keys"]["reason"] == "AccessDenied"
    assert "login_host" in found["login"]["msg"]
    assert found["token"]["failed"]
    assert found["whole"]["reason"] == "InvalidTask"


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
    server: ObjectStore, source: Database, tmp_path: Path
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
            "made": {"backup": {**login, "target": s3(server, address)}},
            "restored": {"restore": {"source": s3(server, address), "target": folder}},
        },
    )
    assert came["restored"]["changed"], came
    objects = [one for one in (tmp_path / "restored").rglob("*_0000*") if one.is_file()]
    max(objects, key=lambda one: one.stat().st_size).unlink()
    storage = Storage(folder=tmp_path / "restored")
    with database(tmp_path / "processes", storage, restore=True) as restored:
        login["login_port"] = restored.port
        found = played(tmp_path, {"lost": {"read_back": login}})["lost"]
    assert found["failed"]
    assert [one.partition(" cannot be read")[0] for one in found["problems"]] == ["table d.large"]


def test_a_database_is_backed_up_and_comes_back(
    server: ObjectStore, source: Database, tmp_path: Path
) -> None:
    root = f"backups/{tmp_path.name}"
    login = {
        "login_host": "127.0.0.1",
        "login_port": source.port,
        "login_user": USER,
        "login_password": PASSWORD,
        "source": {"kind": "MatrixOneCluster", "namespace": "shop", "name": "mo"},
    }
    full = {"backup": {**login, "target": s3(server, f"{root}/full")}}
    own = s3(server, f"{root}/inside/data")
    refused = {**login, "target": s3(server, f"{root}/inside"), "storage": own}
    wrong = {**login, "login_password": "a-wrong-one", "target": s3(server, f"{root}/wrong")}
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
                "backup": {**login, "target": s3(server, f"{root}/more"), "base": f"{root}/full"}
            },
            "listed": {"backups": {"location": s3(server, root)}},
            "restored": {"restore": {"source": s3(server, f"{root}/more"), "target": folder}},
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


def test_the_playbooks_of_the_page(server: ObjectStore, source: Database, tmp_path: Path) -> None:
    """The page's own files: a full backup, one of the day on it, the same day again, a restore."""
    page = pages.read(places.ROOT / "docs" / "playbooks.md")
    for step in page.steps:
        if isinstance(step, pages.File) and step.name in _OF_THE_PAGE:
            (tmp_path / step.name).write_text(step.content)
    server.make_bucket("databases")
    secrets = tmp_path / "secrets.json"
    store = {**s3(server, "")["s3"]}
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
