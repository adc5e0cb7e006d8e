# SPDX-License-Identifier: Apache-2.0
"""Status of a cluster from its children."""

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.reporting.conditions import (
    completed,
)

from tests.support.builders import NOW, conditions, resource, serving, states
from tests.support.passes import (
    report_on,
)

CHILDREN = [
    resource("LogSet"),
    resource("DNSet", replicas=1),
    resource("CNSet", "mo-tp", replicas=2),
    resource("ProxySet", replicas=1),
]


def cluster(before=None):
    made = resource("MatrixOneCluster")
    made["spec"] = {"version": "1.3.0"}
    if before is not None:
        made["status"] = {"conditions": before}
    return made


def observed(**children):
    found = {
        "logSet": serving("LogSet", "mo", "3/3"),
        "dnSet": serving("DNSet", "mo"),
        "cnSets": [serving("CNSet", "mo-tp", "2/2")],
        "proxySet": serving("ProxySet", "mo"),
        "webUI": None,
        "credential": {"metadata": {"name": "mo-credential"}},
        **children,
    }
    for label, port in (("proxySet", 6001),):
        if found[label]:
            found[label]["status"].update(host="mo-proxy.prod", port=port)
    for one in found["cnSets"]:
        one["status"].update(host=f"{one['metadata']['name']}-cn.prod", port=6001)
    return found


def report(seen, subject=None, failure="", applied=None, **planned):
    plan = {"objects": CHILDREN, "credential": "mo-credential", **planned}
    return report_on(subject or cluster(), plan, seen, applied or {}, failure, NOW)


def lacking(kind, name, *entries, pods="0/1"):
    child = serving(kind, name, pods)
    child["status"]["conditions"] = conditions(*entries)
    return child


@pytest.mark.parametrize(
    ("spec", "children", "ready"),
    [
        ({"version": "1.3.0"}, {}, "not created: paused by an annotation"),
        (
            {"version": "1.3.0", "logService": {"replicas": 3}, "tn": {"replicas": 1}},
            {"logSet": serving("LogSet", "mo", "3/3")},
            "waiting for DNSet mo: it has no status yet",
        ),
    ],
)
def test_a_paused_cluster_is_not_ready_before_its_parts_are_there(spec, children, ready):
    subject = cluster()
    subject["spec"] = spec
    subject["metadata"]["annotations"] = {"matrixorigin.io/paused": "true"}

    found = report({"cnSets": [], **children}, subject, objects=[], paused=True)["status"]

    told = {one["type"]: one for one in found["conditions"]}
    assert (told["Ready"]["status"], told["Ready"]["message"]) == ("False", ready)
    assert states(found)["Paused"] == ("True", "PausedByAnnotation")
    assert found["phase"] == "Paused"


def test_all_components_serve():
    """Ready and synced, with counts, version, address and credential."""
    told = report(observed())

    status = told["status"]
    assert states(status) == {
        "Ready": ("True", "AllSetsReady"),
        "Synced": ("True", "AllSetsSynced"),
        "Progressing": ("False", "Settled"),
        "Degraded": ("False", "AsExpected"),
    }
    assert told["ready"]
    assert told["requeue"] == ""
    assert (status["host"], status["port"]) == ("mo-proxy.prod", 6001)
    assert status["readable"] == {
        "log": "3/3",
        "tn": "1/1",
        "dn": "1/1",
        "cn": "2/2",
        "proxy": "1/1",
    }
    assert status["version"] == "1.3.0"
    assert status["credentialRef"] == {"name": "mo-credential"}
    assert status["cnGroups"] == {
        "desiredGroups": 1,
        "readyGroups": 1,
        "syncedGroups": 1,
        "groups": [
            {
                "name": "mo-tp",
                "group": "tp",
                "host": "mo-tp-cn.prod",
                "port": 6001,
                "ready": True,
                "synced": True,
            }
        ],
    }
    assert status["logService"]["pods"] == "3/3"


