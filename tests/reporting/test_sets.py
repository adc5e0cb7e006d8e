# SPDX-License-Identifier: Apache-2.0
"""Status of the sets: every situation leads to the right conditions and words."""

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.reporting.report import (
    beginning,
    deleting,
)

from tests.support.builders import NOW, conditions, pod, resource, states, workload
from tests.support.passes import (
    report_on,
)

PODS = [pod("mo-log-0"), pod("mo-log-1"), pod("mo-log-2")]
SETTLED = {
    "Ready": ("True", "EnoughReadyStores"),
    "Synced": ("True", "Applied"),
    "Progressing": ("False", "Settled"),
    "Degraded": ("False", "AsExpected"),
}
WAS_SERVING = conditions(
    ("Ready", "True", "EnoughReadyStores"),
    ("Synced", "True", "Applied"),
    ("Progressing", "False", "Settled"),
)


def report(
    subject=None,
    *,
    live=None,
    pods=(),
    before=None,
    failure="",
    applied=None,
    health=None,
    **planned,
):
    subject = subject or resource()
    if before is not None:
        subject["status"] = {"conditions": before}
    plan = {"workload": "StatefulSet/mo-log", "objects": [{}], **planned}
    observed = {"workload": live, "pods": list(pods), "health": health}
    return report_on(subject, plan, observed, applied or {}, failure, NOW)


def in_a_bucket():
    """A LogSet whose path in a bucket is not granted yet."""
    found = resource()
    found["spec"]["sharedStorage"] = {"s3": {"path": "data/mo"}}
    return found


def test_settled():
    """Enough Pods of the latest template: ready, synced, nothing awaited, no other look."""
    told = report(live=workload(), pods=PODS)

    assert states(told["status"]) == SETTLED
    assert told["ready"]
    assert told["requeue"] == ""
    assert told["status"]["phase"] == "Ready"
    assert told["status"]["pods"] == "3/3"
    assert told["status"]["version"] == "1.3.0"
    assert told["status"]["message"] == ""
    assert told["status"]["discovery"] == {"port": 32001, "address": "mo-log-discovery.prod.svc"}
    assert told["status"]["observedGeneration"] == 2
    assert {one["observedGeneration"] for one in told["status"]["conditions"]} == {2}


