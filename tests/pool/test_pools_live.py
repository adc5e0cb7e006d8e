# SPDX-License-Identifier: Apache-2.0
"""Pools, claims and claim sets on an API server, under an operator with its own rights."""

import json
import signal
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.matrixone import (
    WorkState,
)

from testbed.bed import TestBed
from tests.support import pools
from tests.support.api import Api
from tests.support.namespaces import Namespace
from tests.support.operator_rights import account, refusals
from tests.support.operators import Operator, launch
from tests.support.places import ROOT
from tests.support.plays import Played, play
from tests.support.ports import free_port
from tests.support.waiting import eventually, unchanged

pytestmark = [pytest.mark.api, pytest.mark.timeout(900)]

Json = dict[str, Any]
METRICS = free_port()
CLAIM_SET = "matrixorigin.io/claimset"
KINDS = ("CNPool", "CNClaim", "CNClaimSet", "CNSet")


class Pools:
    """A namespace with an operator of pools, and the HAKeeper that it talks to."""

    def __init__(self, space: Namespace, folder: Path, told: pools.Registry) -> None:
        self.space, self.told, self._folder = space, told, folder
        watches = yaml.safe_load((ROOT / "watches.yaml").read_text())
        chosen = [one for one in watches if one["kind"] in KINDS]
        (folder / "watches.yaml").write_text(yaml.safe_dump(chosen))
        self._kubeconfig = account(space.bed, space.name, folder / "kubeconfig", everywhere=True)
        self.operator = self.start()

    def start(self) -> Operator:
        flags = (
            f"--watches-file={self._folder}/watches.yaml",
            f"--metrics-bind-address=127.0.0.1:{METRICS}",
        )
        variables = {"WATCH_NAMESPACE": self.space.name}
        self.operator = launch(self._kubeconfig, self._folder, *flags, variables=variables)
        return self.operator

    def pods(self, pool: str) -> list[Json]:
        return self.space.listed("pods", f"pool.matrixorigin.io/pool-name={pool}")

    def phases(self, pool: str) -> dict[str, int]:
        return pools.phases(self.pods(pool))

    def idle(self, pool: str, count: int, seconds: float = 90.0) -> None:
        """Wait until a pool has nothing but so many idle Pods."""
        eventually(
            lambda: self.phases(pool) == {"Idle": count},
            seconds,
            f"{count} idle Pods in pool {pool}",
            otherwise=lambda: (self.phases(pool), self.space.get("cnpool", pool).get("status")),
        )

    def bound(self, *claims: str, seconds: float = 60.0) -> dict[str, str]:
        """Wait until claims are bound; return their Pods by claim."""

        def look() -> dict[str, str]:
            found = {name: self.space.get("cnclaim", name) for name in claims}
            ready = all((one.get("status") or {}).get("phase") == "Bound" for one in found.values())
            return {name: one["spec"]["podName"] for name, one in found.items()} if ready else {}

        return eventually(
            look,
            seconds,
            f"{claims} are Bound",
            otherwise=lambda: [self.space.get("cnclaim", one).get("status") for one in claims],
        )


