# SPDX-License-Identifier: Apache-2.0
"""A process that stood still while another one led goes on with what it read before.

What the other has recorded about stores stays, and the pass ends without an error: another one
follows soon.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.names import (
    ANNOTATION_INCARNATIONS,
)

from faults import checks, lives
from faults.scenes import scenes, subject
from faults.simulation.world import Session, World

Json = dict[str, Any]
_WRITES = 5
"""Of the pass in which the stores leave."""


def frozen(kind: str, step: str, number: int, since: Callable[[World], None]) -> World:
    """Let an operator stand still before a write of a step while another one does all the work.

    Args:
        kind: of the resource.
        step: of its life, see `lives`.
        number: of the write.
        since: called when the other one is done.

    Returns:
        The cluster when the first one has ended its pass.
    """
    world = scenes()[kind].world()
    world.settle()
    for name in lives.steps_of(kind):
        if name == step:
            break
        lives.take(world, kind, name)
        lives.settle(world, name)
    lives.take(world, kind, step)
    written = 0

    def stand_still(method: str, path: str) -> None:
        nonlocal written
        written += method != "GET" and "/events" not in path
        if method != "GET" and written == number:
            first, world.session = world.session, Session(world.server)
            world.settle()
            world.session = first
            since(world)

    world.session.disturb = stand_still
    world.round()
    world.session.disturb = None
    assert written >= number, "the pass writes less often"
    return world


def records(world: World) -> dict[str, Json]:
    """Return the incarnations as each object has them that decides about stores."""
    recorded = {}
    for kind in ("LogSet", "PersistentVolumeClaim"):
        for _key, found in world.server.of_kind(kind):
            text = (found["metadata"].get("annotations") or {}).get(ANNOTATION_INCARNATIONS)
            recorded[f"{kind}/{found['metadata']['name']}"] = json.loads(text or "{}")
    gossip = world.get("ConfigMap", "mo-log-gossip")
    assert gossip is not None
    lines = (line.split() for line in gossip["data"]["incarnations"].splitlines())
    recorded["ConfigMap/mo-log-gossip"] = {ordinal: int(number) for ordinal, number in lines}
    return recorded


@pytest.mark.parametrize("number", range(1, _WRITES + 1))
def test_what_another_operator_has_recorded_about_stores_stays(number: int) -> None:
    """Two stores leave, one after the other, and each gets a new incarnation for its return."""
    before: dict[str, Json] = {}
    world = frozen("LogSet", "in", number, lambda world: before.update(records(world)))

    assert before["LogSet/mo"].keys() == {"3", "4"}
    assert records(world) == before
    assert world.failures == {}
    found = checks.require_reported(world, "LogSet", subject("LogSet")["metadata"]["name"])
    assert checks.conditions(found)["Synced"]["status"] == "True"
    assert "changed since" not in json.dumps(found["status"])
