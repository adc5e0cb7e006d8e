# SPDX-License-Identifier: Apache-2.0
"""Dependents and references: who is run when something else changes."""

from typing import Any

import pytest

from ansible_operator.kube.interface import GroupVersionKind, Object, ResourceType
from ansible_operator.loop.queueing.queue import Key
from ansible_operator.loop.settings import Controlled
from ansible_operator.loop.triggers.changes import conditions_differ, differs
from ansible_operator.loop.triggers.dependents import (
    owners_by_annotation,
    owners_by_reference,
)
from ansible_operator.loop.triggers.own_writes import OwnWrites
from ansible_operator.loop.triggers.references import field_text, refers_to
from ansible_operator.watches import DependentAnnotations, KindName, PlayPath, Reference, Watch

OWNER = "operator-sdk/primary-resource"
TYPE = "operator-sdk/primary-resource-type"


def controlled(group: str = "g.example.com", *, namespaced: bool = True) -> Controlled:
    kind = KindName(group, "v1", "K")
    resource = ResourceType(GroupVersionKind(*kind), "ks", namespaced)
    watch = Watch(kind=kind, play=PlayPath(playbook="/p"))
    return Controlled(name="k", watch=watch, resource=resource, period=0, verbosity=0)


def reference(api_version: str = "g.example.com/v1", kind: str = "K", name: str = "o") -> Any:
    return {"apiVersion": api_version, "kind": kind, "name": name, "uid": "u"}


def dependent(*references: Any, **annotations: str) -> dict[str, Any]:
    return {
        "metadata": {
            "name": "d",
            "namespace": "ns",
            "ownerReferences": list(references),
            "annotations": annotations,
        }
    }


@pytest.mark.parametrize(
    ("references", "namespaced", "expected"),
    [
        ([reference()], True, [("ns", "o")]),
        ([reference()], False, [("", "o")]),
        ([reference("g.example.com/v2")], True, [("ns", "o")]),
        ([reference("other/v1")], True, []),
        ([reference(kind="Other")], True, []),
        ([reference("a/b/c"), reference()], True, []),
        ([reference(), reference(name="p")], True, [("ns", "o"), ("ns", "p")]),
        ([], True, []),
    ],
)
def test_owners_by_reference(
    references: list[Any], namespaced: bool, expected: list[tuple[str, str]]
) -> None:
    found = owners_by_reference(controlled(namespaced=namespaced), dependent(*references))
    assert list(found) == expected


def test_owners_of_the_core_group_have_no_slash() -> None:
    found = owners_by_reference(controlled(group=""), dependent(reference("v1")))
    assert list(found) == [("ns", "o")]


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ({TYPE: "K.g.example.com", OWNER: "a/b"}, [("a", "b")]),
        ({TYPE: "K.g.example.com", OWNER: "b"}, [("", "b")]),
        ({TYPE: "K.g.example.com", OWNER: " "}, []),
        ({TYPE: "K.g.example.com"}, []),
        ({TYPE: "Other.g.example.com", OWNER: "a/b"}, []),
        ({}, []),
    ],
)
def test_owners_by_annotation(annotations: dict[str, str], expected: list[tuple[str, str]]) -> None:
    assert list(owners_by_annotation(controlled(), dependent(**annotations))) == expected


def test_the_core_group_is_recognised_by_its_annotation() -> None:
    found = owners_by_annotation(controlled(group=""), dependent(**{TYPE: "K", OWNER: "a/b"}))
    assert list(found) == [("a", "b")]


def state(version: str, **parts: Any) -> dict[str, Any]:
    metadata = {"name": "d", "resourceVersion": version, **parts.pop("metadata", {})}
    return {"metadata": metadata, **parts}


def budget(version: str, **parts: Any) -> dict[str, Any]:
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", **state(version, **parts)}


@pytest.mark.parametrize(
    ("before", "now", "plain", "with_status"),
    [
        (state("1", spec=1), state("2", spec=2), True, True),
        (state("1", status=1), state("2", status=2), False, True),
        (state("1"), state("2"), False, False),
        (state("1", spec=1), state("1", spec=2), False, False),
        (state("1"), state("2", metadata={"labels": {"a": "b"}}), True, True),
        (
            state("1", metadata={"managedFields": [{"manager": "m", "time": "1"}]}),
            state("2", metadata={"managedFields": [{"manager": "m", "time": "2"}]}),
            False,
            False,
        ),
        (
            state("1", metadata={"managedFields": [{"manager": "m"}]}),
            state(
                "2", metadata={"managedFields": [{"manager": "m", "fieldsV1": {"f:status": {}}}]}
            ),
            True,
            False,
        ),
        (budget("1", status=1), budget("2", status=2), False, False),
        (budget("1", spec=1), budget("2", spec=2), True, True),
    ],
)
def test_what_counts_as_a_change(before: Any, now: Any, plain: bool, with_status: bool) -> None:
    assert differs(before, now, with_status=False) is plain
    assert differs(before, now, with_status=True) is with_status


NONE, OTHERS, ALL = DependentAnnotations
REVISION = {"deployment.kubernetes.io/revision": "1"}
OF_STATUS = {"manager": "kube-controller-manager", "subresource": "status"}
OF_ANNOTATIONS = {"manager": "kubectl-annotate", "operation": "Update"}