def test_a_cluster_that_answers_no_sql_is_not_ready():
    """Although all its components serve; nothing that is watched changes when it answers."""
    told = report(observed(results={"health": {"lacking": "an answer"}}))
    assert states(told["status"])["Ready"] == ("False", "SQLNotAnswered")
    assert told["status"]["message"] == "waiting for an answer"
    assert told["requeue"] == "5s"
    assert not told["ready"]


SERVES, STOPPED = ("True", "AllSetsReady"), ("False", "Stopped")
NOT_READY = (("Ready", "False", "NoEnoughReadyStores"), ("Synced", "False", "RollingOut"))


@pytest.mark.parametrize(
    ("changes", "state", "message"),
    [
        ({}, SERVES, "all components serve"),
        (
            {"proxySet": serving("ProxySet", "mo", "0/0")},
            SERVES,
            "stopped with replicas 0: ProxySet mo; all others serve",
        ),
        (
            {"cnSets": [serving("CNSet", "mo-tp", "0/0"), serving("CNSet", "mo-ap")]},
            SERVES,
            "stopped with replicas 0: CNSet mo-tp; all others serve",
        ),
        (
            {"cnSets": [serving("CNSet", "mo-tp", "0/0"), serving("CNSet", "mo-ap", "0/0")]},
            STOPPED,
            "stopped with replicas 0: CNSet mo-tp, CNSet mo-ap; no SQL is answered",
        ),
        (
            {"dnSet": serving("DNSet", "mo", "0/0")},
            STOPPED,
            "stopped with replicas 0: DNSet mo; no SQL is answered",
        ),
        (
            {"logSet": serving("LogSet", "mo", "0/0")},
            STOPPED,
            "stopped with replicas 0: LogSet mo; no SQL is answered",
        ),
    ],
)
def test_a_component_that_is_stopped_is_not_said_to_serve(changes, state, message):
    """It is what the spec asks for, but a cluster that cannot answer SQL is not ready."""
    groups = [resource("CNSet", one["metadata"]["name"]) for one in changes.get("cnSets", [])[1:]]
    told = report(observed(**changes), objects=[*CHILDREN, *groups])

    [ready] = [one for one in told["status"]["conditions"] if one["type"] == "Ready"]
    assert (ready["status"], ready["reason"]) == state
    assert ready["message"] == message
    assert told["ready"]
    assert told["requeue"] == ""
    assert not {"Reconciling", "Stalled"} & states(told["status"]).keys()


@pytest.mark.parametrize(
    ("changes", "ready", "synced"),
    [
        (
            {"logSet": lacking("LogSet", "mo", *NOT_READY)},
            "LogServiceNotReady",
            "LogServiceNotSynced",
        ),
        ({"logSet": None}, "LogServiceNotReady", "LogServiceNotSynced"),
        ({"dnSet": lacking("DNSet", "mo", *NOT_READY)}, "DNSetNotReady", "DNSetNotSynced"),
        (
            {"cnSets": [lacking("CNSet", "mo-tp", *NOT_READY)]},
            "SomeCNSetsAreNotReady",
            "SomeCNSetsAreNotSynced",
        ),
        ({"cnSets": []}, "SomeCNSetsAreNotReady", "SomeCNSetsAreNotSynced"),
        (
            {"proxySet": lacking("ProxySet", "mo", *NOT_READY)},
            "ProxySetNotReady",
            "ProxyNotSynced",
        ),
        (
            {
                "logSet": lacking("LogSet", "mo", *NOT_READY),
                "proxySet": lacking("ProxySet", "mo", *NOT_READY),
            },
            "LogServiceNotReady",
            "LogServiceNotSynced",
        ),
    ],
)
def test_first_component_that_lacks_something(changes, ready, synced):
    """The first failing rule wins."""
    told = report(observed(**changes))

    assert states(told["status"])["Ready"] == ("False", ready)
    assert states(told["status"])["Synced"] == ("False", synced)
    assert told["requeue"] == "15s"


