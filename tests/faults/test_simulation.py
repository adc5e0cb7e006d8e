# SPDX-License-Identifier: Apache-2.0
"""The API server in memory answers as the real one where the collection relies on it."""

from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.kubernetes.applying import (
    Writer,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.kubernetes.errors import (
    Conflict,
    NotFound,
    Refused,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.kubernetes.outcomes import (
    Change,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.kubernetes.selecting import (
    Selection,
)

from faults.simulation.world import Killed, Session, World
from tests.support import resources as r

Json = dict[str, Any]


@pytest.fixture
def world() -> World:
    return World(())


def config(**data: str) -> Json:
    metadata = {"name": "a", "namespace": "prod", "labels": {"app": "x"}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def writer(world: World, manager: str = "one") -> Writer:
    return Writer(world.session, field_manager=manager)  # type: ignore[arg-type]


def test_an_apply_gives_up_what_it_leaves_out_and_nothing_of_others(world: World) -> None:
    writer(world).apply(config(a="1", b="2"))
    writer(world, "two").apply({**config(c="3"), "metadata": {"name": "a", "namespace": "prod"}})
    after = writer(world).apply(config(a="1")).after
    assert after is not None
    assert after["data"] == {"a": "1", "c": "3"}


def test_an_apply_that_changes_nothing_keeps_the_version(world: World) -> None:
    first = writer(world).apply(config(a="1")).after
    again = writer(world).apply(config(a="1"))
    assert again.change is Change.UNCHANGED
    assert again.after == first
    assert len(world.session.writes) == 1


def test_the_generation_counts_changes_of_the_spec_alone(world: World) -> None:
    live = world.apply(r.logset())
    path = "/apis/core.matrixorigin.io/v1alpha1/namespaces/prod/logsets/mo"
    world.session.request(
        "PATCH", f"{path}/status", attempt="", body={"status": {"phase": "Ready"}},
        content_type="application/apply-patch+yaml", query={"fieldManager": "x"},
    )  # fmt: skip
    assert world.server.objects[world.server.key(*_place(live))]["metadata"]["generation"] == 1
    changed = world.apply(r.logset(replicas=5))
    assert changed["metadata"]["generation"] == 2
    assert changed["status"] == {"phase": "Ready"}


def _place(live: Json) -> tuple[str, str, str, str]:
    metadata = live["metadata"]
    return live["apiVersion"], live["kind"], metadata["namespace"], metadata["name"]


def test_schemas_default_prune_and_refuse(world: World) -> None:
    stored = world.apply({**r.logset(), "unknown": 1})
    assert "unknown" not in stored
    assert stored["spec"]["replicas"] == 3
    with pytest.raises(Refused, match="replicas"):
        world.apply(r.logset(replicas="many"))


def test_preconditions_finalizers_and_garbage(world: World) -> None:
    owner = world.apply(r.logset())
    world.apply({**owner, "metadata": {**owner["metadata"], "finalizers": ["x/y"]}})
    reference = {
        "apiVersion": "v1",
        "kind": "LogSet",
        "name": "mo",
        "uid": owner["metadata"]["uid"],
    }
    child = config(a="1")
    child["metadata"]["ownerReferences"] = [reference]
    writer(world).apply(child)
    with pytest.raises(Conflict):
        writer(world).delete({**owner, "metadata": {**owner["metadata"], "uid": "other"}})
    world.delete("LogSet", "prod", "mo")
    world.controllers.settle()
    assert world.get("ConfigMap", "a") is None


def test_selections_and_what_is_not_there(world: World) -> None:
    writer(world).apply(config(a="1"))
    session: Any = world.session
    assert len(Selection("v1", "ConfigMap", "prod", {"app": "x"}).list(session)) == 1
    assert Selection("v1", "ConfigMap", "prod", {"app": "y"}).list(session) == []
    assert Selection("v1", "ConfigMap", None, {}, excluding={"app": ["x"]}).list(session) == []
    with pytest.raises(NotFound):
        world.session.request("GET", "/api/v1/namespaces/prod/configmaps/b", attempt="")


def test_an_operator_is_killed_after_so_many_writes(world: World) -> None:
    session: Session = world.session
    session.survives = 2
    writer(world).apply(config(a="1"))
    with pytest.raises(Killed):
        writer(world).apply(config(a="2"))
    found = world.get("ConfigMap", "a")
    assert found is not None
    assert found["data"] == {"a": "2"}