@pytest.mark.parametrize(
    ("changes", "expected", "message"),
    [
        pytest.param(
            {"live": None},
            {"Ready": ("False", "NoEnoughReadyStores"), "Progressing": ("True", "Creating")},
            "not created",
            id="nothing yet",
        ),
        pytest.param(
            {"live": workload(generation=2)},
            {"Ready": ("Unknown", "Reconciling"), "Synced": ("False", "RollingOut")},
            "the change has just been applied",
            id="controller has not seen the change",
        ),
        pytest.param(
            {
                "live": workload(replicas=0, readyReplicas=0, updatedReplicas=0),
                "pods": PODS,
                "before": WAS_SERVING,
            },
            {"Ready": ("Unknown", "Reconciling"), "Degraded": ("False", "AsExpected")},
            "the change has just been applied",
            id="recreated, and its controller has not adopted the Pods",
        ),
        pytest.param(
            {
                "live": workload(readyReplicas=1),
                "pods": [
                    pod("mo-log-0"),
                    pod("mo-log-1", ready=False, waiting="ContainerCreating"),
                ],
            },
            {"Ready": ("False", "NoEnoughReadyStores"), "Degraded": ("False", "AsExpected")},
            "1/3 log stores are ready, waiting for "
            "mo-log-1 (ContainerCreating), mo-log-2 (not created yet)",
            id="coming up",
        ),
        pytest.param(
            {"live": workload(updatedReplicas=1), "pods": PODS, "before": WAS_SERVING},
            {
                "Ready": ("True", "EnoughReadyStores"),
                "Synced": ("False", "RollingOut"),
                "Progressing": ("True", "RollingOut"),
            },
            "1/3 log stores run what the spec asks for",
            id="rolling out while serving",
        ),
        pytest.param(
            {
                "subject": resource(replicas=5),
                "live": workload(wanted=5),
                "pods": PODS,
                "before": conditions(("Progressing", "False", "Settled"), generation=1),
            },
            {"Ready": ("False", "NoEnoughReadyStores"), "Progressing": ("True", "Scaling")},
            "3/5 log stores are ready",
            id="scaling out",
        ),
        pytest.param(
            {
                "live": workload(readyReplicas=2),
                "pods": [*PODS[:2], pod("mo-log-2", ready=False)],
                "before": WAS_SERVING,
            },
            {"Ready": ("False", "NoEnoughReadyStores"), "Degraded": ("True", "StoresFailed")},
            "1 of 3 log stores are down: mo-log-2 (not ready yet)",
            id="a store is lost",
        ),
        pytest.param(
            {
                "live": workload(readyReplicas=2, updatedReplicas=1),
                "pods": [*PODS[:2], pod("mo-log-2", ready=False, waiting="ImagePullBackOff")],
                "before": WAS_SERVING,
            },
            {"Degraded": ("True", "RolloutStuck"), "Synced": ("False", "RollingOut")},
            "not coming up: mo-log-2 (ImagePullBackOff)",
            id="a roll is stuck",
        ),
        pytest.param(
            {"live": None, "waitingFor": "waiting for LogSet mo: not ready"},
            {
                "Synced": ("False", "DependencyNotReady"),
                "Progressing": ("True", "WaitingForDependency"),
            },
            "not created: waiting for LogSet mo: not ready",
            id="held back by a gate",
        ),
        pytest.param(
            {"live": workload(), "pods": PODS, "waitingFor": "waiting for LogSet mo: not ready"},
            {"Ready": ("True", "EnoughReadyStores"), "Synced": ("False", "DependencyNotReady")},
            "waiting for LogSet mo: not ready",
            id="an update is held back while it serves",
        ),
        pytest.param(
            {"live": workload(), "pods": PODS, "invalid": "spec.volume.size: must not be zero"},
            {"Ready": ("True", "InvalidSpec"), "Synced": ("False", "InvalidSpec")},
            "spec.volume.size: must not be zero",
            id="unusable spec while it serves",
        ),
        pytest.param(
            {"live": workload(), "pods": PODS, "failure": "apply StatefulSet: spec: Forbidden"},
            {"Ready": ("True", "ApplyFailed"), "Synced": ("False", "ApplyFailed")},
            "apply StatefulSet: spec: Forbidden",
            id="refused by the API server",
        ),
        pytest.param(
            {"live": workload(), "pods": PODS, "paused": True},
            {
                "Ready": ("True", "EnoughReadyStores"),
                "Synced": ("False", "Paused"),
                "Progressing": ("False", "Paused"),
                "Paused": ("True", "PausedByAnnotation"),
            },
            "an annotation pauses this resource",
            id="paused",
        ),
        pytest.param(
            {
                "live": workload(),
                "pods": PODS,
                "before": conditions(("Paused", "True", "PausedByAnnotation")),
            },
            {"Paused": ("False", "NotPaused")},
            "",
            id="no longer paused",
        ),
        pytest.param(
            {
                "subject": resource(replicas=0),
                "live": workload(wanted=0, replicas=0, readyReplicas=0, updatedReplicas=0),
            },
            SETTLED,
            "",
            id="scaled to zero is ready",
        ),
    ],
)
def test_situations(changes, expected, message):
    """Each situation has its conditions, and one sentence says what a human wants first."""
    told = report(**changes)

    assert expected.items() <= states(told["status"]).items()
    assert message in told["status"]["message"]
    assert bool(message) == bool(told["status"]["message"])


@pytest.mark.parametrize(
    ("changes", "phase", "requeue"),
    [
        ({"live": workload(), "pods": PODS}, "Ready", ""),
        ({"live": None}, "Progressing", "15s"),
        ({"live": workload(), "pods": PODS, "paused": True}, "Paused", ""),
        ({"live": None, "invalid": "spec.image: must be set"}, "NotReady", ""),
        ({"subject": in_a_bucket(), "live": None}, "Progressing", "2s"),
        (
            {"subject": in_a_bucket(), "live": None, "invalid": "spec.image: must be set"},
            "NotReady",
            "",
        ),
        ({"live": workload(), "pods": PODS, "failure": "503"}, "Ready", "15s"),
        ({"subject": resource("DNSet"), "live": None}, "Progressing", "10s"),
    ],
)
def test_phase_and_another_look(changes, phase, requeue):
    """Only what time or others can change is looked at again; a bad spec waits for a new one."""
    told = report(**changes)

    assert told["status"]["phase"] == phase
    assert told["requeue"] == requeue


def in_stages(partition):
    made = resource()
    made["spec"]["updateStrategy"] = {"partition": partition}
    return made


