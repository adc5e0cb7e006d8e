# SPDX-License-Identifier: Apache-2.0
"""The actions snapshot and pitr, and the playbooks of the page, on a real database."""

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients import sql
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.snapshot import ranges

from tests.backup.program.database import PASSWORD, USER, Database, Storage, database
from tests.backup.program.plays import played
from tests.docs import pages
from tests.support.places import ROOT
from tests.support.plays import Played, play

pytestmark = [pytest.mark.rpc, pytest.mark.timeout(900)]

Json = dict[str, Any]
TENANT = {"login_user": "a1:boss", "login_password": "of-the-tenant"}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    root = tmp_path_factory.mktemp("database")
    with database(root / "processes", Storage(folder=root / "shared")) as made:
        made.run("create account a1 admin_name 'boss' identified by 'of-the-tenant'")
        yield made


@pytest.fixture
def shop(source: Database) -> Iterator[Database]:
    """A database ``shop`` with two tables of three rows."""
    source.run("create database shop")
    for table in ("orders", "customers"):
        source.run(f"create table shop.{table} (n int primary key)")
        source.run(f"insert into shop.{table} values (1), (2), (3)")  # noqa: S608
    yield source
    source.run("drop database if exists shop")


def login(source: Database, **more: Any) -> Json:
    where = {"login_host": "127.0.0.1", "login_port": source.port}
    return {**where, "login_user": USER, "login_password": PASSWORD, **more}


def rows(source: Database, table: str) -> list[int]:
    return [row[0] for row in source.run(f"select n from shop.{table} order by n")]  # noqa: S608


def test_a_snapshot_is_taken_restored_in_parts_and_dropped(shop: Database, tmp_path: Path) -> None:
    of = login(shop, name="before")
    parts = {"database": "shop"}
    checked = played(
        tmp_path,
        {
            "taken": {"snapshot": of},
            "absent": {"snapshot": {**of, "state": "restored", **parts}},
        },
        PASSWORD,
        check=True,
    )
    assert (checked["taken"]["changed"], checked["taken"]["snapshot"]) == (True, {})
    assert checked["absent"]["reason"] == "NotThere"
    assert shop.run("select count(*) from mo_catalog.mo_snapshots") == [(0,)]

    begun = datetime.now(UTC)
    taken = played(
        tmp_path,
        {
            "taken": {"snapshot": of},
            "again": {"snapshot": of},
            "wider": {"snapshot": {**of, "cluster": True}},
        },
        PASSWORD,
    )
    found = taken["taken"]["snapshot"]
    assert (taken["taken"]["changed"], found["level"], found["account"]) == (True, "account", "sys")
    assert abs(datetime.fromisoformat(found["taken_at"]) - begun) < timedelta(seconds=60)
    assert (taken["again"]["changed"], taken["again"]["snapshot"]) == (False, found)
    assert taken["wider"]["reason"] == "Different"

    shop.run("delete from shop.orders where n > 1")
    shop.run("delete from shop.customers")
    shop.run("create table shop.later (n int primary key)")
    one = {**of, "state": "restored", **parts, "table": "orders"}
    played(tmp_path, {"checked": {"snapshot": one}}, PASSWORD, check=True)
    assert (rows(shop, "orders"), rows(shop, "customers")) == ([1], [])
    came = played(
        tmp_path,
        {
            "table": {"snapshot": one},
            "later": {"snapshot": {**one, "table": "later"}},
            "none": {"snapshot": {**of, "state": "restored", "database": "none"}},
            "tenant": {"snapshot": {**of, "state": "restored", "account": "a1"}},
        },
        PASSWORD,
    )
    assert (came["table"]["changed"], came["table"]["snapshot"]) == (True, found)
    assert (rows(shop, "orders"), rows(shop, "customers")) == ([1, 2, 3], [])
    assert (came["later"]["reason"], came["none"]["reason"]) == ("NotThere", "NotThere")
    assert came["tenant"]["reason"] == "Different"
    assert shop.run("show tables from shop like 'later'")

    whole = {"snapshot": {**of, "state": "restored", **parts}}
    dropped = {"snapshot": {**of, "state": "absent"}}
    came = played(tmp_path, {"whole": whole, "dropped": dropped, "again": dropped}, PASSWORD)
    assert came["whole"]["changed"]
    assert (rows(shop, "orders"), rows(shop, "customers")) == ([1, 2, 3], [1, 2, 3])
    assert not shop.run("show tables from shop like 'later'")
    assert (came["dropped"]["changed"], came["dropped"]["snapshot"]) == (True, found)
    assert (came["again"]["changed"], came["again"]["snapshot"]) == (False, {})


