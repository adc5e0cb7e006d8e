# SPDX-License-Identifier: Apache-2.0
"""A cluster falls asleep and wakes: by hand, as a whole, and when its schedule says so."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.support.namespaces import Namespace
from tests.support.waiting import eventually

from .conftest import tiny_cluster

pytestmark = pytest.mark.api

Json = dict[str, Any]


@pytest.fixture(scope="module", autouse=True)
def cluster(space: Namespace, operator: Path) -> Iterator[Json]:
    """A cluster that serves; deleted at the end."""
    resource = tiny_cluster(space.name)
    space.apply(resource)
    space.wait("Ready")
    yield resource
    space.kubectl("delete", "mo", "--all", "--ignore-not-found", "--timeout=120s")


def sleep(space: Namespace, hibernation: Json | None) -> None:
    space.patch("mo", "mo", {"spec": {"hibernation": hibernation}})


def state(space: Namespace) -> str:
    return str((space.get("mo", "mo")["status"].get("hibernation") or {}).get("state") or "")


def becomes(space: Namespace, expected: str, seconds: float = 90.0) -> None:
    eventually(
        lambda: state(space) == expected,
        seconds,
        expected,
        otherwise=lambda: space.get("mo", "mo")["status"],
    )


def running(space: Namespace) -> dict[str, int]:
    """Return how many Pods of each component there are."""
    found = {}
    for component in ("LogSet", "DNSet", "CNSet", "ProxySet"):
        found[component] = len(space.names("pods", f"matrixorigin.io/component={component}"))
    return {component: number for component, number in found.items() if number}


def test_compute_nodes_and_proxies_are_stopped_and_come_back(space: Namespace) -> None:
    awake, claims = running(space), space.names("pvc")
    sleep(space, {"asleep": True})

    becomes(space, "Asleep")
    assert running(space) == {name: awake[name] for name in ("LogSet", "DNSet")}
    asleep = space.get("mo", "mo")["status"]
    told = {one["type"]: (one["status"], one["reason"]) for one in asleep["conditions"]}
    assert told["Ready"] == ("False", "Hibernated")
    assert told["Synced"] == ("True", "AllSetsSynced")
    assert not {"Reconciling", "Stalled"} & told.keys()
    assert asleep["host"], "clients find the database at the same address later"

    sleep(space, {"asleep": False})
    becomes(space, "Awake")
    space.wait("Ready")
    assert running(space) == awake
    assert set(claims) <= set(space.names("pvc"))
    reasons = [one["reason"] for one in space.events()]
    assert {"Hibernated", "Woken"} <= set(reasons)


def test_the_whole_database_is_stopped_in_order_and_keeps_its_volumes(space: Namespace) -> None:
    claims = set(space.names("pvc"))
    pods = set(space.names("pods"))
    sleep(space, {"asleep": True, "scope": "Database"})

    becomes(space, "Asleep")
    assert running(space) == {}
    assert claims <= set(space.names("pvc")), "nothing of what the database keeps is deleted"

    sleep(space, None)
    eventually(lambda: state(space) == "", 120)
    space.wait("Ready")
    stateful = {name for name in pods if name.startswith(("mo-log-", "mo-dn-"))}
    assert stateful <= set(space.names("pods"))


def test_a_group_that_an_autoscaler_scales_wakes_with_its_size(space: Namespace) -> None:
    """As it scales: by the subresource, whose size no later pass takes over."""
    named = [{"name": "tp", "replicas": 1}, {"name": "ap"}]
    space.patch("mo", "mo", {"spec": {"cnGroups": named}})
    eventually(lambda: space.get("cnset", "mo-ap"), 60)
    space.kubectl("scale", "cnset", "mo-ap", "--replicas=2")
    eventually(lambda: running(space).get("CNSet") == 3, 90)
    space.wait("Ready")

    sleep(space, {"asleep": True})
    becomes(space, "Asleep")
    assert "CNSet" not in running(space)
    sleep(space, None)
    eventually(lambda: running(space).get("CNSet") == 3, 90)
    space.wait("Ready")
    assert space.get("cnset", "mo-ap")["spec"]["replicas"] == 2
    space.patch("mo", "mo", {"spec": {"cnGroups": named[:1]}})
    eventually(lambda: not space.get("cnset", "mo-ap"), 120)


def test_a_schedule_is_followed_without_another_event(space: Namespace) -> None:
    """It falls asleep in the next minute, or the one after."""
    moment = datetime.now(UTC) + timedelta(seconds=75)
    times = {"sleep": f"{moment:%M %H} * * *", "wake": f"{moment - timedelta(hours=1):%M %H} * * *"}
    sleep(space, {"schedule": times})
    due = moment.replace(second=0, microsecond=0)

    eventually(lambda: state(space) == "Awake", 30)
    record = space.get("mo", "mo")["status"]["hibernation"]
    assert record["nextChange"] == f"{due:%Y-%m-%dT%H:%M:%SZ}"
    eventually(lambda: state(space) in {"FallingAsleep", "Asleep"}, 90)
    assert datetime.now(UTC) >= due
    becomes(space, "Asleep")

    sleep(space, None)
    space.wait("Ready")
