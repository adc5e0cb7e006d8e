# SPDX-License-Identifier: Apache-2.0
"""Which events of an object lead to a run."""

from typing import Any

import pytest

from ansible_operator import metrics
from ansible_operator.kube.interface import EventType
from ansible_operator.loop.triggers.primaries import conditions_of, why_run
from ansible_operator.watches import Finalizer, KindName, PlayPath, Requirement, Selector, Watch

KIND = KindName("g", "v1", "K")
SELECTOR = Selector((), (Requirement("tier", "Exists"),))
LABELS = {"tier": "gold"}


def watch(**fields: Any) -> Watch:
    return Watch(kind=KIND, play=PlayPath(playbook="/p"), **fields)


def obj(generation: int | None = 1, **metadata: Any) -> dict[str, Any]:
    if generation is not None:
        metadata["generation"] = generation
    return {"metadata": {"name": "x", "namespace": "d", "uid": "u", **metadata}}


GONE = {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["f"]}
ANNOTATED = watch(watch_annotations_changes=True)
SELECTING = watch(selector=SELECTOR)
FINALIZING = watch(selector=SELECTOR, finalizer=Finalizer("f", vars={"a": "b"}))


@pytest.mark.parametrize(
    ("settings", "before", "now", "expected"),
    [
        pytest.param(watch(), None, obj(), "created", id="created"),
        pytest.param(watch(), obj(1), obj(2), "spec changed", id="generation"),
        pytest.param(watch(), obj(1), obj(1, labels=LABELS), "", id="labels only"),
        pytest.param(watch(), obj(1), obj(1, finalizers=["f"]), "", id="finalizers only"),
        pytest.param(watch(), obj(1), obj(1, annotations={"a": "b"}), "", id="annotations"),
        pytest.param(
            ANNOTATED, obj(1), obj(1, annotations={"a": "b"}), "annotations changed", id="asked for"
        ),
        pytest.param(watch(), obj(None), obj(None), "changed", id="no generations"),
        pytest.param(watch(), obj(0), obj(0), "changed", id="generations zero"),
        pytest.param(watch(), obj(1), obj(1, uid="other"), "created", id="created anew"),
        pytest.param(SELECTING, None, obj(), "", id="not selected"),
        pytest.param(SELECTING, None, obj(labels=LABELS), "created", id="selected"),
        pytest.param(SELECTING, obj(1), obj(1, labels=LABELS), "selected", id="joins"),
        pytest.param(SELECTING, obj(1, labels=LABELS), obj(2), "", id="leaves"),
        pytest.param(SELECTING, obj(1), obj(2), "", id="never matched"),
        pytest.param(
            FINALIZING,
            obj(1, finalizers=["f"]),
            obj(2, **GONE),
            "deletion requested",
            id="unlabelled",
        ),
        pytest.param(FINALIZING, None, obj(2, **GONE), "created", id="deleted while we were away"),
        pytest.param(SELECTING, obj(1), obj(2, **GONE), "", id="not our finalizer"),
    ],
)
def test_updates(settings: Watch, before: Any, now: Any, expected: str) -> None:
    event = EventType.ADDED if before is None else EventType.MODIFIED
    assert why_run(settings, event, before, now) == expected


IGNORING = watch(
    ignored_namespaces=frozenset({"denied"}), finalizer=Finalizer("f", vars={"a": "b"})
)


@pytest.mark.parametrize(
    ("namespace", "finalizers", "leaving", "expected"),
    [
        ("denied", [], False, ""),
        ("other", [], False, "created"),
        ("denied", ["f"], True, "created"),
    ],
)
def test_objects_of_an_ignored_namespace_are_only_let_go(
    namespace: str, finalizers: list[str], leaving: bool, expected: str
) -> None:
    seen = obj(1, **{"finalizers": finalizers, **(GONE if leaving else {}), "namespace": namespace})
    assert why_run(IGNORING, EventType.ADDED, None, seen) == expected


def test_deletions_always_pass() -> None:
    assert why_run(SELECTING, EventType.DELETED, obj(), obj()) == "deleted"


def having(*conditions: Any) -> dict[str, Any]:
    return {**obj(), "status": {"conditions": list(conditions)}}


def condition(kind: str, status: str, reason: str) -> dict[str, str]:
    return {"type": kind, "status": status, "reason": reason}


def shown() -> dict[tuple[str, str], float]:
    """Return the values of an object's conditions, by type and reason."""
    [family] = metrics.RESOURCE_CONDITION.collect()
    return {
        (sample.labels["condition"], sample.labels["reason"]): sample.value
        for sample in family.samples
        if sample.labels["object"] == "x"
    }


def test_conditions_are_shown_as_they_are() -> None:
    """One value for each, also when the reason changes; and none of what is gone."""
    labels = ("g", "K", "x", "d", "v1")
    wanted = ("Ready", "Degraded")
    first = having(
        condition("Ready", "False", "Creating"),
        condition("Degraded", "Unknown", ""),
        condition("Synced", "True", "Applied"),
    )
    metrics.note_conditions(labels, conditions_of(first, wanted))
    assert shown() == {("Ready", "Creating"): 0, ("Degraded", ""): -1}

    later = having(condition("Ready", "True", "Serves"))
    metrics.note_conditions(labels, conditions_of(later, wanted))
    assert shown() == {("Ready", "Serves"): 1}

    metrics.forget_resource(labels)
    assert shown() == {}


@pytest.mark.parametrize(
    "status",
    [
        None,
        "Ready",
        {},
        {"conditions": None},
        {"conditions": {"type": "Ready"}},
        {"conditions": ["Ready", None, {"status": "True"}, {"type": ["Ready"]}]},
    ],
)
def test_what_is_no_condition_is_left_out(status: Any) -> None:
    """Whoever may write a status may write anything."""
    assert conditions_of({**obj(), "status": status}, ("Ready",)) == {}