@pytest.mark.parametrize(
    ("partition", "numbers", "roll", "synced", "progressing", "message"),
    [
        (2, {"updatedReplicas": 1}, {}, "Paused", "Paused", "held at partition 2: 1/3"),
        (3, {"updatedReplicas": 0}, {}, "Paused", "Paused", "held at partition 3: 0/3"),
        (9, {"updatedReplicas": 0}, {}, "Paused", "Paused", "held at partition 9: 0/3"),
        (1, {"updatedReplicas": 1}, {}, "RollingOut", "RollingOut", "1/3"),
        (0, {"updatedReplicas": 1}, {}, "RollingOut", "RollingOut", "1/3"),
        (2, {"updatedReplicas": 1, "readyReplicas": 2}, {}, "RollingOut", "RollingOut", "1 of 3"),
        (
            *(2, {"updatedReplicas": 1}),
            {"outdated": ["mo-log-2"], "replaced": ["mo-log-2"], "waiting": ""},
            *("RollingOut", "RollingOut", "replacing mo-log-2"),
        ),
        (2, {}, {}, "Applied", "Settled", ""),
    ],
)
def test_a_roll_is_held_when_all_above_the_partition_is_done(
    partition, numbers, roll, synced, progressing, message
):
    subject = in_stages(partition)
    subject["status"] = {"conditions": WAS_SERVING}
    plan = {"workload": "StatefulSet/mo-log", "objects": [{}]}
    observed = {"workload": workload(**numbers), "pods": PODS, "roll": roll}

    told = report_on(subject, plan, observed, {}, "", NOW)

    found = states(told["status"])
    assert (found["Synced"][1], found["Progressing"][1]) == (synced, progressing)
    assert message in told["status"]["message"]
    assert bool(told["requeue"]) == (synced == "RollingOut")


def test_result_of_apply_counts_more_than_what_was_seen_before():
    """A change applied a moment ago is not yet serving, whatever the old workload said."""
    applied = {"objects": {"StatefulSet/mo-log": workload(generation=2)}}

    told = report(live=workload(), pods=PODS, applied=applied)

    assert states(told["status"])["Ready"] == ("Unknown", "Reconciling")
    assert not told["ready"]


def test_scaling_is_told_as_an_event():
    """Replicas that apply changed are worth an event with both numbers."""
    before, after = workload(wanted=3), workload(wanted=5, generation=2)
    applied = {
        "before": {"StatefulSet/mo-log": before},
        "objects": {"StatefulSet/mo-log": after},
    }

    told = report(resource(replicas=5), live=before, pods=PODS, applied=applied)

    assert [one["note"] for one in told["events"]] == ["scaled StatefulSet mo-log from 3 to 5"]


def test_stores_keep_their_times_and_missing_ones_are_down():
    """A store that stays down keeps its time; a Pod that does not exist counts as down."""
    early = "2026-01-01T00:00:00Z"
    subject = resource()
    subject["status"] = {
        "failedStores": [{"podName": "mo-log-1", "phase": "Down", "lastTransition": early}],
        "availableStores": [{"podName": "mo-log-2", "phase": "Up", "lastTransition": early}],
    }
    pods = [pod("mo-log-0", since="2026-01-01T11:11:11Z"), pod("mo-log-1", ready=False)]

    status = report(subject, live=workload(readyReplicas=1), pods=pods)["status"]

    assert status["availableStores"] == [
        {"podName": "mo-log-0", "phase": "Up", "lastTransition": "2026-01-01T11:11:11Z"}
    ]
    assert status["failedStores"] == [
        {"podName": "mo-log-1", "phase": "Down", "lastTransition": early},
        {"podName": "mo-log-2", "phase": "Down", "lastTransition": NOW},
    ]


def test_terminating_pods_do_not_serve():
    """A Pod on its way out is down even while its probe still answers."""
    going = pod("mo-log-0", metadata={"deletionTimestamp": NOW})

    status = report(live=workload(), pods=[going, *PODS[1:]])["status"]

    assert [one["podName"] for one in status["failedStores"]] == ["mo-log-0"]


@pytest.mark.parametrize(
    ("kind", "workload_kind", "base", "expected"),
    [
        ("CNSet", "Deployment", "mo-cn", {"host": "mo-cn.prod", "port": 6001}),
        ("ProxySet", "Deployment", "mo-proxy", {"host": "mo-proxy.prod", "port": 6001}),
        ("WebUI", "Deployment", "mo-webui", {"host": "mo-webui.prod", "port": 8001}),
        ("DNSet", "StatefulSet", "mo-dn", {}),
    ],
)
def test_addresses(kind, workload_kind, base, expected):
    """Kinds with a client Service say where it is."""
    live = workload(workload_kind, base)

    told = report(resource(kind), live=live, workload=f"{workload_kind}/{base}")

    status = told["status"]
    assert {name: status[name] for name in ("host", "port") if name in status} == expected


