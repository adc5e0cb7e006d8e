# SPDX-License-Identifier: Apache-2.0
"""matrixorigin.matrixone.status against the real custom resource definitions."""

import json

import pytest

pytestmark = pytest.mark.api


def status(resource, ready, reason, message="", check=False, **options):
    wanted = {
        "observedGeneration": 1,
        "pods": "0/1",
        "conditions": [
            {
                "type": "Ready",
                "status": ready,
                "observedGeneration": 1,
                "reason": reason,
                "message": message,
            }
        ],
    }
    arguments = {"resource": resource, "status": wanted, **options}
    return {"matrixorigin.matrixone.status": arguments, "check_mode": check}


def test_status_is_written_once(play, web_ui, live):
    """A check keeps nothing, the first write counts, the same again is no change."""
    told = (web_ui, "False", "NoEnoughReadyStores", "0/1 are ready")

    checked, first, second = play(status(*told, check=True), status(*told), status(*told))

    assert [checked["changed"], first["changed"], second["changed"]] == [True, True, False]
    assert live("webui", "ui")["status"]["pods"] == "0/1"
    assert second["events"] == []


def test_a_status_that_decides_replaces_only_the_one_it_was_decided_by(play, web_ui, live):
    """Two operators may be at work for some seconds; who stood still must decide anew."""
    serving = (web_ui, "True", "EnoughReadyStores", "1/1 are ready")
    down = (web_ui, "False", "NoEnoughReadyStores", "0/1 are ready")

    first, late, same = play(
        status(*serving, unless_changed=True),
        status(*down, unless_changed=True),
        status(*serving, unless_changed=True),
    )
    known = live("webui", "ui")
    (now,) = play(status(known, *down[1:], unless_changed=True))

    assert first["changed"]
    assert late["failed"]
    assert late["outdated"]
    assert not same["changed"]
    assert known["status"]["conditions"][0]["status"] == "True"
    assert now["changed"]


def test_a_list_that_the_server_drops_is_not_written_again(play, web_ui, live):
    """The server drops a list keyed by its elements with the last one; empty says the same."""

    def stores(*failed):
        task = status(web_ui, "True", "EnoughReadyStores", "1/1")
        down = [{"podName": name, "phase": "Down"} for name in failed]
        task["matrixorigin.matrixone.status"]["status"]["failedStores"] = down
        return task

    results = play(stores("ui-0"), stores(), stores())

    assert [result["changed"] for result in results] == [True, True, False]
    assert not live("webui", "ui")["status"].get("failedStores")


def test_transition_time_moves_with_the_status_only(play, web_ui, live, fake_testbed):
    """Another reason keeps the time; another status moves it."""
    play(status(web_ui, "False", "NoEnoughReadyStores", "0/1"))
    body = {"status": live("webui", "ui")["status"]}
    body["status"]["conditions"][0]["lastTransitionTime"] = "2020-01-01T00:00:00Z"
    fake_testbed.kubectl(
        *("-n", web_ui["metadata"]["namespace"], "patch", "webui", "ui", "--subresource=status"),
        *("--type=merge", "-p", json.dumps(body)),
    )

    play(status(web_ui, "False", "Deleting", "going"))
    same = live("webui", "ui")["status"]["conditions"][0]
    play(status(web_ui, "True", "EnoughReadyStores", "1/1"))
    other = live("webui", "ui")["status"]["conditions"][0]

    assert (same["reason"], same["lastTransitionTime"]) == ("Deleting", "2020-01-01T00:00:00Z")
    assert other["status"] == "True"
    assert other["lastTransitionTime"] > "2020-01-02"


def test_fields_that_are_left_out_are_removed(play, web_ui, live):
    """A status is complete: what an earlier one said and this one does not is gone."""
    first = status(web_ui, "False", "NoEnoughReadyStores")
    first["matrixorigin.matrixone.status"]["status"]["host"] = "ui.example"

    play(first, status(web_ui, "False", "NoEnoughReadyStores"))

    assert "host" not in live("webui", "ui")["status"]


def test_events_tell_transitions(play, web_ui, installed_testbed):
    """Becoming ready is normal, no longer being ready a warning, saying it again no event."""
    own = [{"type": "Normal", "reason": "Scaled", "action": "Scale", "note": "from 1 to 2"}]

    results = play(
        status(web_ui, "False", "NoEnoughReadyStores"),
        status(web_ui, "True", "EnoughReadyStores", "1/1 are ready"),
        status(web_ui, "True", "EnoughReadyStores", "1/1 are ready", check=True, events=own),
        status(web_ui, "True", "EnoughReadyStores", "1/1 are ready", events=own),
        status(web_ui, "False", "NoEnoughReadyStores", "0/1 are ready"),
    )

    assert [result.get("events") for result in results] == [
        [],
        ["EnoughReadyStores"],
        None,
        ["Scaled"],
        ["NoEnoughReadyStores"],
    ]
    namespace = web_ui["metadata"]["namespace"]
    text = installed_testbed.kubectl("-n", namespace, "get", "events.events.k8s.io", "-o", "json")
    told = {
        (event["reason"], event["type"], event["note"], event["regarding"]["uid"])
        for event in json.loads(text)["items"]
        if event["regarding"]["kind"] == "WebUI"
    }
    uid = web_ui["metadata"]["uid"]
    assert told == {
        ("EnoughReadyStores", "Normal", "1/1 are ready", uid),
        ("Scaled", "Normal", "from 1 to 2", uid),
        ("NoEnoughReadyStores", "Warning", "0/1 are ready", uid),
    }


def test_failure_is_written_before_the_task_fails(play, web_ui, live):
    """The status says what went wrong even though the task ends the play."""
    task = status(web_ui, "False", "NoEnoughReadyStores", failure="spec.image: cannot be pulled")

    (result,) = play(task)

    assert result["failed"]
    assert result["msg"] == "spec.image: cannot be pulled"
    assert live("webui", "ui")["status"]["conditions"][0]["reason"] == "NoEnoughReadyStores"


def test_a_namesake_or_nobody_is_left_alone(play, web_ui, live):
    """A resource that was deleted, or made anew under the same name, gets no status."""
    other = json.loads(json.dumps(web_ui))
    other["metadata"]["uid"] = "00000000-0000-0000-0000-000000000000"
    gone = json.loads(json.dumps(web_ui))
    gone["metadata"]["name"] = "gone"

    results = play(
        status(other, "True", "EnoughReadyStores"), status(gone, "True", "EnoughReadyStores")
    )

    assert [result["changed"] for result in results] == [False, False]
    assert "status" not in live("webui", "ui")


def test_a_report_is_status_events_and_the_next_pass(play, web_ui, live):
    """What the filter returned is written as a whole; either it or a status is required."""
    written = status(web_ui, "False", "NoEnoughReadyStores")["matrixorigin.matrixone.status"]
    event = {"type": "Normal", "reason": "Waiting", "action": "Wait", "note": "for a node"}
    report = {"status": written["status"], "events": [event], "requeue": "15s", "ready": False}

    done, neither, both = play(
        {"matrixorigin.matrixone.status": {"resource": web_ui, "report": report}},
        {"matrixorigin.matrixone.status": {"resource": web_ui}},
        {"matrixorigin.matrixone.status": {**written, "report": report}},
    )

    assert done["requeue"] == "15s"
    assert "Waiting" in done["events"]
    assert live("webui", "ui")["status"]["pods"] == "0/1"
    assert "one of the following is required: status, report" in neither["msg"]
    assert "mutually exclusive" in both["msg"]
