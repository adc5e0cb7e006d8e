# SPDX-License-Identifier: Apache-2.0
"""Keys of the object store that changed in the Secret after Pods started with the former ones."""

from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice.credential import (
    outdated_credential,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.reporting.events import (
    transitions,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.reporting.health import Health
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.reporting.storage import (
    credential_conditions,
    is_storage_as_reported,
)

Json = dict[str, Any]
EARLIER, CHANGED, LATER = (f"2026-11-25T1{hour}:00:00Z" for hour in range(3))


def manager(time: str | None, *fields: str) -> Json:
    return {"manager": "kubectl", "time": time, "fieldsV1": {field: {} for field in fields}}


def secret(*managers: Json) -> Json:
    return {
        "metadata": {"name": "keys", "managedFields": list(managers)},
        "data": {"A": "aGlkZGVu"},
    }


def pod(name: str, started: str) -> Json:
    state = {"running": {"startedAt": started}} if started else {"waiting": {}}
    return {
        "metadata": {"name": name},
        "status": {"containerStatuses": [{"name": "main", "state": state}]},
    }


PODS = [pod("mo-log-0", EARLIER), pod("mo-log-1", LATER), pod("mo-log-2", "")]


def test_pods_that_started_before_are_named() -> None:
    said = outdated_credential(secret(manager(CHANGED, "f:data", "f:type")), PODS)
    assert said.startswith(
        "Secret keys changed at 2026-11-25T11:00:00Z, and mo-log-0 started before"
    )
    assert "restartedAt" in said
    assert "aGlkZGVu" not in said


@pytest.mark.parametrize(
    "managers",
    [
        [],
        [manager(CHANGED, "f:metadata")],
        [manager(EARLIER, "f:data")],
        [manager(None, "f:data")],
        [{"time": CHANGED, "fieldsV1": None}, {"time": CHANGED}],
        [manager(EARLIER, "f:data"), manager(LATER, "f:metadata")],
    ],
    ids=str,
)
def test_what_is_no_change_of_the_keys(managers: list[Json]) -> None:
    assert outdated_credential(secret(*managers), PODS) == ""


def test_many_pods_are_counted() -> None:
    pods = [pod(f"mo-log-{number}", EARLIER) for number in range(5)]
    assert "mo-log-2 and 2 more" in outdated_credential(secret(manager(CHANGED, "f:data")), pods)


def test_the_condition_appears_with_the_first_change_and_tells_the_end() -> None:
    resource: Json = {"metadata": {"name": "mo", "generation": 1}}
    assert credential_conditions(resource, "", 1) == []
    assert credential_conditions(resource, None, 1) == []
    [changed] = credential_conditions(resource, "old", 1)
    assert (changed["status"], changed["message"]) == ("False", "old")
    resource["status"] = {"conditions": [changed]}
    assert credential_conditions(resource, None, 1) == [changed]
    [current] = credential_conditions(resource, "", 1)
    assert (current["status"], current["reason"]) == ("True", "StorageCredentialInUse")


def test_events_tell_the_change_once() -> None:
    changed = credential_conditions({"metadata": {}}, "old", 1)
    [event] = transitions({}, {"conditions": changed})
    assert (event["type"], event["reason"]) == ("Warning", "StorageCredentialChanged")
    assert transitions({"conditions": changed}, {"conditions": changed}) == []


def test_a_pass_is_due_when_it_would_tell_something_new() -> None:
    resource: Json = {"metadata": {"name": "mo"}, "spec": {"sharedStorage": {"s3": {}}}}
    assert is_storage_as_reported(resource, None, "")
    assert not is_storage_as_reported(resource, None, "old")
    resource["status"] = {"conditions": credential_conditions(resource, "old", 1)}
    assert is_storage_as_reported(resource, None, "old")
    assert is_storage_as_reported(resource, None, None)
    assert not is_storage_as_reported(resource, None, "")


@pytest.mark.parametrize("credential", [None, "", "old"])
def test_a_result_keeps_it(credential: str | None) -> None:
    health = Health(credential=credential)
    assert Health.read(health.as_result()) == health