def test_autoscalers_of_proxies_find_the_pods():
    """The scale subresource gets its selector."""
    live = workload("Deployment", "mo-proxy")
    told = report(resource("ProxySet"), live=live, workload="Deployment/mo-proxy")
    assert told["status"]["labelSelector"] == (
        "matrixorigin.io/component=ProxySet,matrixorigin.io/instance=mo,"
        "matrixorigin.io/namespace=prod"
    )


def test_compute_nodes_are_listed_with_their_uuid():
    """The scale subresource gets its selector, each Pod its HAKeeper identity."""
    subject = resource("CNSet", "mo-tp", replicas=1)
    node = pod("mo-tp-cn-abcde")
    node["spec"]["subdomain"] = "mo-tp-cn-headless"
    live = workload("Deployment", "mo-tp-cn", wanted=1, replicas=1, readyReplicas=1)

    status = report(subject, live=live, pods=[node], workload="Deployment/mo-tp-cn")["status"]

    assert status["labelSelector"] == (
        "matrixorigin.io/component=CNSet,matrixorigin.io/instance=mo-tp,"
        "matrixorigin.io/namespace=prod"
    )
    assert status["stores"] == [
        {
            "podName": "mo-tp-cn-abcde",
            "uuid": "31653663-6438-6537-3362-373633636432",
            "state": "Unknown",
        }
    ]


def test_replicas_that_belong_to_others():
    """A set without replicas of its own goes by its workload's."""
    subject = resource("CNSet")
    del subject["spec"]["replicas"]
    live = workload("Deployment", "mo-cn", wanted=7, replicas=7, readyReplicas=7, updatedReplicas=7)

    told = report(subject, live=live, workload="Deployment/mo-cn")

    assert told["status"]["pods"] == "7/7"
    assert told["ready"]


def test_lowest_running_version_wins():
    """While an update is under way, the version is the one that is still behind."""
    key = "matrixorigin.io/semantic-version"
    pods = [
        pod("a", metadata={"annotations": {key: "2.0.10"}}),
        pod("b", metadata={"annotations": {key: "2.0.9"}}),
    ]

    assert report(live=workload(), pods=pods)["status"]["version"] == "2.0.9"


def test_version_is_not_that_of_pods_that_are_being_deleted():
    """A set that is synced has reached every Pod that stays; the others no longer count."""
    key = "matrixorigin.io/semantic-version"
    leaving = {"annotations": {key: "1.2.0"}, "deletionTimestamp": NOW}
    staying = [pod(name, metadata={"annotations": {key: "1.3.0"}}) for name in ("a", "b", "c")]
    old = pod("d", metadata=leaving)

    told = report(live=workload(), pods=[old, *staying])
    assert (states(told["status"]), told["status"]["version"]) == (SETTLED, "1.3.0")
    assert report(live=workload(), pods=[old])["status"]["version"] == "1.2.0"


def test_many_awaited_pods_are_cut_short():
    """A message stays readable with hundreds of Pods."""
    live = workload(wanted=100, replicas=0, readyReplicas=0, updatedReplicas=0)

    message = report(resource(replicas=100), live=live)["status"]["message"]

    assert "mo-log-4 (not created yet) and 95 more" in message


UNREADABLE = "spec.config: is not valid TOML"
OUTDATED = {"Ready": ("True", 1), "Synced": ("False", 2)}


def generations(told):
    found = {one["type"]: one for one in told["status"]["conditions"]}
    return {kind: (found[kind]["status"], found[kind]["observedGeneration"]) for kind in OUTDATED}


@pytest.mark.parametrize(
    "before",
    [
        conditions(("Ready", "True", "EnoughReadyStores"), generation=1),
        conditions(("Ready", "Unknown", "Reconciling")),
        (),
    ],
    ids=["of the spec before", "work began", "no status"],
)
@pytest.mark.parametrize(
    "lack", [{"invalid": UNREADABLE}, {"failure": "apply: Forbidden"}], ids=str
)
def test_a_spec_that_is_not_applied_is_not_ready_at_its_generation(before, lack):
    """It serves with an earlier spec; what waits for the new one, as kubectl does, goes on waiting."""
    told = report(live=workload(), pods=PODS, before=list(before), **lack)

    assert generations(told) == OUTDATED
    assert next(iter(lack.values())) in told["status"]["message"]


def test_a_generation_that_was_applied_and_is_refused_now_is_not_ready_either():
    """A newer operator, or what the set refers to, may have made it invalid."""
    assert generations(report(live=workload(), pods=PODS, before=WAS_SERVING, invalid="x")) == (
        OUTDATED
    )


