# SPDX-License-Identifier: Apache-2.0
"""What rules learn of conditions and Events: tables."""

from typing import Any

import pytest
import yaml


def cluster(uid: str = "1", **conditions: str) -> dict[str, Any]:
    """A cluster with conditions, each given as ``Status/Reason``."""
    listed = [
        {"type": kind, "status": said.split("/")[0], "reason": said.split("/")[1], "message": "m"}
        for kind, said in conditions.items()
    ]
    metadata = {"name": f"mo-{uid}", "namespace": "prod", "uid": uid}
    return {"kind": "MatrixOneCluster", "metadata": metadata, "status": {"conditions": listed}}


def told(events: Any) -> list[tuple[str, ...]]:
    return [
        (
            event["what"],
            event["name"],
            *(
                f"{event['condition'][name]}"
                for name in ("type", "status", "reason")
                if "condition" in event
            ),
            *([f"was {event['before']['status']}"] if "before" in event else []),
        )
        for event in events
    ]


def test_a_change_of_status_or_reason_is_told_with_what_was_before(source) -> None:
    known = source.Conditions(frozenset())
    first = cluster(Ready="False/Starting", Synced="True/Applied")
    assert told(known.changed(first)) == [
        ("condition", "mo-1", "Ready", "False", "Starting"),
        ("condition", "mo-1", "Synced", "True", "Applied"),
    ]
    assert told(known.changed(first)) == []
    assert told(known.changed(cluster(Ready="True/AllSetsReady", Synced="True/Applied"))) == [
        ("condition", "mo-1", "Ready", "True", "AllSetsReady", "was False")
    ]


def test_another_message_alone_is_no_news(source) -> None:
    known = source.Conditions(frozenset())
    obj = cluster(Ready="False/Starting")
    list(known.changed(obj))
    obj["status"]["conditions"][0]["message"] = "2 of 3"
    assert told(known.changed(obj)) == []


def test_only_the_wanted_conditions_count(source) -> None:
    known = source.Conditions(frozenset({"Ready"}))
    found = known.changed(cluster(Ready="True/A", Synced="True/B"))
    assert told(found) == [("condition", "mo-1", "Ready", "True", "A")]


def test_a_second_list_tells_what_happened_meanwhile(source) -> None:
    known = source.Conditions(frozenset())
    both = [cluster("1", Ready="True/A"), cluster("2", Ready="True/A")]
    assert all(event["initial"] for event in known.listed(both, initial=True))
    later = [cluster("2", Ready="False/B"), cluster("3", Ready="True/A")]
    found = list(known.listed(later, initial=False))
    assert told(found) == [
        ("condition", "mo-2", "Ready", "False", "B", "was True"),
        ("condition", "mo-3", "Ready", "True", "A"),
        ("deleted", "mo-1"),
    ]
    assert not any(event["initial"] for event in found)


def test_a_deletion_is_told_once(source) -> None:
    known = source.Conditions(frozenset())
    list(known.changed(cluster(Ready="True/A")))
    assert told(known.deleted(cluster())) == [("deleted", "mo-1")]
    assert told(known.deleted(cluster())) == []


@pytest.mark.parametrize(
    "status",
    [None, [], {"conditions": None}, {"conditions": "x"}, {"conditions": [None, {"type": 1}]}],
    ids=str,
)
def test_a_status_of_another_shape_is_no_error(source, status: Any) -> None:
    known = source.Conditions(frozenset())
    assert told(known.changed({**cluster(), "status": status})) == []


def test_what_a_resource_says_is_no_template(source) -> None:
    """Rules and playbooks evaluate texts; a user who may create a resource must not write them."""
    known = source.Conditions(frozenset())
    obj = cluster(Ready="False/{{ 1 + 1 }}")
    obj["status"]["conditions"][0]["message"] = "{{ lookup('pipe', 'id') }} {% raw %} {# x #}"
    obj["metadata"]["labels"] = {"a": "{{ b }}"}
    [event] = known.changed(obj)
    text = str(event)
    assert "lookup" in text
    assert not any(mark in str(value) for mark in ("{{", "{%", "{#") for value in leaves(event))


def leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for one in value.values() for leaf in leaves(one)]
    return [value]


def test_an_event_about_an_object_of_the_group(source) -> None:
    regarding = {
        "apiVersion": "core.matrixorigin.io/v1alpha1",
        "kind": "LogSet",
        "namespace": "prod",
        "name": "mo",
        "uid": "1",
    }
    event = {
        "type": "Warning",
        "reason": "FailedOver",
        "action": "Replace",
        "note": "store 1 {{ x }}",
        "regarding": regarding,
        "series": {"count": 3},
    }
    found = source.told_event(event)
    assert found["what"] == "event"
    assert (found["kind"], found["namespace"], found["name"]) == ("LogSet", "prod", "mo")
    assert found["event"] == {
        "type": "Warning",
        "reason": "FailedOver",
        "action": "Replace",
        "note": "store 1 { { x }}",
        "count": 3,
    }
    other = {**event, "regarding": {**regarding, "apiVersion": "apps/v1"}}
    assert source.told_event(other) is None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"kind": ["Backup"]}, "unknown options: kind; there are kinds, namespaces"),
        ({"kinds": "Backup"}, "kinds must be a list of names"),
        ({"events": "yes"}, "events must be true or false"),
        ({"kubeconfig": 1}, "kubeconfig must be a text"),
    ],
    ids=str,
)
def test_wrong_options_are_named(source, given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        source.Settings.of(given)


def test_documented_options_are_those_that_are_read(source) -> None:
    documented = yaml.safe_load(source.DOCUMENTATION)["options"]
    assert documented.keys() == source.Settings.__dataclass_fields__.keys()
    assert yaml.safe_load(source.EXAMPLES)
