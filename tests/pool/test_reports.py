# SPDX-License-Identifier: Apache-2.0
"""What pools, claims and claim sets report: conditions, counts, Events."""

import copy
from typing import Any

import pytest
import yaml
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.pool.claim_kind import (
    CN_CLAIM,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.pool.claim_set_kind import (
    CN_CLAIM_SET,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.pool.claim_set_status import (
    claim_set_status,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.pool.generation_sets import (
    DEFAULTS,
    SET_BY_POOL,
    generation_set,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.pool.measures import measured
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.pool.pool_events import (
    occurrences,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.pool.pool_kind import CN_POOL
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.pool.pool_status import (
    pool_status,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.workload.kind import PassEnd

from tests.support import pools
from tests.support.places import ROOT

Json = dict[str, Any]


def stored(manifest: Json, **metadata: Any) -> Json:
    """Return a resource as the API server has it."""
    place = {"namespace": "ns", "uid": "u", "generation": 3}
    return {**manifest, "metadata": {**manifest["metadata"], **place, **metadata}}


def found(pods: Json | None = None, claims: Json | None = None, **more: Any) -> Json:
    """Return what a pass found: two idle Pods, unless something else is said."""
    phases = dict.fromkeys(("total", "starting", "idle", "bound", "draining", "terminating"), 0)
    return {
        "pods": {**phases, **({"idle": 2} if pods is None else pods)},
        "claims": {"total": 0, "bound": 0, "pending": 0, "waiting": [], **(claims or {})},
        "generation": "p-new",
        "generations": [{"name": "p-new", "pods": 2, "inUse": 0}],
        **more,
    }


POOL = stored(pools.pool("p", "hakeeper:32001"))
ENOUGH = stored(pools.pool("p", "hakeeper:32001", 0))
OLD = {"name": "p-old", "pods": 3, "inUse": 3}


@pytest.mark.parametrize(
    ("pool", "seen", "kind", "status", "reason"),
    [
        (POOL, found(), "Ready", "True", "Serving"),
        (POOL, found({"starting": 2}), "Ready", "False", "NoIdleNode"),
        (POOL, found({}, {"pending": 1}), "Ready", "False", "ClaimsPending"),
        (ENOUGH, found({"bound": 1}), "Ready", "True", "Serving"),
        (ENOUGH, found({}, {"pending": 1}), "Ready", "False", "ClaimsPending"),
        (POOL, found(), "Synced", "True", "Applied"),
        (POOL, found(generations=[OLD]), "Synced", "True", "Applied"),
        (POOL, found(generations=[{**OLD, "inUse": 1}]), "Synced", "False", "RollingOut"),
        (POOL, found(errors=["forbidden"]), "Synced", "False", "ApplyFailed"),
        (POOL, found(missing="p-new"), "Synced", "False", "DependencyNotReady"),
        (POOL, found(), "Progressing", "False", "Settled"),
        (POOL, found({"idle": 1, "starting": 1}), "Progressing", "True", "Scaling"),
        (POOL, found({"idle": 1, "draining": 1}), "Progressing", "True", "Draining"),
        (POOL, found(), "Degraded", "False", "AsExpected"),
        (POOL, found(problem="timed out"), "Degraded", "True", "HAKeeperUnreachable"),
        (POOL, found(silent=["a"]), "Degraded", "True", "StoresFailed"),
        (POOL, found(), "Limited", "False", "WithinLimits"),
        (POOL, found(limited="pool at maxPods"), "Limited", "True", "MaxPodsReached"),
    ],
)
def test_conditions_of_a_pool(pool: Json, seen: Json, kind: str, status: str, reason: str) -> None:
    conditions = {one["type"]: one for one in pool_status(pool, seen)["conditions"]}
    said = conditions[kind]
    assert (said["status"], said["reason"]) == (status, reason)
    assert said["observedGeneration"] == 3


@pytest.mark.parametrize(
    ("replicas", "present", "ready", "expected"),
    [
        (2, 2, 2, {"Ready": "True", "Synced": "True", "Progressing": "False"}),
        (2, 2, 1, {"Ready": "False", "Synced": "True", "Progressing": "True"}),
        (2, 1, 1, {"Ready": "False", "Synced": "False", "Progressing": "True"}),
        (2, 3, 3, {"Ready": "True", "Synced": "False", "Progressing": "True"}),
        (0, 0, 0, {"Ready": "True", "Synced": "True", "Progressing": "False"}),
    ],
)
def test_conditions_of_a_claim_set(
    replicas: int, present: int, ready: int, expected: dict[str, str]
) -> None:
    resource = stored(pools.claim_set("s", "p", replicas))
    counts = {"status": {"replicas": present, "readyReplicas": ready}}
    conditions = claim_set_status(resource, counts)["conditions"]
    assert {one["type"]: one["status"] for one in conditions} == expected


def test_another_template_is_another_generation_and_a_former_one_the_same() -> None:
    """What a pool sets itself, or what changes no Pod, makes no generation."""

    def name(**template: Any) -> str:
        pool = stored(pools.pool("p", "hakeeper:32001", template=template))
        return str(generation_set(pool)["metadata"]["name"])

    usual = name()
    assert usual == name(replicas=7) == name(serviceType="NodePort") == name(minReadySeconds=9)
    assert usual != name(image="matrixorigin/matrixone:1.3.1")
    assert usual != name(config="[cn]\nx = 1")
    made = generation_set(POOL)
    assert (made["spec"]["replicas"], made["spec"]["podManagementPolicy"]) == (0, "Pooling")
    assert made["spec"]["scalingConfig"]["storeDrainEnabled"]
    assert "cnLabels" not in made["spec"]


def defaults_of(schema: Json) -> Json:
    """Return the defaults of a schema, nested as in an object that has them all."""
    found = {
        name: one["default"] if "default" in one else defaults_of(one)
        for name, one in (schema.get("properties") or {}).items()
    }
    return {name: one for name, one in found.items() if one != {}}


def test_defaults_of_a_newer_crd_make_no_generation() -> None:
    """They appear in pools that exist; an upgrade would replace all their Pods."""
    [crd] = [yaml.safe_load((ROOT / "crds/core.matrixorigin.io_cnpools.yaml").read_text())]
    [version] = crd["spec"]["versions"]
    spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    template = defaults_of(spec["template"])
    of_others = {"podDisruptionBudget", *SET_BY_POOL}
    template["scalingConfig"].pop("storeDrainEnabled")
    assert {key: one for key, one in template.items() if key not in of_others} == DEFAULTS[
        "template"
    ]
    assert defaults_of(spec["deps"]) == DEFAULTS["deps"]

    bare = stored(pools.pool("p", "hakeeper:32001", template={"networkPolicy": {}}))
    added = copy.deepcopy(bare)
    added["spec"]["template"] |= {"exportToPrometheus": False, "networkPolicy": {"enabled": True}}
    assert generation_set(added)["metadata"]["name"] == generation_set(bare)["metadata"]["name"]
    added["spec"]["template"]["exportToPrometheus"] = True
    assert generation_set(added)["metadata"]["name"] != generation_set(bare)["metadata"]["name"]


def test_many_claims_make_one_event() -> None:
    """A burst of a thousand claims must not be a thousand Events."""
    few = occurrences([("Bound", f"Pod {number}") for number in range(3)])
    assert [one["note"] for one in few] == ["Pod 0", "Pod 1", "Pod 2"]
    (many,) = occurrences([("Bound", f"Pod {number}") for number in range(1000)])
    assert many["note"] == "Pod 0; Pod 1; Pod 2; and 997 more"
    (given_up,) = occurrences([("DrainTimedOut", "Pod p")])
    assert given_up["type"] == "Warning"


@pytest.mark.parametrize(
    ("claim", "known", "expected"),
    [
        (pools.claim("c", "p"), [POOL], ""),
        (pools.claim("c", "q"), [POOL], "no CNPool of the namespace"),
        (pools.claim("c", "p"), [], "no CNPool of the namespace"),
        (pools.claim("c", "p", poolName="gone"), [POOL], "CNPool gone does not exist"),
        (pools.claim("c", "q", poolName="p"), [POOL], ""),
    ],
)
def test_a_claim_that_no_pool_serves_says_so(claim: Json, known: list[Json], expected: str) -> None:
    kind, resource = CN_CLAIM, stored(claim)
    plan = kind.plan(resource, {"pools": known})
    assert plan.waiting_for.startswith(expected)
    assert bool(plan.waiting_for) == bool(expected)
    report = kind.reporter.report(PassEnd(resource, plan))
    assert report.status.get("phase") == ("Pending" if expected else None)


@pytest.mark.parametrize(
    ("spec", "before", "phase"),
    [
        ({"podName": "a"}, "Bound", "Bound"),
        ({}, "Outdated", "Pending"),
        ({"podName": "a"}, "Pending", "Pending"),
        ({}, "Lost", "Lost"),
    ],
)
def test_a_claim_without_a_pool_is_bound_as_long_as_it_names_a_pod(
    spec: Json, before: str, phase: str
) -> None:
    """Its pool may have been deleted before it could say that the claim waits again."""
    kind = CN_CLAIM
    resource = {**stored(pools.claim("c", "p", **spec)), "status": {"phase": before}}
    plan = kind.plan(resource, {"pools": []})
    assert kind.reporter.report(PassEnd(resource, plan)).status["phase"] == phase


@pytest.mark.parametrize("kind", [CN_POOL, CN_CLAIM_SET])
def test_a_paused_resource_says_so_and_keeps_what_it_reported(kind: Any) -> None:
    manifest = stored(POOL, annotations={"matrixorigin.io/paused": "true"})
    resource = {**manifest, "status": {"pods": {"idle": 2}, "conditions": []}}
    plan = kind.plan(resource, {})
    status = kind.reporter.report(PassEnd(resource, plan)).status
    assert (status["phase"], status["pods"]) == ("Paused", {"idle": 2})
    assert [one["type"] for one in status["conditions"]] == ["Paused"]


def test_what_has_no_effect_in_a_pool_is_said() -> None:
    template = {"cnLabels": [{"key": "a", "values": ["b"]}]}
    pool = stored(pools.pool("p", "hakeeper:32001", template=template))
    assert CN_POOL.judge.warns(pool, None) == ["spec.template.cnLabels: has no effect in a CNPool"]


def test_a_template_that_cannot_be_rendered_is_named() -> None:
    """As for a CNSet, with the path inside of the pool."""
    pool = stored(pools.pool("p", "hakeeper:32001", template={"config": "x = ["}))
    invalid = CN_POOL.judge.invalid(pool)
    assert invalid.startswith("spec.template.config")
    plan = CN_POOL.plan(pool, {})
    status = CN_POOL.reporter.report(PassEnd(pool, plan)).status
    assert {one["reason"] for one in status["conditions"]} == {"InvalidSpec"}


def claim_status(phase: str, reason: str = "", **more: Any) -> Json:
    conditions = [{"type": "Ready", "status": "False", "reason": reason}] if reason else []
    return {"phase": phase, "conditions": conditions, **more}


@pytest.mark.parametrize(
    ("before", "after", "waits", "missed"),
    [
        ({}, claim_status("Bound"), [2.5], 0),
        (claim_status("Pending", "NoIdleNode"), claim_status("Outdated"), [2.5], 0),
        (claim_status("Outdated", boundTime="t"), claim_status("Bound", boundTime="t"), [], 0),
        (claim_status("Pending", boundTime="t"), claim_status("Bound", boundTime="t"), [], 0),
        ({}, claim_status("Pending", "Claiming"), [], 0),
        ({}, claim_status("Pending", "NoIdleNode"), [], 1),
        (claim_status("Pending", "NoIdleNode"), claim_status("Pending", "PoolAtMaxPods"), [], 0),
        (claim_status("Pending", "Claiming"), claim_status("Pending", "PoolAtMaxPods"), [], 1),
        ({}, claim_status("Pending", "OwnerQuota"), [], 0),
    ],
)
def test_a_status_says_how_well_a_claim_is_served(
    before: Json, after: Json, waits: list[float], missed: int
) -> None:
    """The time to its first Pod, and whether it found none; a later status counts nothing."""
    claim = {**stored(pools.claim("c", "p"), creationTimestamp="1970-01-01T00:01:00Z")}
    found = measured({**claim, "status": before}, after, 62.5)
    assert (found.waits, found.missed) == (waits, missed)


def shown(requests: list[Json]) -> dict[str, Any]:
    """Return what metrics are set to, by name and the label beside those of the pool."""
    found = {}
    for one in requests:
        (extra,) = set(one["labels"].values()) - {"ns", "p"} or {""}
        [operation] = [one[kind] for kind in ("gauge", "counter", "histogram") if kind in one]
        found[f"{one['name'].removeprefix('matrixone_pool_')} {extra}".strip()] = operation
    return found


def test_metrics_of_a_pool() -> None:
    done = found(
        {"idle": 1, "bound": 4},
        {"bound": 4, "pending": 3},
        waiting={"NoIdleNode": 2, "OwnerQuota": 1},
        oldestWaiting=60.0,
        idleDesired=2,
        limited="",
        problem="timed out",
        waits=[0.7, 31.0],
        missed=2,
        dropped=1,
    )
    values = shown(CN_POOL.metrics(POOL, done))
    assert (values["pods idle"], values["pods bound"]) == ({"set": 1}, {"set": 4})
    assert values["claims_waiting NoIdleNode"] == {"set": 2}
    assert values["claims_waiting PoolAtMaxPods"] == {"set": 0}
    assert values["oldest_waiting_timestamp_seconds"] == {"set": 60.0}
    assert (values["at_max_pods"], values["hakeeper_unreachable"]) == ({"set": 0.0}, {"set": 1.0})
    assert values["bind_seconds"]["observe"] == [0.7, 31.0]
    assert (values["misses_total"], values["conflicts_total"]) == ({"add": 2}, {"add": 1})
    calm = shown(CN_POOL.metrics(POOL, {**done, "oldestWaiting": None}))
    assert calm["oldest_waiting_timestamp_seconds"] == {"remove": True}


def test_metrics_of_a_pool_end_with_it() -> None:
    assert CN_POOL.metrics(POOL, {}) == []
    removed = CN_POOL.metrics(POOL, None)
    assert all(one == {"remove": True} for one in shown(removed).values())
    assert len(removed) == 10