def test_a_generation_that_was_applied_stays_ready_when_a_later_pass_fails():
    told = report(live=workload(), pods=PODS, before=WAS_SERVING, failure="503")

    assert generations(told)["Ready"] == ("True", 2)
    assert states(told["status"])["Ready"] == ("True", "EnoughReadyStores")


def test_what_is_down_with_an_earlier_spec_is_said_to_be_down():
    told = report(live=workload(readyReplicas=1), pods=PODS[:1], invalid=UNREADABLE)

    assert generations(told)["Ready"] == ("False", 1)
    assert states(told["status"])["Ready"] == ("False", "NoEnoughReadyStores")


def test_a_spec_that_is_refused_from_the_start_is_the_reason_why_nothing_serves():
    told = report(live=None, invalid=UNREADABLE)

    assert states(told["status"])["Ready"] == ("False", "InvalidSpec")
    assert generations(told)["Ready"] == ("False", 2)


def test_beginning_makes_ready_unknown():
    """Work on a new generation starts by not claiming readiness; all else is kept."""
    subject = resource()
    subject["status"] = {"pods": "3/3", "conditions": WAS_SERVING}

    status = beginning(subject)

    assert states(status)["Ready"] == ("Unknown", "Reconciling")
    assert states(status)["Synced"] == ("True", "Applied")
    assert status["pods"] == "3/3"


def test_deleting_says_what_is_left():
    """A resource on its way out is not ready, and names what it waits for."""
    status = deleting(resource(), ["Pod mo-log-0"])

    assert states(status)["Ready"] == ("False", "Deleting")
    assert status["phase"] == "Deleting"
    assert status["message"] == "waiting for deletion: Pod mo-log-0"
    many = deleting(resource(), [f"Pod {number}" for number in range(6)], 600)
    assert many["message"].startswith("waiting for deletion, at most 600 s: Pod 0, ")
    assert many["message"].endswith("Pod 3 and 2 more")


def test_a_transaction_node_serves_when_it_has_its_shard():
    """Its port answers before; compute nodes that begin then would know of no shard."""
    subject = resource("DNSet", replicas=1)
    live = workload(name="mo-dn", replicas=1, readyReplicas=1, updatedReplicas=1, wanted=1)
    plan = {"workload": "StatefulSet/mo-dn", "objects": [{}]}
    for unserved, ready, requeue in ((["mo-dn-0"], "False", "2s"), ([], "True", "")):
        told = {"asked": True, "reached": True, "unserved": unserved}
        observed = {"workload": live, "pods": [pod("mo-dn-0")], "results": told}
        said = report_on(subject, plan, observed, {}, "", NOW)
        assert states(said["status"])["Ready"][0] == ready
        assert said["requeue"] == requeue
        assert ("mo-dn-0 to take up its shard" in said["status"]["message"]) == bool(unserved)


@pytest.mark.parametrize(
    ("kind", "workload_kind", "requeue"),
    [("CNSet", "Deployment", "5s"), ("ProxySet", "Deployment", "5s"), ("DNSet", "StatefulSet", "")],
)
def test_a_pod_that_ends_is_looked_after_until_it_is_gone(kind, workload_kind, requeue):
    """The version is that of the oldest Pod, and nobody tells when that one is gone."""
    subject = resource(kind, "mo", replicas=1)
    live = workload(workload_kind, "mo", replicas=1, readyReplicas=1, updatedReplicas=1, wanted=1)
    plan = {"workload": f"{workload_kind}/mo", "objects": [{}]}
    ending = pod("mo-old", metadata={"deletionTimestamp": NOW})
    for pods, wanted in (([ending, pod("mo-new")], requeue), ([pod("mo-new")], "")):
        said = report_on(subject, plan, {"workload": live, "pods": pods}, {}, "", NOW)
        assert said["requeue"] == wanted


LATELY, LONG_AGO = "2026-01-02T03:03:55Z", "2026-01-02T03:03:05Z"
ONE_DOWN = {"readyReplicas": 2}