@pytest.mark.parametrize(
    "child",
    [
        serving("DNSet", "mo", generation=3),
        lacking("DNSet", "mo", ("Ready", "Unknown", "Reconciling"), ("Synced", "True", "Applied")),
    ],
)
def test_component_that_takes_a_change_in(child):
    """Nobody knows yet whether it serves, so nobody is alarmed, and nobody is told that it does."""
    told = report(observed(dnSet=child))

    assert states(told["status"])["Ready"] == ("Unknown", "Reconciling")
    assert not told["ready"]


def test_serving_while_rolling():
    """A cluster can be ready while a change is on its way, and says which component is at it."""
    child = lacking(
        "DNSet",
        "mo",
        ("Ready", "True", "EnoughReadyStores"),
        ("Synced", "False", "RollingOut"),
        ("Progressing", "True", "RollingOut"),
        pods="1/1",
    )
    before = conditions(("Ready", "True", "AllSetsReady"), ("Progressing", "False", "Settled"))

    status = report(observed(dnSet=child), cluster(before))["status"]

    assert states(status)["Ready"] == ("True", "AllSetsReady")
    assert states(status)["Progressing"] == ("True", "RollingOut")
    assert status["message"] == "waiting for DNSet mo: Synced is False"


def test_serving_while_a_node_of_before_drains():
    """All runs what the spec asks for; what is to go still serves its clients, and that is told."""
    child = lacking(
        "CNSet",
        "mo-tp",
        ("Ready", "True", "EnoughReadyStores"),
        ("Synced", "True", "Applied"),
        ("Progressing", "True", "Draining"),
        pods="2/2",
    )
    before = conditions(("Ready", "True", "AllSetsReady"), ("Progressing", "False", "Settled"))

    told = report(observed(cnSets=[child]), cluster(before))

    status = told["status"]
    assert states(status)["Ready"] == ("True", "AllSetsReady")
    assert states(status)["Synced"] == ("True", "AllSetsSynced")
    assert states(status)["Progressing"] == ("True", "Draining")
    assert status["message"] == "CNSet mo-tp: Progressing is True"
    assert status["phase"] == "Progressing"
    assert told["ready"]


def test_broken_component_degrades():
    """What is broken in a child is told at the cluster, with its name."""
    child = lacking("LogSet", "mo", *NOT_READY, ("Degraded", "True", "StoresFailed"), pods="2/3")

    status = report(observed(logSet=child))["status"]

    assert states(status)["Degraded"] == ("True", "StoresFailed")
    assert status["phase"] == "Degraded"
    assert status["message"] == "LogSet mo: Degraded is True"


def test_without_proxy_the_first_group_is_the_entrance():
    """SQL goes to the first group in the order of the spec, not of the list."""
    wanted = [*CHILDREN[:2], resource("CNSet", "mo-b"), resource("CNSet", "mo-a")]
    groups = [serving("CNSet", "mo-a"), serving("CNSet", "mo-b")]

    status = report(observed(proxySet=None, cnSets=groups), objects=wanted)["status"]

    assert status["host"] == "mo-b-cn.prod"
    assert "proxy" not in status
    assert "proxy" not in status["readable"]


def test_unusable_spec():
    """The message names the field; a cluster that served before still does."""
    before = conditions(("Ready", "True", "AllSetsReady"))

    told = report(observed(), cluster(before), objects=[], invalid="spec.tn: must be set")

    assert states(told["status"])["Synced"] == ("False", "InvalidSpec")
    assert states(told["status"])["Ready"][0] == "True"
    assert told["status"]["message"] == "spec.tn: must be set"
    assert told["requeue"] == ""