def metrics_of(pool: str) -> dict[str, float]:
    """Return the metrics of a pool, by name and the label beside those of the pool."""
    with urllib.request.urlopen(f"http://127.0.0.1:{METRICS}/metrics", timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    found = {}
    for line in lines:
        name, _, rest = line.partition("{")
        labels, _, value = rest.rpartition("} ")
        if f'pool="{pool}"' in labels:
            own = [one for one in labels.split(",") if not one.startswith("pool")]
            found[" ".join([name.removeprefix("matrixone_pool_"), *own])] = float(value)
    return found


@pytest.fixture(scope="module")
def pooled(installed_testbed: TestBed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pools]:
    folder = tmp_path_factory.mktemp("operator")
    with installed_testbed.namespace("pools") as name:
        api = Api(installed_testbed.kubeconfig)
        with pools.hakeeper(api, name) as told:
            found = Pools(Namespace(installed_testbed, name), folder, told)
            yield found
            for kind in ("cnclaimset", "cnclaim", "cnpool"):
                found.space.kubectl("delete", kind, "--all", "--wait=false")
            eventually(lambda: not found.space.names("cnpool,cnset"), 120, "the end of all pools")
            found.operator.stop()
            assert refusals(found.operator.log) == []


def test_a_tenant_from_zero_to_a_compute_node_and_back(pooled: Pools) -> None:
    """A claim gets an idle Pod with its labels; deleted, the Pod serves the next one, clean."""
    space, told = pooled.space, pooled.told
    space.apply(pools.pool("round", told.address, 2))
    pooled.idle("round", 2)
    eventually(lambda: space.get("cnpool", "round")["status"]["pods"]["idle"] == 2, 30, "counted")
    space.wait("Ready", "cnpool", "round")
    space.apply(pools.claim("tenant-a", "round", additionalPodLabels={"team": "a"}))
    pod_name = pooled.bound("tenant-a")["tenant-a"]
    pod = space.get("pod", pod_name)
    assert told.of(pod) == (WorkState.WORKING, {"account": ["tenant-a"]})
    assert pod["metadata"]["labels"]["team"] == "a"
    eventually(lambda: pooled.phases("round") == {"Idle": 2, "Bound": 1}, 60, "another idle Pod")

    told.sessions = 1
    space.kubectl("delete", "cnclaim", "tenant-a", "--timeout=5s")
    eventually(lambda: pooled.phases("round").get("Draining") == 1, 30, "the Pod drains")
    eventually(lambda: told.of(pod)[1] == {}, 30, "its store has no labels")
    assert unchanged(lambda: pooled.phases("round").get("Draining"), 7.0) == 1
    told.sessions = 0
    pooled.idle("round", 2)
    space.wait("Ready", "cnpool", "round")
    eventually(
        lambda: metrics_of("round").get('pods phase="idle"') == 2,
        30,
        "the metrics",
        otherwise=lambda: metrics_of("round"),
    )
    shown = metrics_of("round")
    assert (shown["bind_seconds_count"], shown["misses_total"]) == (1, 0)
    assert 0 < shown["bind_seconds_sum"] < 60
    assert (shown["idle_desired"], shown["claims_bound"]) == (2, 0)
    assert "oldest_waiting_timestamp_seconds" not in shown


def test_a_playbook_gets_a_compute_node_and_gives_it_back(pooled: Pools, tmp_path: Path) -> None:
    space, told = pooled.space, pooled.told
    space.apply(pools.pool("played", told.address, 1))
    pooled.idle("played", 1)
    given = {
        "claim": "by-hand",
        "namespace": space.name,
        "selector": {"matchLabels": {"pool": "played"}},
        "labels": {"account": "a"},
    }

    def played(**more: Any) -> Played:
        given_now = json.dumps({**given, **more})
        return play("claim", space.bed.kubeconfig, tmp_path, "-e", given_now, "--diff")

    first, second = played(), played()
    assert (first.code, first.counts["changed"]) == (0, 1), first.output
    assert (second.code, second.counts["changed"]) == (0, 0), second.output
    (pod,) = [one for one in pooled.pods("played") if one["metadata"]["name"] in first.output]
    assert told.of(pod) == (WorkState.WORKING, {"account": ["a"]})
    assert f"{pod['metadata']['name']} answers SQL at " in second.output

    refused = played(claim="nothing", selector={"matchLabels": {"pool": "none"}}, timeout=8)
    assert refused.code == 2
    assert "has no compute node after 8 s: no CNPool of the namespace" in refused.output
    for name in ("by-hand", "nothing"):
        gone = played(claim=name, state="absent")
        assert (gone.code, gone.counts["changed"]) == (0, 1), gone.output
    pooled.idle("played", 1)


def test_claims_wait_with_their_reason(pooled: Pools) -> None:
    """What cannot be served says why, and does not hold up others."""
    space, told = pooled.space, pooled.told
    space.apply(pools.pool("small", told.address, 1, scaling={"maxPods": 1}))
    pooled.idle("small", 1)
    space.apply(pools.claim("first", "small"))
    pooled.bound("first")
    space.apply(pools.claim("second", "small"))
    space.apply(pools.claim("nowhere", "no-such-pool"))

    def reason(name: str) -> str:
        return str(space.condition("cnclaim", name, "Ready").get("reason") or "")

    eventually(lambda: reason("second") == "PoolAtMaxPods", 30, "the second claim says why")
    eventually(lambda: reason("nowhere") == "NoMatchingPool", 30, "the third claim says why")

    def waiting() -> list[str]:
        claims = space.get("cnpool", "small")["status"]["claims"]
        return [one["name"] for one in claims["waiting"]]

    eventually(lambda: waiting() == ["second"], 30, "the pool lists it", otherwise=waiting)
    limited = space.condition("cnpool", "small", "Limited")
    assert limited["status"] == "True"
    shown = eventually(
        lambda: (
            (found := metrics_of("small")).get('claims_waiting reason="PoolAtMaxPods"') and found
        )
    )
    assert (shown["misses_total"], shown["at_max_pods"]) == (1, 1)
    assert shown["oldest_waiting_timestamp_seconds"] > 1.7e9
    space.kubectl("delete", "cnclaim", "first")
    pooled.bound("second")


def autoscaler(claim_set: str, least: int) -> Json:
    """Return an autoscaler that needs no metrics for its lower limit."""
    target = {"apiVersion": pools.API_VERSION, "kind": "CNClaimSet", "name": claim_set}
    usage = {"type": "Utilization", "averageUtilization": 60}
    metric = {"type": "Resource", "resource": {"name": "cpu", "target": usage}}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": claim_set},
        "spec": {
            "scaleTargetRef": target,
            "minReplicas": least,
            "maxReplicas": 5,
            "metrics": [metric],
        },
    }


