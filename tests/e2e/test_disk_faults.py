# SPDX-License-Identifier: Apache-2.0
"""Disks that are full, read-only or closed, under traffic: no row is lost, and all goes on."""

import secrets
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack

import pytest

from testbed.bed import TestBed
from tests.e2e import disks
from tests.e2e.clusters import Cluster, operating, tiny_cluster
from tests.e2e.disks import Disk
from tests.e2e.health import FAULT_SECONDS, await_fault, suffering
from tests.e2e.storage import endure, run

pytestmark = [pytest.mark.node, pytest.mark.scenario]

STORE = "mo-log-1"
_LOG_MEBIBYTES = 80
CLAIMS = ("mo-shared", "mo-data-mo-log-0", f"mo-data-{STORE}", "mo-data-mo-log-2")


@pytest.fixture(scope="module")
def small_disks(real_testbed: TestBed) -> Iterator[dict[str, Disk]]:
    """One for the shared folder, and one for each log store."""
    with ExitStack() as mounted:
        yield {
            claim: mounted.enter_context(disks.on_node(real_testbed, claim).mounted())
            for claim in CLAIMS
        }


@pytest.fixture(scope="module")
def on_folder(
    real_testbed: TestBed,
    small_disks: dict[str, Disk],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Cluster]:
    """A cluster whose shared folder and log stores have small disks."""
    resource = tiny_cluster()
    service = resource["spec"]["logService"]
    service["volume"]["storageClassName"] = disks.SMALL_DISKS
    service["sharedStorage"]["fileSystem"]["claim"]["storageClassName"] = disks.SMALL_DISKS
    with operating(real_testbed, tmp_path_factory.mktemp("operator"), "folder") as made:
        volumes = [disks.volume(disk, made.namespace, of) for of, disk in small_disks.items()]
        run(made, [*volumes, resource])
        yield made
        made.kubectl("delete", "mo", "--all", "--timeout=240s")
        names = [volume["metadata"]["name"] for volume in volumes]
        made.kubectl("delete", "pv", *names, "--wait=false")


FOLDER: dict[str, Callable[[Disk], AbstractContextManager[None]]] = {
    "full": Disk.full,
    "read-only": Disk.write_protected,
    "away": Disk.closed,
}


@pytest.mark.parametrize("how", FOLDER)
def test_a_shared_folder_is_out_of_order(
    on_folder: Cluster, small_disks: dict[str, Disk], how: str
) -> None:
    fault = FOLDER[how](small_disks["mo-shared"])
    endure(on_folder, f"folder-{how}", fault, degraded="StorageNotWritable")


def test_the_disk_of_a_log_store_is_full(on_folder: Cluster, small_disks: dict[str, Disk]) -> None:
    """Two of three go on; the third is named once it needs another file, and comes back."""
    with suffering(
        on_folder, "log-store-disk-full", small_disks[f"mo-data-{STORE}"].full(), FAULT_SECONDS
    ):
        write_log(on_folder)
        await_fault(on_folder, "LogSet", [STORE])


def write_log(cluster: Cluster) -> None:
    """Commit more than a file of the log holds: log stores allocate 64 MiB in advance."""
    with cluster.connect() as session, session.cursor() as cursor:
        cursor.execute("create database if not exists bulk")
        cursor.execute("create table if not exists bulk.texts (n int primary key, content text)")
        for number in range(_LOG_MEBIBYTES * 4):
            values = (number, secrets.token_hex(128 << 10))
            cursor.execute("insert into bulk.texts values (%s, %s)", values)
