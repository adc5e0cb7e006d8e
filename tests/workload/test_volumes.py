# SPDX-License-Identifier: Apache-2.0
"""Volumes grow, everything else about them stays; what cannot be is said."""

from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.workload.volumes import (
    growing,
    keep_claim,
)

from tests.support import resources as r
from tests.support.builders import conditions, resource, serving, workload
from tests.support.passes import (
    growth_of,
    plan_of,
)

Json = dict[str, Any]


def log_set(size: Any = "10Gi", **volume: Any) -> Json:
    made: Json = r.logset(volume={"size": size, **volume})
    made["metadata"] |= {"uid": "u-1", "generation": 2}
    return made


def template(size: str = "10Gi", name: str = "mo-data", **spec: Any) -> Json:
    """A claim template as the API server shows it."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": size}},
            "volumeMode": "Filesystem",
            **spec,
        },
        "status": {"phase": "Pending"},
    }


def live(*templates: Json) -> Json:
    made = workload(name="mo-log")
    made["spec"]["volumeClaimTemplates"] = list(templates)
    return made


def claim(name: str = "mo-data-mo-log-0", size: str = "10Gi", has: str = "", **status: Any) -> Json:
    return {
        "metadata": {"name": name, "namespace": "prod"},
        "spec": {"resources": {"requests": {"storage": size}}},
        "status": {"phase": "Bound", "capacity": {"storage": has or size}, **status},
    }


def test_what_is_large_enough_stays():
    nothing = {"claims": [], "templates": [], "refused": "", "broken": "", "as_claimed": False}

    assert growth_of(log_set(), live(template()), [claim()]) == nothing
    assert growth_of(log_set("10240Mi"), live(template()), [claim()]) == nothing
    assert growth_of(log_set(), None, [claim()]) == nothing
    assert growth_of(resource("ProxySet"), live(), []) == nothing


def test_claims_and_templates_grow():
    """Also a claim that an earlier, larger set left behind, and only those of this set."""
    claims = [
        claim(),
        claim("mo-data-mo-log-7"),
        claim("mo-data-mo-log-1", "20Gi"),
        claim("mo-data-mo-log-x"),
        claim("mo-shared"),
    ]
    found = growth_of(log_set("20Gi"), live(template()), claims)

    names = [one["metadata"]["name"] for one in found["claims"]]
    assert names == ["mo-data-mo-log-0", "mo-data-mo-log-7"]
    assert found["claims"][0]["spec"] == {"resources": {"requests": {"storage": "20Gi"}}}
    sizes = [one["spec"]["resources"]["requests"]["storage"] for one in found["templates"]]
    assert sizes == ["20Gi"]


def test_what_was_interrupted_goes_on():
    """Claims first, templates later: each is done when it has not been done."""
    after_claims = growth_of(log_set("20Gi"), live(template()), [claim(size="20Gi")])
    assert (after_claims["claims"], bool(after_claims["templates"])) == ([], True)

    after_templates = growth_of(log_set("20Gi"), live(template("20Gi")), [claim()])
    assert (len(after_templates["claims"]), after_templates["templates"]) == (1, [])


def test_a_claim_that_is_not_bound_is_left_for_later():
    pending = claim(phase="Pending")

    assert growth_of(log_set("20Gi"), live(template()), [pending])["claims"] == []


def of_class(name: str, storage_class: str, size: str = "10Gi") -> Json:
    made = claim(name, size)
    made["spec"]["storageClassName"] = storage_class
    return made


@pytest.mark.parametrize("size", ["10Gi", "20Gi"])
def test_the_class_that_claims_have_by_default_may_be_named(size):
    """The API server gives it to claims, and not to the templates, which stay as they are."""
    claims = [of_class(f"mo-data-mo-log-{number}", "standard") for number in range(3)]
    wanted = log_set(size, storageClassName="standard")

    found = growth_of(wanted, live(template()), claims)
    assert (found["refused"], bool(found["templates"])) == ("", size == "20Gi")
    assert len(found["claims"]) == (3 if size == "20Gi" else 0)

    seen = {"workload": live(template()), "claims": claims, "self": wanted, "bucket": r.GRANTED}
    plan = plan_of(wanted, seen, "#!")
    (made,) = [one for one in plan["objects"] if one["kind"] == "StatefulSet"]
    assert plan["refused"] == ""
    assert made["spec"]["volumeClaimTemplates"] == [template()]


@pytest.mark.parametrize(
    "claims",
    [
        [],
        [of_class("mo-data-mo-log-0", "slow")],
        [of_class("mo-data-mo-log-0", "standard"), of_class("mo-data-mo-log-1", "slow")],
    ],
    ids=["none", "another", "one of another"],
)
def test_another_class_than_that_of_all_claims_is_refused(claims):
    wanted = log_set(storageClassName="standard")
    assert (
        "storageClassName cannot be changed"
        in growth_of(wanted, live(template()), claims)["refused"]
    )


@pytest.mark.parametrize(
    ("wanted", "has", "message"),
    [
        (log_set("5Gi"), template(), "spec.volume.size: volumes cannot shrink from 10Gi to 5Gi"),
        (
            log_set(storageClassName="fast"),
            template(storageClassName="slow"),
            "spec.volume: storageClassName cannot be changed after creation",
        ),
        (log_set(storageClassName="fast"), template(), "storageClassName cannot be changed"),
        (log_set(), template(storageClassName="slow"), "storageClassName cannot be changed"),
    ],
)
def test_what_cannot_be_is_refused_and_all_else_goes_on(wanted, has, message):
    found = growth_of(wanted, live(has), [claim()])
    assert message in found["refused"]
    assert (found["claims"], found["templates"], found["broken"]) == ([], [], "")

    seen = {"workload": live(has), "claims": [claim()], "self": wanted, "bucket": r.GRANTED}
    plan = plan_of(wanted, seen, "#!")
    assert message in plan["refused"]
    (made,) = [one for one in plan["objects"] if one["kind"] == "StatefulSet"]
    assert made["spec"]["volumeClaimTemplates"] == [has]


def test_volumes_are_not_added_later():
    """Pods would have a mount without a volume."""
    wanted = log_set()
    more = {"metadata": {"name": "more"}, "spec": template("1Gi")["spec"]}
    wanted["spec"]["overlay"] = {"volumeClaims": [more]}

    plan = plan_of(wanted, {"workload": live(template()), "self": wanted}, "#!")

    assert plan["invalid"].startswith("spec.overlay.volumeClaims: volume more cannot be added")
    assert plan["objects"] == []


@pytest.mark.parametrize(
    ("volumes", "size"),
    [({}, "10Gi"), ({"remade": True}, "20Gi"), ({"refused": "no"}, "10Gi"), (None, "10Gi")],
)
def test_templates_change_only_with_a_new_stateful_set(volumes, size):
    wanted = log_set("20Gi")
    seen = {
        "workload": live(template()), "self": wanted, "volumes": volumes, "bucket": r.GRANTED,
    }  # fmt: skip

    plan = plan_of(wanted, seen, "#!")

    (made,) = [one for one in plan["objects"] if one["kind"] == "StatefulSet"]
    (only,) = made["spec"]["volumeClaimTemplates"]
    assert only["spec"]["resources"]["requests"]["storage"] == size
    assert plan["refused"] == (volumes or {}).get("refused", "")


def test_a_paused_set_grows_nothing():
    paused = log_set("20Gi")
    paused["metadata"]["annotations"] = {"matrixorigin.io/paused": "true"}

    assert not growth_of(paused, live(template()), [claim()])["claims"]


@pytest.mark.parametrize(
    ("claims", "said"),
    [
        ([claim()], ""),
        ([claim(phase="Pending", capacity=None)], ""),
        (
            [claim(size="20Gi", has="10Gi")],
            "waiting for volume mo-data-mo-log-0 to grow from 10Gi to 20Gi",
        ),
        (
            [claim(size="20Gi", has="10Gi", conditions=[{
                "type": "FileSystemResizePending", "status": "True"}])],
            "10Gi to 20Gi (FileSystemResizePending; some storage needs its Pod restarted for that)",
        ),
        (
            [claim(size="20Gi", has="10Gi",
                   allocatedResourceStatuses={"storage": "ControllerResizeInfeasible"})],
            "(ControllerResizeInfeasible)",
        ),
        ([claim(f"mo-data-mo-log-{n}", "2Gi", "1Gi") for n in range(5)], "and 2 more"),
    ],
)  # fmt: skip
def test_what_grows_is_said(claims, said):
    assert said in growing(claims)
    assert bool(growing(claims)) == bool(said)


def test_nobody_waits_for_volumes_that_cannot_grow():
    """A log service whose volumes are refused does not hold back what depends on it."""
    tn = r.dnset()
    tn["metadata"] |= {"uid": "u-2", "generation": 1}
    ready = serving("LogSet", "mo")
    ready["spec"] = r.logset()["spec"]
    ready["status"]["conditions"] = conditions(
        ("Ready", "True", "EnoughReadyStores"), ("Synced", "False", "VolumeRefused")
    )
    assert plan_of(tn, {"logSet": ready}, "#!")["waitingFor"] == ""

    ready["metadata"]["generation"] = 3
    assert "not synced" in plan_of(tn, {"logSet": ready}, "#!")["waitingFor"]


def test_a_claim_kept_from_earlier_stays_as_it_is_but_grows():
    """What cannot be changed of it is not asked for; nobody makes it smaller."""
    made = {
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "mo-shared"},
        "spec": {
            "accessModes": ["ReadWriteMany"],
            "storageClassName": "fast",
            "resources": {"requests": {"storage": "5Gi"}},
        },
    }
    live = claim("mo-shared", "10Gi")
    live["spec"].update(accessModes=["ReadWriteOnce"], storageClassName="slow", volumeName="pv")

    kept = keep_claim(made, live)["spec"]

    assert kept["accessModes"] == ["ReadWriteOnce"]
    assert kept["storageClassName"] == "slow"
    assert kept["resources"] == {"requests": {"storage": "10Gi"}}
    assert "volumeName" not in kept
    larger = {**made, "spec": {**made["spec"], "resources": {"requests": {"storage": "20Gi"}}}}
    assert keep_claim(larger, live)["spec"]["resources"] == {"requests": {"storage": "20Gi"}}
