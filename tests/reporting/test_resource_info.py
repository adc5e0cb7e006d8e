# SPDX-License-Identifier: Apache-2.0
"""What playbooks read of a resource in plain fields."""

from itertools import product
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.reporting.conditions import (
    holds,
    holds_now,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.reporting.reasons import (
    ConditionType,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.reporting.resource_info import (
    resource_info,
)

GENERATION = 3


def ready(status: str, observed: int | None = GENERATION, **more: str) -> dict[str, Any]:
    found = {"type": "Ready", "status": status, "reason": "Because", "message": "of it", **more}
    return found if observed is None else {**found, "observedGeneration": observed}


def resource(status: Any = None, **more: Any) -> dict[str, Any]:
    metadata = {"name": "mo", "namespace": "prod", "generation": GENERATION}
    made = {"apiVersion": "v1", "kind": "Database", "metadata": metadata, "spec": {"a": 1}, **more}
    return made if status is None else {**made, "status": status}


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (None, (None, False, "", "", "")),
        ({}, (None, False, "", "", "")),
        ({"conditions": None, "phase": None}, (None, False, "", "", "")),
        ({"conditions": [{"type": "Synced", "status": "True"}]}, (None, False, "", "", "")),
        ({"conditions": [ready("True")]}, (True, True, "Because", "Because", "of it")),
        ({"conditions": [ready("False")]}, (False, True, "Because", "Because", "of it")),
        ({"conditions": [ready("Unknown")]}, (None, True, "Because", "Because", "of it")),
        ({"conditions": [ready("true")]}, (None, True, "Because", "Because", "of it")),
        ({"conditions": [ready("True", 2)]}, (True, False, "Because", "Because", "of it")),
        ({"conditions": [ready("True", None)]}, (True, False, "Because", "Because", "of it")),
        (
            {
                "conditions": [ready("True", reason="", message="")],
                "observedGeneration": GENERATION,
            },
            (True, True, "", "", ""),
        ),
        (
            {"conditions": [ready("False")], "phase": "Degraded", "message": "no quorum"},
            (False, True, "Degraded", "Because", "no quorum"),
        ),
        (
            {"conditions": [ready("True")], "state": "InUse"},
            (True, True, "InUse", "Because", "of it"),
        ),
        ({"phase": "Pending"}, (None, False, "Pending", "", "")),
        ("nonsense", (None, False, "", "", "")),
    ],
)
def test_what_a_status_says(status: Any, expected: tuple[Any, ...]) -> None:
    info = resource_info(resource(status))
    fields = ("ready", "generation_observed", "state", "reason", "message")
    assert tuple(info[name] for name in fields) == expected


@pytest.mark.parametrize(
    ("status", "observed"), list(product(["True", "False", "Unknown"], [0, 2, 3, 4, None]))
)
def test_it_agrees_with_what_the_operator_goes_by(status: str, observed: int | None) -> None:
    found = resource({"conditions": [ready(status, observed)]})
    info = resource_info(found)
    assert (info["ready"] is True) == holds(found, ConditionType.READY)
    is_now = info["ready"] is True and info["generation_observed"]
    assert is_now == holds_now(found, ConditionType.READY)


def test_the_resource_itself_stays_as_it_is() -> None:
    found = resource({"conditions": [ready("True")]}, meta={"id": "1"}, name="other", ready="yes")
    info = resource_info(found)
    own = ("apiVersion", "kind", "metadata", "spec", "meta", "status")
    assert {name: info[name] for name in own} == {name: found[name] for name in own}
    assert (info["name"], info["namespace"], info["ready"]) == ("mo", "prod", True)


def test_conditions_are_found_by_their_type() -> None:
    entries = [ready("True"), {"type": "Synced", "status": "Unknown", "reason": "Applied"}]
    conditions = resource_info(resource({"conditions": entries}))["conditions"]
    assert list(conditions) == ["Ready", "Synced"]
    assert conditions["Synced"] == {"status": "Unknown", "reason": "Applied"}
    assert conditions["Ready"]["observedGeneration"] == GENERATION


def test_what_is_in_no_namespace_has_an_empty_one() -> None:
    assert resource_info({"metadata": {"name": "full"}})["namespace"] == ""
