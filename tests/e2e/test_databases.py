# SPDX-License-Identifier: Apache-2.0
"""Databases as resources, in a real one: created once, never replaced, dropped only if the same."""

from collections.abc import Iterator
from functools import partial

import pytest

from testbed.bed import TestBed
from tests.e2e.clusters import Cluster, operated, tiny_cluster
from tests.e2e.database_objects import (
    apply_one,
    as_root,
    await_condition_of,
    look_again_at,
    status_of,
)
from tests.support.waiting import eventually

pytestmark = [pytest.mark.node, pytest.mark.scenario, pytest.mark.timeout(1500)]

apply = partial(apply_one, "Database")
status = partial(status_of, "database")
await_condition = partial(await_condition_of, "database")
look_again = partial(look_again_at, "database")


@pytest.fixture(scope="module")
def cluster(real_testbed: TestBed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("operator")
    with operated(real_testbed, folder, tiny_cluster(), "databases") as made:
        yield made


def number(cluster: Cluster, name: str) -> str:
    """Return the number of a database; empty if it is not there."""
    rows = as_root(cluster, "select datname, dat_id from mo_catalog.mo_database")
    return {str(database): str(found) for database, found in rows}.get(name, "")


def delete(cluster: Cluster, name: str) -> None:
    cluster.kubectl("delete", "database", name, "--timeout=120s")


def events(cluster: Cluster, name: str) -> set[str]:
    """Return the reasons of Events about a resource."""
    chosen = f"--field-selector=involvedObject.name={name},involvedObject.kind=Database"
    return {one["reason"] for one in cluster.get("events", chosen)["items"]}


def test_a_database_is_created_used_by_a_user_and_outlives_its_resource(cluster: Cluster) -> None:
    privileges = [{"target": "shop.*", "grant": ["Select"]}]
    apply_one("DatabaseUser", cluster, "reader", privileges=privileges)
    await_condition_of("databaseuser", cluster, "reader", "Synced", "False", "DatabaseMissing")
    apply(cluster, "shop")
    await_condition(cluster, "shop", "Ready", "True", "Available")
    assert status(cluster, "shop")["id"] == number(cluster, "shop")
    eventually(lambda: "DatabaseCreated" in events(cluster, "shop"), 30, "an Event")
    await_condition_of("databaseuser", cluster, "reader", "Synced", "True", "Applied")
    as_root(cluster, "create table shop.goods (n int)", "insert into shop.goods values (1)")
    delete(cluster, "shop")
    assert as_root(cluster, "select * from shop.goods") == ((1,),)
    apply(cluster, "shop")
    await_condition(cluster, "shop", "Ready", "True", "Available")


def test_one_that_was_lost_comes_back_from_a_snapshot_only(cluster: Cluster) -> None:
    apply(cluster, "lost")
    await_condition(cluster, "lost", "Ready", "True", "Available")
    as_root(
        cluster,
        "create table lost.goods (n int)",
        "insert into lost.goods values (7)",
        "create snapshot before_loss for account sys",
        "drop database lost",
    )
    look_again(cluster, "lost")
    await_condition(cluster, "lost", "Ready", "False", "DatabaseLost")
    assert number(cluster, "lost") == ""

    as_root(cluster, "restore account sys database lost from snapshot before_loss")
    look_again(cluster, "lost")
    await_condition(cluster, "lost", "Ready", "True", "Available")
    assert as_root(cluster, "select * from lost.goods") == ((7,),)
    assert status(cluster, "lost")["id"] == number(cluster, "lost")


def test_one_that_was_restored_is_dropped_only_after_it_was_adopted(cluster: Cluster) -> None:
    apply(cluster, "restored", deletionPolicy="Delete")
    await_condition(cluster, "restored", "Ready", "True", "Available")
    as_root(
        cluster,
        "create table restored.goods (n int)",
        "create snapshot before_change for account sys",
        "restore account sys database restored from snapshot before_change",
    )
    look_again(cluster, "restored")
    await_condition(cluster, "restored", "Ready", "False", "DatabaseExists")
    cluster.patch("database", "restored", {"spec": {"adopt": True}})
    await_condition(cluster, "restored", "Ready", "True", "Available")
    assert status(cluster, "restored")["id"] == number(cluster, "restored")
    delete(cluster, "restored")
    assert number(cluster, "restored") == ""


def test_one_of_somebody_else_is_neither_taken_nor_dropped(cluster: Cluster) -> None:
    as_root(cluster, "create database theirs")
    theirs = number(cluster, "theirs")
    apply(cluster, "theirs", deletionPolicy="Delete")
    await_condition(cluster, "theirs", "Ready", "False", "DatabaseExists")
    delete(cluster, "theirs")
    assert number(cluster, "theirs") == theirs

    apply(cluster, "theirs", deletionPolicy="Delete", adopt=True)
    await_condition(cluster, "theirs", "Ready", "True", "Available")
    as_root(cluster, "drop database theirs", "create database theirs")
    replaced = number(cluster, "theirs")
    delete(cluster, "theirs")
    assert number(cluster, "theirs") == replaced
    assert "DatabaseKept" in events(cluster, "theirs")


def test_one_goes_with_a_resource_that_says_so_and_its_cluster_asleep(cluster: Cluster) -> None:
    apply(cluster, "dropped", deletionPolicy="Delete")
    await_condition(cluster, "dropped", "Ready", "True", "Available")
    cluster.patch("mo", "mo", {"spec": {"hibernation": {"asleep": True, "scope": "Compute"}}})
    await_condition(cluster, "dropped", "Ready", "False", "DependencyNotReady")
    cluster.kubectl("delete", "database", "dropped", "--wait=false")
    await_condition(cluster, "dropped", "Ready", "False", "Deleting")
    cluster.patch("mo", "mo", {"spec": {"hibernation": {"asleep": False}}})
    cluster.await_ready()
    cluster.kubectl("wait", "--for=delete", "database/dropped", "--timeout=180s")
    assert number(cluster, "dropped") == ""