def test_quotas_and_numbers_of_idle_pods(pooled: Pools) -> None:
    """An owner over its quota waits and holds up nobody; idle Pods follow use and the time."""
    space, told = pooled.space, pooled.told

    def given(**scaling: Any) -> Json:
        more = {"maxIdlePercent": 100, **scaling}
        return pools.pool("shared", told.address, 1, quotas={"default": 1}, scaling=more)

    space.apply(given())
    pooled.idle("shared", 1)
    for name, owner in (("a-1", "a"), ("a-2", "a"), ("b-1", "b")):
        space.apply(pools.claim(name, "shared", owner))
    pooled.bound("a-1", "b-1")
    refused = space.condition("cnclaim", "a-2", "Ready")
    assert (refused["reason"], refused["status"]) == ("OwnerQuota", "False")
    eventually(
        lambda: pooled.phases("shared") == {"Bound": 2, "Idle": 2}, 60, "as many idle as in use"
    )
    always = {"from": "00:00", "to": "24:00", "maxIdle": 4}
    space.apply(given(schedule=[always]))
    eventually(lambda: pooled.phases("shared") == {"Bound": 2, "Idle": 4}, 60, "the schedule's")
    space.apply(given())
    eventually(lambda: pooled.phases("shared") == {"Bound": 2, "Idle": 2}, 60, "two idle again")
    space.kubectl("delete", "cnclaim", "a-1")
    pooled.bound("a-2")
    space.kubectl("delete", "cnclaim", "a-2", "b-1")


def test_a_claim_moves_to_another_pod(pooled: Pools) -> None:
    """The target serves before the source drains; both are known to HAKeeper as what they are."""
    space, told = pooled.space, pooled.told
    space.apply(pools.pool("moving", told.address, 1))
    pooled.idle("moving", 1)
    space.apply(pools.claim("mover", "moving"))
    source = pooled.bound("mover")["mover"]
    eventually(lambda: pooled.phases("moving") == {"Bound": 1, "Idle": 1}, 60, "a target")
    [target] = [
        one["metadata"]["name"]
        for one in pooled.pods("moving")
        if one["metadata"]["labels"][pools.PHASE] == "Idle"
    ]
    space.patch("cnclaim", "mover", {"spec": {"podName": target, "sourcePod": {"podName": source}}})

    def phase_of(pod: str) -> str:
        return str(space.get("pod", pod)["metadata"]["labels"][pools.PHASE])

    eventually(lambda: phase_of(target) == "Bound", 30, "the target is bound")
    assert phase_of(source) == "Bound"
    eventually(lambda: phase_of(source) == "Draining", 60, "the source is left")
    assert told.of(space.get("pod", target)) == (WorkState.WORKING, {"account": ["mover"]})
    eventually(lambda: "sourcePod" not in space.get("cnclaim", "mover")["spec"], 60, "the end")
    moved = space.get("cnclaim", "mover")
    assert (moved["status"]["phase"], moved["status"]["store"]["podName"]) == ("Bound", target)
    assert told.of(space.get("pod", target)) == (WorkState.WORKING, {"account": ["mover"]})
    space.kubectl("delete", "cnclaim", "mover")