def test_unusable_spec_of_a_new_cluster():
    """Nothing was made, so nothing serves."""
    nothing = {"logSet": None, "dnSet": None, "cnSets": [], "proxySet": None, "credential": None}

    told = report(observed(**nothing), objects=[], invalid="spec.tn: must be set", credential="")

    assert states(told["status"])["Ready"][0] == "False"
    assert "credentialRef" not in told["status"]


def test_refused_child():
    """What the API server says against a child is the cluster's Synced message."""
    told = report(observed(), failure="apply CNSet prod/mo-tp: spec.nodePort: forbidden")

    assert states(told["status"])["Synced"] == ("False", "ApplyFailed")
    assert "spec.nodePort" in told["status"]["message"]


def test_paused():
    """A paused cluster keeps saying whether it serves, and that changes are not applied."""
    told = report(observed(), objects=[], paused=True, credential="")

    assert states(told["status"])["Ready"] == ("True", "AllSetsReady")
    assert states(told["status"])["Synced"] == ("False", "Paused")
    assert told["status"]["phase"] == "Paused"


def test_new_credential_is_referred_to_and_told():
    """The Secret made in this pass is in the status at once, and worth an event."""
    told = report(observed(credential=None))

    assert told["status"]["credentialRef"] == {"name": "mo-credential"}
    assert [one["reason"] for one in told["events"]] == ["CredentialCreated"]
    assert report(observed())["events"] == []


def test_missing_secret_of_the_user_is_awaited():
    """A Secret that the spec names but nobody made is what the cluster waits for."""
    waiting = "waiting for Secret mine, which spec.credentialSecretRef names"

    status = report(observed(credential=None), credential="", waitingFor=waiting)["status"]

    assert states(status)["Progressing"] == ("True", "WaitingForDependency")
    assert "credentialRef" not in status


def test_version_of_the_part_that_is_behind():
    """While components are updated one after the other, the old version is shown."""
    behind = serving("ProxySet", "mo")
    behind["status"]["version"] = "1.2.0"

    assert report(observed(proxySet=behind))["status"]["version"] == "1.2.0"


def test_children_applied_in_this_pass_count():
    """What apply returned is fresher than what was observed: a new generation is not synced."""
    fresh = serving("LogSet", "mo", "3/3", generation=3)

    told = report(observed(), applied={"objects": {"LogSet/mo": fresh}})

    assert states(told["status"])["Synced"] == ("False", "LogServiceNotSynced")


def test_a_log_service_that_does_not_answer_leaves_the_cluster_unknown():
    """What could not be observed is Unknown, with the part and the reason."""
    text = "HAKeeper does not answer"
    child = lacking(
        "LogSet",
        "mo",
        ("Ready", "Unknown", "HAKeeperUnreachable"),
        ("Synced", "True", "Applied"),
        ("Progressing", "False", "Settled"),
        ("Degraded", "True", "HAKeeperUnreachable"),
        pods="3/3",
    )
    child["status"]["conditions"][0]["message"] = text
    child["status"]["conditions"][3]["message"] = text

    told = report(observed(logSet=child))

    assert states(told["status"]) == {
        "Ready": ("Unknown", "HAKeeperUnreachable"),
        "Synced": ("True", "AllSetsSynced"),
        "Progressing": ("False", "Settled"),
        "Degraded": ("True", "HAKeeperUnreachable"),
    }
    assert told["status"]["message"] == f"LogSet mo: {text}"


def test_a_part_that_is_broken_is_not_taken_for_one_that_is_being_changed():
    """Nothing is under way that would end by itself."""
    child = lacking(
        "DNSet",
        "mo",
        ("Ready", "False", "NoEnoughReadyStores"),
        ("Synced", "True", "Applied"),
        ("Progressing", "False", "Settled"),
        ("Degraded", "True", "StoresFailed"),
        pods="1/1",
    )

    found = states(report(observed(dnSet=child))["status"])

    assert found["Ready"] == ("False", "DNSetNotReady")
    assert found["Progressing"] == ("False", "Settled")
    assert found["Degraded"] == ("True", "StoresFailed")