def test_a_moment_is_restored(shop: Database, tmp_path: Path) -> None:
    of = login(shop, name="day", keep=1, unit="days")
    created = played(
        tmp_path,
        {
            "created": {"pitr": of},
            "again": {"pitr": of},
            "other": {"pitr": {**of, "name": "other"}},
        },
        PASSWORD,
    )
    found = created["created"]["pitr"]
    assert (created["created"]["changed"], found["level"], found["unit"]) == (
        True,
        "account",
        "days",
    )
    assert (created["again"]["changed"], created["again"]["pitr"]) == (False, found)
    assert created["other"]["reason"] == "StatementFailed"
    assert "already has a pitr" in created["other"]["msg"]

    time.sleep(2)
    moment = shop.run("select utc_timestamp()")[0][0].replace(microsecond=0)
    at = moment.replace(tzinfo=UTC).isoformat()
    time.sleep(2)
    shop.run("delete from shop.orders")
    shop.run("drop table shop.customers")
    restored = {**of, "state": "restored", "database": "shop", "at": at}
    del restored["keep"]
    earlier = datetime.fromisoformat(found["since"]) - timedelta(seconds=5)
    tasks = {
        "before": {"pitr": {**restored, "at": earlier.isoformat()}},
        "none": {"pitr": {**restored, "database": "none"}},
        "restored": {"pitr": restored},
    }
    checked = played(tmp_path, tasks, PASSWORD, check=True)
    assert checked["restored"]["changed"]
    assert rows(shop, "orders") == []
    came = played(tmp_path, tasks, PASSWORD)
    assert came["before"]["reason"] == "OutOfRange"
    assert came["none"]["reason"] == "NotThere"
    assert came["restored"]["changed"], came["restored"]
    assert (rows(shop, "orders"), rows(shop, "customers")) == ([1, 2, 3], [1, 2, 3])

    time.sleep(1.1)  # the database records whole seconds
    changed = played(
        tmp_path,
        {
            "longer": {"pitr": {**of, "keep": 2}},
            "dropped": {"pitr": {**login(shop), "name": "day", "state": "absent"}},
        },
        PASSWORD,
    )
    assert (changed["longer"]["changed"], changed["longer"]["pitr"]["keep"]) == (True, 2)
    assert changed["longer"]["pitr"]["since"] > found["since"]
    assert (changed["dropped"]["changed"], shop.run("show pitr")) == (True, [])


def test_foreign_keys_that_would_be_skipped_without_a_word_are_noticed(
    shop: Database, tmp_path: Path
) -> None:
    """The database leaves a table out, or as it is, and reports success."""
    shop.run("create database refers")
    key = "foreign key (o) references shop.orders(n)"
    shop.run(f"create table refers.items (n int primary key, o int, {key})")
    shop.run("insert into refers.items values (1, 1)")
    of = login(shop, name="keyed")
    back = {**of, "state": "restored"}
    orders, items = {"database": "shop", "table": "orders"}, {"database": "refers"}
    came = played(
        tmp_path, {"taken": {"snapshot": of}, "referred": {"snapshot": {**back, **orders}}}
    )
    assert came["referred"]["reason"] == "Referenced"
    assert "a foreign key of refers.items" in came["referred"]["msg"]
    shop.run("drop table refers.items")
    shop.run("drop table shop.orders")
    came = played(
        tmp_path,
        {
            "early": {"snapshot": {**back, **items}},
            "orders": {"snapshot": {**back, **orders}},
            "items": {"snapshot": {**back, **items}},
            "dropped": {"snapshot": {**of, "state": "absent"}},
        },
    )
    assert came["early"]["reason"] == "ReferenceMissing"
    assert "table orders in database shop" in came["early"]["msg"]
    assert [came[name]["changed"] for name in ("orders", "items", "dropped")] == [True] * 3
    assert rows(shop, "orders") == [1, 2, 3]
    assert shop.run("select * from refers.items") == [(1, 1)]
    shop.run("drop database refers")