@pytest.mark.parametrize("with_status", [False, True])
@pytest.mark.parametrize(
    ("before", "now", "counting"),
    [
        ({"annotations": {"a": "1"}}, {"annotations": {"a": "2"}}, {OTHERS, ALL}),
        ({"annotations": {"a": "1"}}, {}, {OTHERS, ALL}),
        ({}, {"annotations": REVISION}, {ALL}),
        ({"annotations": {"a": "1"}}, {"annotations": {"a": "1", **REVISION}}, {ALL}),
        ({}, {"annotations": REVISION, "managedFields": [OF_STATUS]}, {ALL}),
        ({}, {"annotations": REVISION, "labels": {"c": "3"}}, {NONE, OTHERS, ALL}),
        ({}, {"annotations": {"deployment.example.com/revision": "1"}}, {OTHERS, ALL}),
    ],
)
def test_which_annotations_count(
    before: Any, now: Any, counting: set[DependentAnnotations], with_status: bool
) -> None:
    states = state("1", metadata=before), state("2", metadata=now)
    found = {
        one
        for one in DependentAnnotations
        if differs(*states, with_status=with_status, annotations=one)
    }
    assert found == counting


def test_which_owners_of_fields_count() -> None:
    def counting(field: dict[str, str]) -> list[bool]:
        states = state("1"), state("2", metadata={"managedFields": [field]})
        return [differs(*states, with_status=False, annotations=one) for one in (NONE, OTHERS, ALL)]

    assert counting(OF_ANNOTATIONS) == [False, True, True]
    assert counting(OF_STATUS) == [False, False, True]


def test_by_default_a_deployment_that_becomes_available_counts() -> None:
    """As for the Go runner: not the values of a status, but which fields it has."""
    watch = Watch(kind=KindName("g", "v1", "K"), play=PlayPath(playbook="/p"))
    usual = watch.watch_dependent_annotations

    def of_status(*names: str) -> dict[str, Any]:
        fields = {"f:status": {f"f:{name}": {} for name in names}}
        return {"managedFields": [{**OF_STATUS, "fieldsV1": fields}]}

    def counts(before: dict[str, Any], now: dict[str, Any]) -> bool:
        states = state("1", metadata=before, status=1), state("2", metadata=now, status=2)
        return differs(*states, with_status=False, annotations=usual)

    assert counts(of_status("replicas"), of_status("replicas", "availableReplicas"))
    assert not counts(of_status("replicas"), of_status("replicas"))
    assert counts({}, {"annotations": REVISION})


def test_own_writes_count_only_in_exactly_their_version() -> None:
    own = OwnWrites(remembered=2)
    key, other = Key("c", "ns", "x"), Key("c", "ns", "y")
    own.note(key, "uid", "7")
    assert own.include(key, ("uid", "7"))
    assert not own.include(key, ("uid", "8"))
    assert not own.include(other, ("uid", "7"))
    own.note(key, "", "9")
    own.note(key, "a", "1")
    own.note(key, "b", "1")
    assert not own.include(key, ("uid", "7"))


DNSET = {
    "metadata": {"name": "dn", "namespace": "ns"},
    "deps": {"logSet": {"metadata": {"name": "log"}}, "far": {"name": "log", "namespace": "there"}},
}
NEAR = Reference(KindName("g", "v1", "LogSet"), "deps.logSet.metadata.name")
FAR = Reference(KindName("g", "v1", "LogSet"), "deps.far.name", "deps.far.namespace")


@pytest.mark.parametrize(
    ("reference", "namespace", "name", "expected"),
    [
        (NEAR, "ns", "log", True),
        (NEAR, "there", "log", False),
        (NEAR, "ns", "other", False),
        (FAR, "there", "log", True),
        (FAR, "ns", "log", False),
        (Reference(NEAR.kind, "deps.none.name"), "ns", "log", False),
        (Reference(NEAR.kind, "deps.logSet.metadata.name", "deps.none"), "ns", "log", True),
        (NEAR, "", "log", True),
    ],
)
def test_references(reference: Reference, namespace: str, name: str, expected: bool) -> None:
    target = {"metadata": {"name": name, "namespace": namespace}}
    assert refers_to(reference, DNSET, target) is expected


def test_a_path_that_leads_nowhere_is_empty() -> None:
    assert field_text(DNSET, "deps.logSet") == ""
    assert field_text(DNSET, "deps.logSet.metadata.name.more") == ""


def standing(
    generation: int = 1, ready: str = "True", message: str = "", **metadata: str
) -> Object:
    """An object with a Ready condition, as a reference sees it."""
    return {
        "metadata": {"name": "db", "generation": generation, **metadata},
        "status": {
            "seen": message,
            "conditions": [
                {"type": "Ready", "status": ready, "message": message},
                {"type": "Degraded", "status": message or "False"},
            ],
        },
    }


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        pytest.param(standing(), False, id="nothing"),
        pytest.param(standing(message="2/3"), False, id="messages and other conditions"),
        pytest.param(standing(labels="x"), False, id="other metadata"),
        pytest.param(standing(ready="False"), True, id="the condition"),
        pytest.param(standing(generation=2), True, id="the spec"),
        pytest.param(standing(deletionTimestamp="now"), True, id="deletion begins"),
        pytest.param({"metadata": {"name": "db", "generation": 1}}, True, id="no status any more"),
    ],
)
def test_a_reference_with_conditions_follows_these_alone(now: Object, expected: bool) -> None:
    assert conditions_differ(standing(), now, ("Ready",)) is expected


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        pytest.param(standing(ready="Unknown"), False, id="unknown"),
        pytest.param({"metadata": {"name": "db", "generation": 1}}, False, id="no status yet"),
        pytest.param(standing(), True, id="true"),
        pytest.param(standing(2, ready="False"), True, id="the spec"),
    ],
)
def test_who_waits_for_a_condition_runs_when_it_holds(now: Object, expected: bool) -> None:
    assert conditions_differ(standing(ready="False"), now, ("Ready",)) is expected