def test_a_claim_set_follows_kubectl_scale(pooled: Pools) -> None:
    """An autoscaler and `kubectl scale` change the number of compute nodes of a tenant.

    Lost ones are replaced.
    """
    space, told = pooled.space, pooled.told
    space.apply(pools.pool("scaled", told.address, 1))
    space.apply(pools.claim_set("tenant-b", "scaled", 1))

    def ready(count: int) -> bool:
        status = space.get("cnclaimset", "tenant-b").get("status") or {}
        return status.get("readyReplicas") == count == status.get("replicas")

    eventually(lambda: ready(1), 90, "one claim")
    space.apply(autoscaler("tenant-b", 2))
    eventually(lambda: ready(2), 90, "two claims, by an autoscaler")
    able = space.condition("hpa", "tenant-b", "AbleToScale")
    assert able["status"] == "True", able
    space.kubectl("delete", "hpa", "tenant-b")
    space.kubectl("scale", "cnclaimset", "tenant-b", "--replicas=3")
    eventually(lambda: ready(3), 90, "three claims")
    selector = space.get("cnclaimset", "tenant-b")["status"]["labelSelector"]
    assert len(space.listed("pods", selector)) == 3
    victim = space.listed("pods", selector)[0]["metadata"]["name"]
    space.kubectl("delete", "pod", victim, "--force", "--grace-period=0")
    eventually(
        lambda: ready(3) and victim not in {p["metadata"]["name"] for p in pooled.pods("scaled")},
        90,
        "the lost Pod is replaced",
    )
    space.kubectl("scale", "cnclaimset", "tenant-b", "--replicas=0")
    eventually(lambda: ready(0), 60, "no claims")
    pooled.idle("scaled", 1)


def test_a_killed_operator_leaves_no_pod_with_two_claims(pooled: Pools) -> None:
    """Killed in a burst and started again, every claim gets one Pod, and no Pod two claims."""
    space, told = pooled.space, pooled.told
    space.apply(pools.pool("burst", told.address, 6))
    pooled.idle("burst", 6)
    names = [f"burst-{number}" for number in range(12)]
    for name in names:
        space.apply(pools.claim(name, "burst"))
    eventually(lambda: pooled.phases("burst").get("Bound"), 60, "the first claim", pause=0.01)
    pooled.operator.stop(signal.SIGKILL)
    held = pools.bindings(pooled.pods("burst"))
    assert all(len(found) == 1 for found in held.values())
    pooled.start()
    pods = pooled.bound(*names, seconds=120)
    assert len(set(pods.values())) == len(names)
    assert pools.bindings(pooled.pods("burst")) == {name: [pod] for name, pod in pods.items()}
    for pod in pooled.pods("burst"):
        if pod["metadata"]["labels"][pools.PHASE] == "Bound":
            assert told.of(pod)[1] == {"account": [pod["metadata"]["labels"][pools.CLAIMED_BY]]}


def test_a_new_template_replaces_idle_pods_and_leaves_claimed_ones(pooled: Pools) -> None:
    """In-use Pods of an earlier template stay, and say so; returned ones are not used again."""
    space, told = pooled.space, pooled.told
    space.apply(pools.pool("rolled", told.address, 1))
    pooled.idle("rolled", 1)
    space.apply(pools.claim("stays", "rolled"))
    pod = pooled.bound("stays")["stays"]
    before = space.get("cnpool", "rolled")["status"]["generation"]
    newer = {"image": "matrixorigin/matrixone:1.3.1"}
    space.apply(pools.pool("rolled", told.address, 1, template=newer))
    eventually(
        lambda: space.get("cnclaim", "stays")["status"]["phase"] == "Outdated", 60, "outdated"
    )
    eventually(
        lambda: (
            {
                one["spec"]["containers"][0]["image"]
                for one in pooled.pods("rolled")
                if one["metadata"]["name"] != pod
            }
            == {newer["image"]}
        ),
        60,
        "an idle Pod of the new template alone",
    )
    assert space.get("pod", pod)
    space.kubectl("delete", "cnclaim", "stays")
    eventually(lambda: not space.get("cnset", before), 90, "the former generation ends")
    pooled.idle("rolled", 1)


class Watched:
    """Samples what a claim set has, on a connection of its own; a context manager.

    Attributes:
        fewest: Pods that were bound to its claims at any time.
        most: claims that it had at any time.
    """

    def __init__(self, pooled: Pools, pool: str, claim_set: str) -> None:
        self._pooled, self._pool, self._set = pooled, pool, claim_set
        self.fewest, self.most = 1000, 0
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> "Watched":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        self._thread.join(60)

    def _watch(self) -> None:
        while not self._ends.is_set():
            pods = self._pooled.pods(self._pool)
            of_set = [one for one in pods if labels_of(one).get(CLAIM_SET) == self._set]
            claims = self._pooled.space.listed("cnclaims", f"{CLAIM_SET}={self._set}")
            self.fewest = min(self.fewest, pools.phases(of_set).get("Bound", 0))
            self.most = max(self.most, len(claims))