def test_a_tenant_restores_what_is_its_own(shop: Database, tmp_path: Path) -> None:
    mine = login(shop, name="mine", **TENANT)
    tasks = {
        "taken": {"snapshot": mine},
        "foreign": {"snapshot": {**mine, "name": "theirs", "account": "sys"}},
        "all": {"snapshot": {**mine, "name": "everything", "cluster": True}},
        "range": {"pitr": {**mine, "keep": 1}},
        "restored": {"snapshot": {**mine, "state": "restored"}},
        "dropped": {"snapshot": {**mine, "state": "absent"}},
        "unkept": {"pitr": {**mine, "state": "absent"}},
    }
    came = played(tmp_path, tasks, PASSWORD, TENANT["login_password"])
    assert came["taken"]["snapshot"]["account"] == "a1"
    assert [came[name]["reason"] for name in ("foreign", "all")] == ["StatementFailed"] * 2
    assert came["range"]["pitr"]["account"] == "a1"
    assert [came[name]["changed"] for name in ("restored", "dropped", "unkept")] == [True] * 3
    assert rows(shop, "orders") == [1, 2, 3]


def test_a_login_that_fails_says_so_and_nothing_secret(shop: Database, tmp_path: Path) -> None:
    of = login(shop, name="before")
    came = played(
        tmp_path,
        {
            "closed": {"snapshot": {**of, "login_password": "a-wrong-one"}},
            "gone": {"pitr": {**of, "keep": 1, "login_port": 1}},
            "name": {"snapshot": {**of, "name": "a`; drop database shop; --"}},
            "part": {"snapshot": {**of, "state": "restored", "database": "x' or '1"}},
        },
        PASSWORD,
        "a-wrong-one",
    )
    reasons = [came[name]["reason"] for name in ("closed", "gone", "name", "part")]
    assert reasons == ["LoginFailed", "Unreachable", "InvalidTask", "InvalidTask"]
    assert rows(shop, "orders") == [1, 2, 3]


def test_the_playbooks_of_the_page(shop: Database, tmp_path: Path) -> None:
    """Take a snapshot, lose rows, get them back; the same with a recovery range."""
    secrets = tmp_path / "login.json"
    secrets.write_text(json.dumps(login(shop)))
    page = pages.read(ROOT / "docs" / "snapshots.md")
    for step in page.steps:
        if isinstance(step, pages.File):
            (tmp_path / step.name).write_text(step.content)

    def run(name: str, *more: str) -> Played:
        options = [part for one in more for part in ("-e", one)]
        came = play(name, tmp_path / "no-cluster", tmp_path / "home", "-e", f"@{secrets}", *options)
        assert came.code == 0, came.output
        assert PASSWORD not in came.output
        return came

    migration = str(tmp_path / "migration.yml")
    assert run(migration).counts["changed"] == 1
    assert run(migration).counts["changed"] == 0
    shop.run("delete from shop.orders")
    restore = ("snapshot=before_migration", "state=restored", "database=shop")
    assert run("snapshot", *restore, "table=orders").counts["changed"] == 1
    assert rows(shop, "orders") == [1, 2, 3]
    assert run("snapshot", "snapshot=before_migration", "state=absent").counts["changed"] == 1

    assert run("pitr", "pitr=week", "keep=7").counts["changed"] == 1
    time.sleep(2)
    at = datetime.now(UTC).isoformat()
    time.sleep(2)
    shop.run("drop database shop")
    assert (
        run("pitr", "pitr=week", "state=restored", f"at={at}", "database=shop").counts["changed"]
        == 1
    )
    assert rows(shop, "orders") == [1, 2, 3]
    assert run("pitr", "pitr=week", "state=absent").counts["changed"] == 1


@pytest.mark.parametrize("zone", ["+08:00", "-08:00"])
def test_a_range_begins_at_the_same_moment_in_every_time_zone(shop: Database, zone: str) -> None:
    """``SHOW PITR`` shows times in the zone of the session, which may be that of the node."""
    shop.run("create pitr recent range 1 'h'")
    entrance = sql.Entrance("127.0.0.1", shop.port, USER, PASSWORD)
    try:
        in_zone = (f"SET time_zone = '{zone}'", ())
        shifted, rows = (
            sql.ask(entrance, ranges.LISTING, 30, first=first)
            for first in ([in_zone], [in_zone, ranges.IN_UTC])
        )
        wrong, right = (ranges.found(one, "recent") for one in (shifted, rows))
        assert right is not None
        assert abs(right.since - datetime.now(UTC)) < timedelta(minutes=5)
        assert wrong is not None
        assert abs(wrong.since - right.since) == timedelta(hours=8)
    finally:
        shop.run("drop pitr recent")