@pytest.mark.parametrize(
    ("numbers", "third", "before", "requeue"),
    [
        # It changed a moment ago, and is about to change again: to be pulled, to run, to serve.
        (ONE_DOWN, pod("mo-log-2", ready=False, since=LATELY), WAS_SERVING, "5s"),
        (ONE_DOWN, pod("mo-log-2", ready=False, since=LONG_AGO), WAS_SERVING, "15s"),
        (
            ONE_DOWN,
            pod("mo-log-2", waiting="A", ready=False, metadata={"creationTimestamp": LATELY}),
            WAS_SERVING,
            "5s",
        ),
        # Readiness that comes and goes before the StatefulSet's controller looks is told by nobody.
        ({}, pod("mo-log-2", ready=False, since=LATELY), WAS_SERVING, "5s"),
        ({}, pod("mo-log-2", ready=False, since=LONG_AGO), WAS_SERVING, ""),
        # What is seen of the Pods is older than what is seen of the StatefulSet.
        ({}, pod("mo-log-2", ready=False, since=LONG_AGO), (), "5s"),
        ({}, pod("mo-log-2"), (), ""),
    ],
)
def test_pods_that_change_are_looked_at_again(numbers, third, before, requeue):
    """What the status says of Pods keeps up with them, for as long as they are about to change."""
    others = [pod(f"mo-log-{number}", since=LONG_AGO) for number in range(2)]
    live = workload(**numbers)
    subject = resource(metadata={**resource()["metadata"], "annotations": {}})
    told = report(subject, live=live, pods=[*others, third], before=list(before))

    assert told["requeue"] == requeue


@pytest.mark.parametrize(("seconds", "requeue"), [(0, "15s"), (3, "3s"), (14, "14s"), (900, "15s")])
def test_a_roll_goes_on_as_soon_as_the_last_pod_was_ready_for_long_enough(seconds, requeue):
    subject = resource(status={"conditions": WAS_SERVING})
    plan = {"workload": "StatefulSet/mo-log", "objects": [{}]}
    awaited = "mo-log-2 to be ready for 60 s"
    roll = {"outdated": ["mo-log-0"], "replaced": [], "waiting": awaited, "seconds": seconds}
    observed = {"workload": workload(updatedReplicas=2), "pods": PODS, "roll": roll}

    told = report_on(subject, plan, observed, {}, "", NOW)

    assert told["requeue"] == requeue
    assert told["status"]["message"] == (
        f"2/3 log stores run what the spec asks for; waiting for {awaited}"
    )


@pytest.mark.parametrize(
    ("least", "numbers", "message"),
    [
        (30, {"availableReplicas": 2}, "waiting for 1 compute nodes to be ready for 30 s"),
        (30, {"availableReplicas": 3}, "waiting for the workload's controller"),
        (0, {}, "waiting for the workload's controller"),
        (
            *(30, {"availableReplicas": 3, "updatedReplicas": 3, "readyReplicas": 4}),
            "waiting for 1 compute nodes to be ready for 30 s",
        ),
        (
            *(30, {"availableReplicas": 4, "updatedReplicas": 3, "readyReplicas": 4}),
            "waiting for 1 compute nodes of an earlier template to terminate",
        ),
    ],
)
def test_new_pods_of_a_deployment_are_given_their_time(least, numbers, message):
    """Those of before go after it, and the roll is not over until then."""
    live = workload("Deployment", "mo", **{"replicas": 4, "updatedReplicas": 1, **numbers})
    live["spec"]["minReadySeconds"] = least
    plan = {"workload": "Deployment/mo", "objects": [{}]}
    subject = resource("CNSet", status={"conditions": WAS_SERVING})
    told = report_on(subject, plan, {"workload": live, "pods": PODS}, {}, "", NOW)

    assert states(told["status"])["Synced"] == ("False", "RollingOut")
    assert told["status"]["message"].endswith(message)


@pytest.mark.parametrize("planned", [{"paused": True}, {"invalid": "spec.image: must be set"}])
def test_pods_of_a_set_that_is_left_alone_are_looked_at_now_and_then(planned):
    """Its conditions name the Pods that do not serve, and nobody tells when these change."""
    down = pod("mo-log-2", ready=False, since=LONG_AGO)
    for live, third, requeue in (
        (workload(**ONE_DOWN), down, "60s"),
        (workload(), pod("mo-log-2", since=LONG_AGO), ""),
    ):
        told = report(live=live, pods=[*PODS[:2], third], before=WAS_SERVING, **planned)
        assert told["requeue"] == requeue


