# SPDX-License-Identifier: Apache-2.0
"""A change of a cluster waits for its maintenance window, and is applied when that opens."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.support.namespaces import Namespace
from tests.support.waiting import eventually, unchanged

from .conftest import tiny_cluster

pytestmark = pytest.mark.api

Json = dict[str, Any]


def windows(start: datetime) -> Json:
    """Return one window a day, of two minutes."""
    return {"windows": [{"start": f"{start:%M %H} * * *", "duration": "2m"}]}


@pytest.fixture(scope="module")
def cluster(space: Namespace, operator: Path) -> Iterator[Json]:
    """A cluster that serves, whose window opens in 11 hours."""
    resource = tiny_cluster(space.name)
    resource["spec"]["maintenance"] = windows(datetime.now(UTC) + timedelta(hours=11))
    space.apply(resource)
    space.wait("Ready")
    space.wait("Synced")
    yield resource
    space.kubectl("delete", "mo", "--all", "--ignore-not-found", "--timeout=120s")


def images(space: Namespace) -> set[str]:
    pods = space.listed("pods", "matrixorigin.io/cluster=mo")
    return {one["spec"]["containers"][0]["image"].rpartition(":")[2] for one in pods}


def test_a_change_waits_while_sizes_and_repairs_do_not(space: Namespace, cluster: Json) -> None:
    pods, version = space.names("pods"), images(space)
    resource = copy.deepcopy(cluster)
    resource["spec"]["version"] = "3.0.19"
    space.apply(resource)

    eventually(
        lambda: space.condition("mo", "mo", "Synced").get("reason") == "WaitingForWindow", 60
    )
    assert unchanged(lambda: space.names("pods"), 5) == pods
    told = space.conditions("mo", "mo")
    assert told["Ready"]["status"] == "True"
    assert "waits for the maintenance window that opens at" in told["Synced"]["message"]
    assert not {"Reconciling", "Stalled"} & told.keys()

    resource["spec"]["cnGroups"][0]["replicas"] = 2
    space.apply(resource)
    (lost,) = (name for name in pods if name.startswith("pod/mo-tp-cn-"))
    space.kubectl("delete", lost, "--wait=false")
    eventually(
        lambda: (space.get("cnset", "mo-tp")["status"].get("pods")) == "2/2",
        90,
        otherwise=lambda: space.get("cnset", "mo-tp")["status"],
    )
    assert images(space) == version


def test_it_is_applied_when_the_window_opens(space: Namespace, cluster: Json) -> None:
    """By itself: nothing else happens then."""
    opens = (datetime.now(UTC) + timedelta(seconds=75)).replace(second=0, microsecond=0)
    resource = copy.deepcopy(cluster)
    resource["spec"] |= {"version": "3.0.19", "maintenance": windows(opens)}
    space.apply(resource)

    eventually(
        lambda: (
            space.get("mo", "mo")["status"]["maintenance"].get("nextChange")
            == f"{opens:%Y-%m-%dT%H:%M:%SZ}"
        ),
        30,
    )
    assert space.condition("mo", "mo", "Synced")["reason"] == "WaitingForWindow"
    eventually(
        lambda: images(space) == {"3.0.19"},
        240,
        "all Pods have the new version",
        otherwise=lambda: space.get("mo", "mo")["status"],
    )
    assert datetime.now(UTC) >= opens
    space.wait("Synced")
    space.wait("Ready")
    assert "message" not in space.get("mo", "mo")["status"]["maintenance"]