UNREADABLE = "spec.config: is not valid TOML"


def refusing(kind, name, reason="InvalidSpec", pods="1/1"):
    """A child that serves with an earlier spec."""
    child = serving(kind, name, pods)
    ready = conditions(("Ready", "True", reason), generation=1)
    synced = conditions(("Synced", "False", reason), ("Progressing", "False", "Settled"))
    child["status"]["conditions"] = [*ready, *synced]
    return child


@pytest.mark.parametrize(
    ("children", "planned", "reason", "synced"),
    [
        ({}, {"invalid": UNREADABLE}, "InvalidSpec", "InvalidSpec"),
        ({"dnSet": refusing("DNSet", "mo")}, {}, "InvalidSpec", "InvalidSpec"),
        ({"dnSet": refusing("DNSet", "mo", "ApplyFailed")}, {}, "ApplyFailed", "DNSetNotSynced"),
        ({}, {"failure": "apply LogSet: Forbidden"}, "ApplyFailed", "ApplyFailed"),
    ],
)
def test_a_spec_that_is_not_applied_is_not_ready_at_its_generation(
    children, planned, reason, synced
):
    """The database serves on, which alerts go by; who waits for the new generation is not told so."""
    subject = cluster(conditions(("Ready", "True", "AllSetsReady"), generation=1))

    found = report(observed(**children), subject, **planned)["status"]

    [ready] = [one for one in found["conditions"] if one["type"] == "Ready"]
    assert (ready["status"], ready["reason"], ready["observedGeneration"]) == ("True", reason, 1)
    assert states(found)["Synced"] == ("False", synced)


def kstatus(status):
    found = states(completed(status, None, NOW))
    return {kind: found[kind][1] for kind in ("Reconciling", "Stalled") if kind in found}


def stalled(kind, name, *entries):
    return lacking(kind, name, ("Ready", "True", "EnoughReadyStores"), *entries, pods="1/1")


REFUSED_VOLUME = (("Synced", "False", "VolumeRefused"), ("Progressing", "False", "Settled"))


@pytest.mark.parametrize(
    ("children", "reason"),
    [
        ({"logSet": stalled("LogSet", "mo", *REFUSED_VOLUME)}, "VolumeRefused"),
        ({"dnSet": refusing("DNSet", "mo")}, "InvalidSpec"),
        (
            {
                "logSet": stalled("LogSet", "mo", ("Degraded", "True", "StoresFailed")),
                "proxySet": stalled("ProxySet", "mo", ("Degraded", "True", "RolloutStuck")),
            },
            "RolloutStuck",
        ),
        (
            {"webUI": stalled("WebUI", "mo", ("Degraded", "True", "PodsNotCreated"))},
            "PodsNotCreated",
        ),
    ],
)
def test_what_stalls_a_component_stalls_the_cluster(children, reason):
    subject = [*CHILDREN, resource("WebUI")] if "webUI" in children else CHILDREN

    assert kstatus(report(observed(**children), objects=subject)["status"]) == {"Stalled": reason}


def test_a_refusal_of_an_earlier_spec_stalls_nothing():
    """A corrected spec has been given to the component, and is not carried out yet."""
    child = stalled("LogSet", "mo", *REFUSED_VOLUME)
    child["metadata"]["generation"] = 3

    found = report(observed(logSet=child))["status"]

    assert "Stalled" not in kstatus(found)


@pytest.mark.parametrize("web_ui", [None, lacking("WebUI", "mo", *NOT_READY)])
def test_a_cluster_is_not_as_asked_for_without_its_dashboard(web_ui):
    """The database serves without it."""
    found = report(observed(webUI=web_ui), objects=[*CHILDREN, resource("WebUI")])["status"]

    assert states(found)["Ready"] == ("True", "AllSetsReady")
    assert states(found)["Synced"] == ("False", "WebUINotSynced")
    assert found["phase"] == "Progressing"