@pytest.mark.parametrize(
    ("end", "requeue"),
    [
        ("2026-01-02T03:04:08Z", "8s"),
        ("2026-01-02T03:04:35Z", "10s"),
        ("2026-01-02T03:04:01Z", "2s"),
        ("2026-01-02T03:03:00Z", "5s"),
        (None, "10s"),
    ],
)
def test_a_transaction_node_on_a_lost_node_is_let_go_of_as_soon_as_it_may(end, requeue):
    """Nobody can write until then."""
    subject = resource("DNSet", replicas=1)
    live = workload(name="mo-dn", replicas=1, readyReplicas=0, updatedReplicas=1, wanted=1)
    plan = {"workload": "StatefulSet/mo-dn", "objects": [{}]}
    metadata = {"deletionTimestamp": end} if end else {}
    ending = pod("mo-dn-0", ready=False, since=LONG_AGO, metadata=metadata)
    said = report_on(subject, plan, {"workload": live, "pods": [ending]}, {}, "", NOW)
    assert said["requeue"] == requeue


SILENT = {"mo-log-1": "HAKeeper has not heard from it for more than 10 s"}
NO_ANSWER = "HAKeeper does not answer: it has no leader, or no log store can be reached"


@pytest.mark.parametrize(
    ("health", "expected", "message"),
    [
        pytest.param(
            {"silent": SILENT},
            {"Ready": ("False", "NoEnoughReadyStores"), "Degraded": ("True", "StoresFailed")},
            "mo-log-1 (HAKeeper has not heard from it for more than 10 s)",
            id="a frozen store",
        ),
        pytest.param(
            {"lacking": "a quorum of log shard 1 (1 of 3)"},
            {"Ready": ("False", "NoEnoughReadyStores"), "Degraded": ("True", "StoresFailed")},
            "a quorum of log shard 1 (1 of 3)",
            id="no quorum",
        ),
        pytest.param(
            {"unknown": NO_ANSWER},
            {
                "Ready": ("Unknown", "HAKeeperUnreachable"),
                "Degraded": ("True", "HAKeeperUnreachable"),
            },
            NO_ANSWER,
            id="HAKeeper is silent",
        ),
    ],
)
def test_pods_that_are_ready_but_give_no_sign_of_life(health, expected, message):
    """Kubernetes calls a Pod ready whose process is frozen; the set is not, and says which."""
    told = report(live=workload(), pods=PODS, before=WAS_SERVING, health=health)

    assert {**SETTLED, **expected} == states(told["status"])
    assert told["status"]["phase"] == "Degraded"
    assert message in told["status"]["message"]
    assert not told["ready"]
    assert told["requeue"] == "5s"


def test_before_it_has_served_a_set_waits_for_hakeeper_and_nothing_is_broken():
    """A log service that is founded does not answer at once."""
    told = report(live=workload(), pods=PODS, health={"unknown": NO_ANSWER})

    found = states(told["status"])
    assert found["Ready"] == ("False", "NoEnoughReadyStores")
    assert found["Degraded"] == ("False", "AsExpected")
    assert "waiting for HAKeeper to answer" in told["status"]["message"]
    assert told["requeue"] == "5s"


def test_a_set_that_gives_signs_of_life_again_is_ready_at_once():
    degraded = conditions(
        ("Ready", "Unknown", "HAKeeperUnreachable"),
        ("Synced", "True", "Applied"),
        ("Progressing", "False", "Settled"),
        ("Degraded", "True", "HAKeeperUnreachable"),
    )
    good = {"unknown": "", "silent": {}, "lacking": ""}

    told = report(live=workload(), pods=PODS, before=degraded, health=good)

    assert states(told["status"]) == SETTLED
    assert told["requeue"] == ""


ANSWERED = ("StorageReachable", "True", "StorageAnswers")
FELL_SILENT = ("StorageReachable", "False", "StorageUnreachable")
WRITABLE = ("StorageWritable", "True", "WritesAccepted")
FULL = ("StorageWritable", "False", "StorageFull")
DENIED = ("StorageWritable", "False", "AccessDenied")
NO_BUCKET = ("StorageWritable", "False", "BucketNotFound")
REFUSED = ("StorageWritable", "False", "WritesRefused")
NOT_KNOWN = ("StorageWritable", "Unknown", "StorageUnreachable")
NOT_ASKED = ("StorageWritable", "Unknown", "UploadNotAborted")