def labels_of(one: Json) -> Json:
    return one["metadata"].get("labels") or {}


def test_a_claim_set_is_rolled_with_one_more_than_it_needs(pooled: Pools) -> None:
    """Never fewer Pods than desired serve it, nor more than one claim too many is there.

    Going back continues the former generation: a claim on one
    of its Pods, outdated meanwhile, has the same Pod and is up to date.
    """
    space, told = pooled.space, pooled.told
    former = pools.pool("surging", told.address, 2)
    newer = {"image": "matrixorigin/matrixone:1.3.1"}
    space.apply(former)
    pooled.idle("surging", 2)
    space.apply(pools.claim_set("tenant-c", "surging", 3))
    space.apply(pools.claim("stays", "surging"))
    kept = pooled.bound("stays", seconds=180)["stays"]
    settled(pooled, "surging", "tenant-c", 3)
    first = space.get("cnpool", "surging")["status"]["generation"]

    with Watched(pooled, "surging", "tenant-c") as seen:
        space.apply(pools.pool("surging", told.address, 2, template=newer))
        eventually(lambda: present(pooled, "surging") != first, 120, "another generation")
        settled(pooled, "surging", "tenant-c", 3)
    assert (seen.fewest, max(4, seen.most)) == (3, 4)
    assert space.get("cnclaim", "stays")["status"]["phase"] == "Outdated"
    second = present(pooled, "surging")

    with Watched(pooled, "surging", "tenant-c") as seen:
        space.apply(former)
        eventually(lambda: present(pooled, "surging") == first, 120, "the former generation")
        settled(pooled, "surging", "tenant-c", 3)
    assert (seen.fewest, max(4, seen.most)) == (3, 4)
    assert pooled.bound("stays")["stays"] == kept
    eventually(lambda: not space.get("cnset", second), 120, "the other generation ends")
    space.kubectl("delete", "cnclaimset,cnclaim", "--all", "--timeout=60s")


def present(pooled: Pools, pool: str) -> str:
    """Return the generation that a pool reports."""
    return str(pooled.space.get("cnpool", pool)["status"]["generation"])


def settled(pooled: Pools, pool: str, claim_set: str, replicas: int) -> None:
    """Wait until a claim set has just so many claims, all on Pods of the present template."""
    space = pooled.space

    def done() -> bool:
        generation = present(pooled, pool)
        claims = (space.get("cnclaimset", claim_set).get("status") or {}).get("claims") or []
        pods = pooled.pods(pool)
        used = [one for one in pods if labels_of(one).get(CLAIM_SET) == claim_set]
        idle = [one for one in pods if labels_of(one)[pools.PHASE] == "Idle"]
        of = {labels_of(one)["matrixorigin.io/instance"] for one in (*used, *idle)}
        return (
            [one["phase"] for one in claims] == ["Bound"] * replicas
            and (len(used), len(idle), of) == (replicas, 2, {generation})
            and pools.phases(pods).keys() == {"Bound", "Idle"}
        )

    eventually(
        done,
        360,
        f"{replicas} claims on the present template",
        otherwise=lambda: (
            space.get("cnclaimset", claim_set).get("status"),
            space.get("cnpool", pool).get("status"),
            pooled.phases(pool),
        ),
    )


def test_the_end_of_a_pool_drains_what_is_claimed(pooled: Pools) -> None:
    """Deletion of a pool ends, with all that belongs to it; its claims say what became of them."""
    space, told = pooled.space, pooled.told
    space.apply(pools.pool("ending", told.address, 1))
    pooled.idle("ending", 1)
    space.apply(pools.claim("left", "ending"))
    pooled.bound("left")
    space.kubectl("delete", "cnpool", "ending", "--timeout=120s")
    assert pooled.pods("ending") == []
    assert not [one for one in space.names("cnset") if "ending" in one]
    assert space.get("cnclaim", "left")["status"]["phase"] in {"Lost", "Pending"}
    space.kubectl("delete", "cnclaim", "left", "--timeout=5s")
