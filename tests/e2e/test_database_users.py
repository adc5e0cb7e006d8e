# SPDX-License-Identifier: Apache-2.0
"""SQL users as resources, in a real database: what they may do, and what becomes of them."""

import base64
import json
from collections.abc import Iterator
from functools import partial
from typing import Any
from urllib.parse import unquote, urlsplit

import pymysql
import pytest

from testbed.bed import KubectlError, TestBed
from tests.e2e.clusters import Cluster, operated, tiny_cluster
from tests.e2e.database_objects import (
    Rows,
    apply_one,
    as_root,
    await_condition_of,
    look_again_at,
    status_of,
)
from tests.support.waiting import eventually, unchanged

pytestmark = [pytest.mark.node, pytest.mark.scenario, pytest.mark.timeout(1500)]

Json = dict[str, Any]
READER = "matrixorigin_user_reader"


@pytest.fixture(scope="module")
def cluster(real_testbed: TestBed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster with a database ``shop``."""
    folder = tmp_path_factory.mktemp("operator")
    with operated(real_testbed, folder, tiny_cluster(), "users") as made:
        as_root(
            made,
            "create database shop",
            "create table shop.goods (number int)",
            "insert into shop.goods values (1)",
        )
        yield made


def log_in(cluster: Cluster, user: str, password: str, *statements: str) -> Rows:
    """Run statements as a user; return the rows of the last one."""
    entrance = {**cluster.entrance, "user": user, "password": password}
    found = pymysql.connect(**entrance, connect_timeout=15, read_timeout=30, autocommit=True)
    with found as session, session.cursor() as cursor:
        for one in ("select 1", *statements):
            cursor.execute(one)
        return tuple(cursor.fetchall())


def apply(cluster: Cluster, resource: str, *privileges: tuple[str, list[str]], **spec: Any) -> None:
    """Apply a DatabaseUser of the cluster."""
    listed = [{"target": at, "grant": grant} for at, grant in privileges]
    apply_one("DatabaseUser", cluster, resource, privileges=listed, **spec)


status = partial(status_of, "databaseuser")
await_condition = partial(await_condition_of, "databaseuser")
look_again = partial(look_again_at, "databaseuser")


def password_in(cluster: Cluster, secret: str) -> str:
    return base64.b64decode(cluster.get("secret", secret)["data"]["password"]).decode()


def give(cluster: Cluster, secret: str, password: str) -> None:
    """Put a password into a Secret of that name."""
    data = {"password": base64.b64encode(password.encode()).decode()}
    manifest = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": secret}, "data": data}
    cluster.kubectl("apply", "-f", "-", input=json.dumps(manifest))


def test_a_user_may_do_what_is_listed_and_nothing_else(cluster: Cluster) -> None:
    apply(cluster, "reader", ("shop.*", ["Select", "ShowTables"]), ("*.*", ["ShowDatabases"]))
    await_condition(cluster, "reader", "Ready", "True", "LoginAccepted")
    await_condition(cluster, "reader", "Synced", "True", "Applied")
    password = password_in(cluster, "reader-user")

    found = log_in(cluster, "reader", password, "use shop", "show tables", "select * from goods")
    assert found == ((1,),)
    for refused in ("insert into shop.goods values (2)", "create database other"):
        with pytest.raises(pymysql.MySQLError, match="privilege"):
            log_in(cluster, "reader", password, refused)
    shown = status(cluster, "reader")
    assert shown["granted"] == ["*.*: ShowDatabases", "shop.*: Select, ShowTables"]
    assert (shown["role"], shown["secretRef"]) == (READER, {"name": "reader-user"})

    apply(cluster, "reader", ("shop.goods", ["Select", "Insert"]))
    await_condition(cluster, "reader", "Synced", "True", "Applied")
    log_in(cluster, "reader", password, "insert into shop.goods values (2)")
    assert password_in(cluster, "reader-user") == password
    text = json.dumps([cluster.operator.artifacts(), cluster.operator.log.read_text()])
    assert password not in text


def test_applications_connect_as_such_a_user(cluster: Cluster) -> None:
    """The Secret of a user is one from which the cluster writes how to connect."""
    change = {"spec": {"connectionSecret": {"userSecretRef": {"name": "reader-user"}}}}
    cluster.patch("mo", "mo", change)

    found = eventually(lambda: told(cluster, "mo-connection"), 60, "the Secret mo-connection")
    assert found["username"] == "reader"
    log_in(cluster, found["username"], found["password"])


def told(cluster: Cluster, secret: str) -> Json:
    """Return what applications read in a Secret; empty if there is none."""
    found = {one["metadata"]["name"]: one for one in cluster.get("secrets")["items"]}
    data = found.get(secret, {}).get("data") or {}
    return {key: base64.b64decode(value).decode() for key, value in data.items()}


def test_a_user_has_a_secret_for_its_applications(cluster: Cluster) -> None:
    """It follows the password, comes back when somebody deletes it, and goes when asked to."""
    name = "teller-user-connection"
    apply(cluster, "teller", ("shop.*", ["Select"]), connectionSecret={"database": "shop"})
    await_condition(cluster, "teller", "Synced", "True", "Applied")
    assert status(cluster, "teller")["binding"] == {"name": name}
    first = told(cluster, name)
    assert (first["username"], first["database"], first["port"]) == ("teller", "shop", "6001")
    uri = urlsplit(first["uri"])
    assert uri.hostname == first["host"]
    password = unquote(uri.password or "")
    log_in(cluster, "teller", password, f"use {uri.path.strip('/')}", "select * from goods")

    cluster.kubectl("delete", "secret", name)
    eventually(lambda: told(cluster, name) == first, 90, "the same Secret again")

    give(cluster, "teller-user", "Another-Secret-2026-shop")
    eventually(lambda: told(cluster, name)["password"] != first["password"], 120, "the password")
    log_in(cluster, "teller", told(cluster, name)["password"])

    apply(cluster, "teller", ("shop.*", ["Select"]))
    eventually(lambda: not told(cluster, name), 90, "no Secret")
    await_condition(cluster, "teller", "Synced", "True", "Applied")
    assert "binding" not in status(cluster, "teller")


def test_a_user_of_a_cluster_that_sleeps_waits_for_it(cluster: Cluster) -> None:
    """Nothing is undone meanwhile, and what changed is done when it wakes."""
    cluster.patch("mo", "mo", {"spec": {"hibernation": {"asleep": True, "scope": "Compute"}}})
    await_condition(cluster, "reader", "Ready", "False", "DependencyNotReady")
    assert cluster.condition("databaseuser", "reader", "Synced")["status"] == "True"
    apply(cluster, "reader", ("shop.*", ["Select", "Delete"]))
    await_condition(cluster, "reader", "Synced", "False", "DependencyNotReady")
    cluster.patch("mo", "mo", {"spec": {"hibernation": {"asleep": False}}})
    await_condition(cluster, "reader", "Ready", "True", "LoginAccepted")
    assert status(cluster, "reader")["granted"] == ["shop.*: Delete, Select"]


def test_what_was_granted_by_hand_is_revoked_and_other_roles_stay(cluster: Cluster) -> None:
    apply(cluster, "reader", ("shop.*", ["Select"]))
    await_condition(cluster, "reader", "Synced", "True", "Applied")
    as_root(
        cluster,
        f"grant insert, delete on table shop.* to {READER}",
        f"revoke select on table shop.* from {READER}",  # noqa: S608 - a constant
        "create role if not exists extra",
        "grant extra to reader",
    )
    look_again(cluster, "reader")

    def privileges() -> set[str]:
        rows = as_root(cluster, "select role_name, privilege_name from mo_catalog.mo_role_privs")
        return {str(privilege) for role, privilege in rows if role == READER}

    eventually(lambda: privileges() == {"connect", "select"}, 60, "drift", otherwise=privileges)
    granted = as_root(
        cluster,
        "select count(*) from mo_catalog.mo_user_grant g join mo_catalog.mo_role r"
        " on g.role_id = r.role_id where r.role_name = 'extra'",
    )
    assert granted == ((1,),)


def test_nobody_logs_in_while_nothing_changes(cluster: Cluster) -> None:
    """The state stays, and no pass asks the database before the period is over."""
    apply(cluster, "reader", ("shop.*", ["Select"]))
    await_condition(cluster, "reader", "Synced", "True", "Applied")
    before = status(cluster, "reader")
    cluster.kubectl("annotate", "--overwrite", "databaseuser", "reader", "any=thing")
    assert unchanged(lambda: status(cluster, "reader"), 10) == before


def test_a_user_gets_the_password_of_its_secret(cluster: Cluster) -> None:
    first, second = 'it\'s "First" 1 \\ %s', "Second-2"
    give(cluster, "writer-password", first)
    secret = {"passwordSecretRef": {"name": "writer-password"}}
    apply(cluster, "my-writer", ("shop.*", ["Insert", "CreateTable"]), **secret)
    await_condition(cluster, "my-writer", "Ready", "True", "LoginAccepted")
    log_in(cluster, "my-writer", first, "create table shop.mine (number int)")

    version = status(cluster, "my-writer")["secretVersion"]
    give(cluster, "writer-password", second)
    eventually(lambda: status(cluster, "my-writer")["secretVersion"] != version, 90, "password")
    # The rows of a table that the user has created are its own, whatever is listed.
    log_in(
        cluster, "my-writer", second, "insert into shop.mine values (1)", "select * from shop.mine"
    )
    with pytest.raises(pymysql.MySQLError):
        log_in(cluster, "my-writer", first)


def test_a_database_is_waited_for(cluster: Cluster) -> None:
    apply(cluster, "early", ("later.*", ["Select"]), ("shop.*", ["Select"]))
    found = await_condition(cluster, "early", "Synced", "False", "DatabaseMissing")
    assert "later.*" in found["message"]
    await_condition(cluster, "early", "Ready", "True", "LoginAccepted")
    as_root(cluster, "create database later")
    await_condition(cluster, "early", "Synced", "True", "Applied")


def test_a_user_of_somebody_else_is_taken_over_only_on_demand(cluster: Cluster) -> None:
    as_root(
        cluster,
        "create user theirs identified by 'Theirs-1'",
        "create role if not exists reports",
        "grant reports to theirs",
    )
    apply(cluster, "theirs", ("shop.*", ["Select"]))
    await_condition(cluster, "theirs", "Synced", "False", "UserExists")
    log_in(cluster, "theirs", "Theirs-1")

    apply(cluster, "theirs", ("shop.*", ["Select"]), adopt=True)
    await_condition(cluster, "theirs", "Synced", "True", "Applied")
    password = password_in(cluster, "theirs-user")
    log_in(cluster, "theirs", password, "select * from shop.goods", "set role reports")


def test_the_older_one_of_two_resources_counts(cluster: Cluster) -> None:
    apply(cluster, "first", name="both")
    await_condition(cluster, "first", "Ready", "True", "LoginAccepted")
    apply(cluster, "second", name="both", deletionPolicy="Delete")
    found = await_condition(cluster, "second", "Ready", "False", "NameTaken")
    assert "DatabaseUser first" in found["message"]
    cluster.kubectl("delete", "databaseuser", "second", "--timeout=60s")
    log_in(cluster, "both", password_in(cluster, "first-user"))


def test_what_is_no_user_is_refused(cluster: Cluster) -> None:
    for spec in ({"name": "root"}, {"name": "a`b"}, {"name": "Upper"}):
        with pytest.raises(KubectlError, match="name"):
            apply(cluster, "refused", **spec)
    for at, grant in (("shop.*", "All"), ("mo_catalog.*", "Insert"), ("shop.t; drop", "Select")):
        with pytest.raises(KubectlError, match="privileges"):
            apply(cluster, "refused", (at, [grant]))


def test_a_deleted_resource_takes_its_user_along_if_that_is_asked_for(cluster: Cluster) -> None:
    def users() -> set[str]:
        return {str(row[0]) for row in as_root(cluster, "select user_name from mo_catalog.mo_user")}

    apply(cluster, "kept")
    apply(cluster, "gone", deletionPolicy="Delete")
    for name in ("kept", "gone"):
        await_condition(cluster, name, "Ready", "True", "LoginAccepted")
    password = password_in(cluster, "kept-user")
    cluster.kubectl("delete", "databaseuser", "kept", "gone", "--timeout=90s")
    assert users() & {"kept", "gone"} == {"kept"}
    log_in(cluster, "kept", password)
    roles = as_root(cluster, "select role_name from mo_catalog.mo_role")
    assert ("matrixorigin_user_gone",) not in roles

    # The user is recognized by its role, and its Secret is there.
    apply(cluster, "kept", deletionPolicy="Delete")
    await_condition(cluster, "kept", "Ready", "True", "LoginAccepted")
    log_in(cluster, "kept", password)
    cluster.kubectl("delete", "databaseuser", "kept", "--timeout=90s")
    assert "kept" not in users()

    def secrets() -> set[str]:
        return {one["metadata"]["name"] for one in cluster.get("secrets")["items"]}

    eventually(lambda: not {"kept-user", "gone-user"} & secrets(), 60, "end of the Secrets")


def test_a_user_does_not_outlast_its_cluster(cluster: Cluster) -> None:
    """It is the last test: the cluster goes."""
    apply(cluster, "last", deletionPolicy="Delete")
    await_condition(cluster, "last", "Ready", "True", "LoginAccepted")
    cluster.kubectl("delete", "mo", "mo", "--timeout=240s")
    await_condition(cluster, "last", "Ready", "False", "DependencyNotReady")
    gone = "MatrixOneCluster mo does not exist"
    eventually(lambda: status(cluster, "last").get("message") == gone, 60, gone)
    cluster.kubectl("delete", "databaseuser", "last", "--timeout=60s")
