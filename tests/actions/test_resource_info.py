# SPDX-License-Identifier: Apache-2.0
"""matrixorigin.matrixone.resource_info."""

import json
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from ansible_collections.matrixorigin.matrixone.plugins.action.resource_info import ActionModule
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.kubernetes.errors import (
    BadManifest,
    NotFound,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.kinds import KINDS
from ansible_collections.matrixorigin.matrixone.plugins.modules import resource_info as documented

from testbed.bed import TestBed
from tests.support.answers import Answers
from tests.support.api import Api

Json = dict[str, Any]

INFO = "matrixorigin.matrixone.resource_info"
API_VERSION = "core.matrixorigin.io/v1alpha1"
HOSTILE = "{{ lookup('ansible.builtin.pipe', 'echo executed') }}"


def asked(kind: str, **more: Any) -> Json:
    defaults = {"name": None, "namespace": "default", "all_namespaces": False}
    return {"kind": kind, **defaults, "label_selectors": [], **more}


def read(session: Answers, **more: Any) -> Json:
    return ActionModule.act(None, session, asked(**more))  # type: ignore[arg-type]


def documented_options() -> Json:
    return dict(yaml.safe_load(documented.DOCUMENTATION)["options"])


def test_each_kind_can_be_asked_for_and_is_documented() -> None:
    assert set(ActionModule.SPEC["kind"]["choices"]) == set(KINDS)
    for name, spec in ActionModule.SPEC.items():
        kept = ("type", "choices", "required", "default", "elements")
        option = {key: value for key, value in documented_options()[name].items() if key in kept}
        assert option == spec, name
    assert documented_options().keys() == ActionModule.SPEC.keys()


@pytest.mark.parametrize("kind", KINDS)
def test_a_cluster_without_the_kind_is_no_empty_list(kind: str) -> None:
    """What to do is in the message."""
    with pytest.raises(NotFound, match=rf"does not serve {kind} of .*; are its CRDs installed\?"):
        read(Answers(), kind=kind)


def test_an_empty_namespace_does_not_mean_all() -> None:
    with pytest.raises(BadManifest, match="namespace is empty"):
        read(Answers(), kind="Database", namespace="")


def database(namespace: str, name: str, **metadata: Any) -> Json:
    return {
        "apiVersion": API_VERSION,
        "kind": "Database",
        "metadata": {"name": name, "namespace": namespace, **metadata},
        "spec": {"clusterRef": {"name": "mo"}},
    }


def condition(status: str, generation: int) -> Json:
    return {
        "type": "Ready",
        "status": status,
        "reason": "Available",
        "message": HOSTILE,
        "observedGeneration": generation,
        "lastTransitionTime": "2026-11-01T12:00:00Z",
    }


@pytest.fixture
def databases(installed_testbed: TestBed, fake_namespace: str) -> Callable[..., Json]:
    """Return a function that creates a Database, which no operator reconciles, and its status."""
    api = Api(installed_testbed.kubeconfig)

    def create(name: str, status: str = "", phase: str = "", **metadata: Any) -> Json:
        made = api.apply(database(fake_namespace, name, **metadata))
        if not status:
            return made
        condition_ = condition(status, made["metadata"]["generation"])
        path = api.path("databases.core.matrixorigin.io", fake_namespace, name)
        shown = {"phase": phase} if phase else {}
        change = {"status": {**shown, "conditions": [condition_]}}
        return api.request("PATCH", f"{path}/status", change, "application/merge-patch+json")

    return create


@pytest.mark.api
def test_resources_by_name_label_and_namespace(play, databases, fake_namespace):
    """They are sorted by name; what does not exist is an empty list, and nothing is changed."""
    databases("orders", "True", "Ready", labels={"team": "shop", "env": "test"})
    databases("logs", "Unknown", labels={"team": "shop", "env": "prod"})
    databases("new")
    place = {"kind": "Database", "namespace": fake_namespace}

    everything, one, labelled, both, none, elsewhere, all_of_name, no_such_label = play(
        {INFO: place, "check_mode": True},
        {INFO: {**place, "name": "orders"}},
        {INFO: {**place, "label_selectors": ["team=shop", "env in (prod, dev)"]}},
        {INFO: {**place, "label_selectors": ["team=shop"]}},
        {INFO: {**place, "name": "nothing"}},
        {INFO: {"kind": "Database", "namespace": "no-such-namespace"}},
        {INFO: {"kind": "Database", "name": "orders", "all_namespaces": True}},
        {INFO: {**place, "label_selectors": ["team notin (shop)"]}},
    )

    def names(result: Json) -> list[str]:
        assert (result["changed"], result.get("failed", False)) == (False, False), result
        return [found["name"] for found in result["resources"]]

    assert names(everything) == ["logs", "new", "orders"]
    assert [found["ready"] for found in everything["resources"]] == [None, None, True]
    assert [found["state"] for found in everything["resources"]] == ["Available", "", "Ready"]
    assert names(one) == ["orders"]
    assert names(labelled) == ["logs"]
    assert names(both) == ["logs", "orders"]
    assert (names(none), names(elsewhere)) == ([], [])
    assert names(no_such_label) == ["new"]
    assert fake_namespace in [found["namespace"] for found in all_of_name["resources"]]
    assert {found["name"] for found in all_of_name["resources"]} == {"orders"}


@pytest.mark.api
def test_a_status_of_an_earlier_spec_is_told_from_one_of_the_present(
    play, databases, installed_testbed, fake_namespace
):
    """A change that no operator has reconciled leaves the condition as it was."""
    api = Api(installed_testbed.kubeconfig)
    task = {INFO: {"kind": "Database", "namespace": fake_namespace, "name": "orders"}}
    databases("orders", "True", "Ready")
    (before,) = play(task)
    api.merge(
        "databases.core.matrixorigin.io",
        fake_namespace,
        "orders",
        {"spec": {"deletionPolicy": "Delete"}},
    )
    (after,) = play(task)

    facts = [
        (one["resources"][0]["ready"], one["resources"][0]["generation_observed"])
        for one in (before, after)
    ]
    assert facts == [(True, True), (True, False)]
    assert after["resources"][0]["spec"]["deletionPolicy"] == "Delete"


@pytest.mark.api
def test_what_a_resource_holds_stays_text(play, databases, fake_namespace):
    """It is no template where it is used, and kubectl's copy of what it applied is left out."""
    applied = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps({"secret": "x"})}
    databases("orders", "False", annotations={"note": HOSTILE, **applied})

    shown = "{{ result_0.resources[0].message ~ result_0.resources[0].metadata.annotations.note }}"
    info, used = play(
        {INFO: {"kind": "Database", "namespace": fake_namespace}},
        {"ansible.builtin.set_fact": {"shown": shown}},
    )

    (found,) = info["resources"]
    assert found["message"] == HOSTILE
    assert used["ansible_facts"]["shown"] == HOSTILE * 2
    assert found["metadata"]["annotations"] == {"note": HOSTILE}
    assert "managedFields" not in found["metadata"]
    assert found["conditions"]["Ready"]["status"] == "False"
    assert found["ready"] is False


@pytest.mark.api
def test_kinds_in_no_namespace_and_of_the_first_operator(play, installed_testbed):
    results = play(
        {INFO: {"kind": "Backup", "name": "no-such-backup"}},
        {INFO: {"kind": "MatrixoneCluster", "name": "none", "all_namespaces": True}},
        {INFO: {"kind": "matrixonecluster"}},
    )
    assert [one.get("resources") for one in results] == [[], [], None]
    assert "value of kind must be one of" in results[2]["msg"]


@pytest.mark.api
def test_missing_rights_and_selectors_that_are_none(play, installed_testbed, fake_namespace):
    """It fails, instead of reporting that there is nothing."""
    place = {"kind": "Database", "namespace": fake_namespace}
    forbidden, malformed = play(
        {INFO: {**place, "impersonate_user": "nobody"}},
        {INFO: {**place, "label_selectors": ["a in b"]}},
    )
    assert (forbidden["failed"], forbidden["status"]) == (True, 403)
    assert "list Databases: " in forbidden["msg"]
    assert "the account in use lacks this right" in forbidden["msg"]
    assert (malformed["failed"], malformed["status"]) == (True, 400)
