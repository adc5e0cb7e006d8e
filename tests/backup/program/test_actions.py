# SPDX-License-Identifier: Apache-2.0
"""The actions backup, restore and backup_info in plays, on a real S3 server."""

from pathlib import Path

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.manifest import Base
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.program.stores import (
    Mounts,
)

from testbed.object_store import ObjectStore
from tests.clients.test_sql_tls import database as serving_tls
from tests.clients.test_sql_tls import pem
from tests.support.certificates import Authority

from . import written
from .plays import played, s3
from .pods import bucket, keys_of

pytestmark = [pytest.mark.rpc]

FILES = {"a_00000": b"a" * 3000, "ckp/meta_0": b"checkpoint"}


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
        "listed": {"backup_info": {"location": s3(server, f"backups/{tmp_path.name}")}},
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
    folder, _slash, name = newer.rpartition("/")
    assert f"the backup in {name}/ of {folder} at " in found["kept"]["msg"]
    assert found["kept"]["msg"].endswith(" continues it; delete that one first")
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
            "both": {"backup_info": {"location": {**place, "file_system": {"path": "/a"}}}},
            "neither": {"backup_info": {"location": {}}},
            "half": {"backup_info": {"location": {"s3": {"path": "b/c", "access_key": "half"}}}},
            "path": {"backup_info": {"location": {"file_system": {"path": "not/absolute"}}}},
            "bucket": {"backup_info": {"location": s3(server, "absent/prefix")}},
            "keys": {"backup_info": {"location": s3(server, "backups", access_key="unknown")}},
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
    assert found["path"]["msg"].startswith("location.fileSystem.path: ")
    assert "must be an absolute path" in found["path"]["msg"]
    assert found["bucket"]["reason"] == "TargetMissing"
    assert found["keys"]["reason"] == "AccessDenied"
    assert "login_host" in found["login"]["msg"]
    assert found["token"]["failed"]
    assert found["whole"]["reason"] == "InvalidTask"


def test_a_login_over_tls_goes_to_nobody_else(tmp_path: Path) -> None:
    served, other = Authority().secret(), pem(Authority().secret())
    received = bytearray()
    with serving_tls(tmp_path, served, received) as port:
        login = {
            "login_host": "127.0.0.1",
            "login_port": port,
            "login_user": "dump",
            "login_password": "not-shown",
            "timeout": 10,
        }
        target = {"file_system": {"path": str(tmp_path / "target")}}
        tasks = {
            "backup": {"backup": {"target": target}},
            "read_back": {"read_back": {}},
            "snapshot": {"snapshot": {"name": "before"}},
            "pitr": {"pitr": {"name": "week", "keep": 7, "unit": "days"}},
        }
        given = {**login, "login_certificates": other}
        untrusted = {
            name: {action: {**arguments, **given}}
            for name, task in tasks.items()
            for action, arguments in task.items()
        }
        found = played(tmp_path, untrusted, "not-shown")
        assert received == b""
        trusted = {**login, "login_certificates": pem(served)}
        played(tmp_path, {"snapshot": {"snapshot": {"name": "before", **trusted}}}, "not-shown")
        assert b"dump" in received
    for name, one in found.items():
        assert "is not trusted, or speaks no TLS" in one["msg"], (name, one)