@pytest.mark.parametrize(
    ("before", "answer", "after"),
    [
        pytest.param([], "answers", [ANSWERED], id="first answer"),
        pytest.param([], "writable", [ANSWERED, WRITABLE], id="first part"),
        pytest.param([], "silent", [], id="never within reach"),
        pytest.param([], "denied", [ANSWERED], id="never writable, maybe for the operator alone"),
        pytest.param([], None, [], id="nobody can tell"),
        pytest.param([ANSWERED], "answers", [ANSWERED], id="still there"),
        pytest.param([ANSWERED], None, [ANSWERED], id="not asked"),
        pytest.param([ANSWERED], "silent", [FELL_SILENT], id="away"),
        pytest.param([FELL_SILENT], None, [FELL_SILENT], id="away, not asked"),
        pytest.param([FELL_SILENT], "silent", [FELL_SILENT], id="still away"),
        pytest.param([FELL_SILENT], "answers", [ANSWERED], id="back"),
        pytest.param([ANSWERED, WRITABLE], "writable", [ANSWERED, WRITABLE], id="all well"),
        pytest.param([ANSWERED, WRITABLE], "full", [ANSWERED, FULL], id="full"),
        pytest.param([ANSWERED, WRITABLE], "denied", [ANSWERED, DENIED], id="no right"),
        pytest.param([ANSWERED, WRITABLE], "no bucket", [ANSWERED, NO_BUCKET], id="no bucket"),
        pytest.param([ANSWERED, WRITABLE], "refused", [ANSWERED, REFUSED], id="read-only"),
        pytest.param([ANSWERED, WRITABLE], "answers", [ANSWERED, WRITABLE], id="too busy to tell"),
        pytest.param([ANSWERED, WRITABLE], None, [ANSWERED, WRITABLE], id="well, not asked"),
        pytest.param([ANSWERED, WRITABLE], "silent", [FELL_SILENT, NOT_KNOWN], id="fell silent"),
        pytest.param([ANSWERED, FULL], "answers", [ANSWERED, FULL], id="full, too busy to tell"),
        pytest.param([ANSWERED, FULL], "refused", [ANSWERED, REFUSED], id="full, then read-only"),
        pytest.param([ANSWERED, FULL], "writable", [ANSWERED, WRITABLE], id="space again"),
        pytest.param([FELL_SILENT, NOT_KNOWN], "full", [ANSWERED, FULL], id="back, but full"),
        pytest.param([FELL_SILENT, NOT_KNOWN], "writable", [ANSWERED, WRITABLE], id="all back"),
        pytest.param([], "not aborted", [ANSWERED, NOT_ASKED], id="leaves uploads behind"),
        pytest.param([ANSWERED, NOT_ASKED], "answers", [ANSWERED, NOT_ASKED], id="asked no more"),
        pytest.param([ANSWERED, NOT_ASKED], "silent", [FELL_SILENT, NOT_ASKED], id="away as well"),
    ],
)
def test_an_object_store_at_fault_degrades_a_set_that_serves(before, answer, after):
    told = report(
        live=workload(),
        pods=PODS,
        before=[*WAS_SERVING, *conditions(*before)],
        health={"storage": answer},
    )

    found = states(told["status"])
    kinds = ("StorageReachable", "StorageWritable")
    assert [(kind, *found.pop(kind)) for kind in kinds if kind in found] == after
    faults = {kind: reason for kind, status, reason in after if status == "False"}
    silent = {"Degraded": ("True", "StorageUnreachable")} if "StorageReachable" in faults else {}
    refusal = {"Degraded": ("True", "StorageNotWritable")} if "StorageWritable" in faults else {}
    assert found == {**SETTLED, **refusal, **silent}
    assert told["ready"]
    assert told["requeue"] == ""


@pytest.mark.parametrize(
    ("before", "answer", "after"),
    [
        pytest.param([], None, [], id="nothing writes"),
        pytest.param([], "refused", [], id="never writable, maybe for that Pod alone"),
        pytest.param([], "writable", [WRITABLE], id="first file"),
        pytest.param([WRITABLE], "writable", [WRITABLE], id="all well"),
        pytest.param([WRITABLE], "refused", [REFUSED], id="full"),
        pytest.param([WRITABLE], None, [WRITABLE], id="the Pod moves"),
        pytest.param([REFUSED], None, [REFUSED], id="full, the Pod moves"),
        pytest.param([REFUSED], "writable", [WRITABLE], id="space again"),
    ],
)
def test_a_shared_folder_at_fault_degrades_a_set_that_serves(before, answer, after):
    subject = resource()
    subject["spec"]["sharedStorage"] = {"fileSystem": {"path": "/shared"}}

    told = report(
        subject,
        live=workload(),
        pods=PODS,
        before=[*WAS_SERVING, *conditions(*before)],
        health={"storage": answer},
    )

    found = states(told["status"])
    assert [
        ("StorageWritable", *one) for one in [found.pop("StorageWritable", None)] if one
    ] == after
    fault = {"Degraded": ("True", "StorageNotWritable")} if after == [REFUSED] else {}
    assert found == {**SETTLED, **fault}
    assert told["ready"]
