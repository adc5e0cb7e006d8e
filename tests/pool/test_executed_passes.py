# SPDX-License-Identifier: Apache-2.0
"""Whole passes of a pool: requests, conflicts, what is missing. The API server is in memory."""

import copy
import itertools
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.action.cn_pool import result_of
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.kubernetes.errors import (
    Conflict,
    NotFound,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.matrixone import (
    Deadline,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.matrixone.records import (
    WorkState,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.compute.pods import uuid_of
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.pool.health_check import (
    is_heard,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.pool.objects import Objects
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.pool.pool_status import (
    pool_status,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.pool.reconciler import (
    PassResult,
    run_pass,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.pool.stores import Stores
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.pool.writes import (
    SECONDS_OF_STORE_WRITES,
    StoreWrite,
)

from tests.support import pools

pytestmark = pytest.mark.rpc

Json = dict[str, Any]
PLURALS = {"cnclaims": "CNClaim", "cnpools": "CNPool", "pods": "Pod", "cnsets": "CNSet"}
GENERATION = "p-one"


class Server:
    """Objects in memory, with versions and their conflicts.

    Attributes:
        sent: method and plural of each request that is no list.
        lists: plural of each list, and whether no cache of an operator may answer it.
        disturbed: names of objects that somebody else changes before the next write to them.
        late: Pods that somebody else creates after the API server itself has listed Pods.
    """

    def __init__(self, *objects: Json) -> None:
        self.added: Json = {}
        self.discovered: Json = {}
        self.sent: list[tuple[str, str]] = []
        self.lists: list[tuple[str, bool]] = []
        self.disturbed: set[str] = set()
        self.late: list[Json] = []
        self._versions = itertools.count(1)
        self._objects: dict[tuple[str, str], Json] = {}
        for one in objects:
            self.put(one)

    def put(self, one: Json) -> Json:
        kind, name = one["kind"], one["metadata"]["name"]
        metadata = {"uid": f"uid-{name}", "namespace": "ns", **one["metadata"]}
        metadata["resourceVersion"] = str(next(self._versions))
        stored = {**copy.deepcopy(one), "metadata": metadata}
        self._objects[kind, name] = stored
        return stored

    def all(self, kind: str) -> list[Json]:
        return [one for (found, _), one in sorted(self._objects.items()) if found == kind]

    def listed(self, _plural: str, _namespace: str, _labels: str = "") -> list[Json]:
        """As `tests.support.api.Api` does, for the HAKeeper of a test."""
        return self.all("Pod")

    def request(self, method: str, path: str, *, body: Any = None, **_more: Any) -> Any:
        parts = path.split("/namespaces/ns/")[1].split("/")
        kind = PLURALS.get(parts[0], "Deployment")
        if method == "GET" and len(parts) == 1:
            self.lists.append((parts[0], "fieldSelector" in _more.get("query", {})))
            asked = _more.get("query", {}).get("labelSelector", "")
            found = [one for one in self.all(kind) if _selected(one, asked)]
            while self.late and kind == "Pod" and self.lists[-1][1]:
                self.put(self.late.pop())
            return {"items": copy.deepcopy(found)}
        self.sent.append((method, "/".join([parts[0], *parts[2:]])))
        if method == "POST":
            name = f"{body['metadata']['generateName']}{len(self.sent)}"
            return copy.deepcopy(self.put({**body, "metadata": {**body["metadata"], "name": name}}))
        live = self._objects.get((kind, parts[1]))
        if live is None:
            raise NotFound(f"{path} not found", 404, "NotFound", [])
        if method == "GET":
            return copy.deepcopy(live)
        return copy.deepcopy(self._write(method, live, body))

    def _write(self, method: str, live: Json, body: Json) -> Json:
        name = live["metadata"]["name"]
        if name in self.disturbed:
            self.disturbed.remove(name)
            live = self.put(live)
        conditions = body.get("preconditions") or body.get("metadata") or {}
        for key in ("uid", "resourceVersion"):
            if key in conditions and conditions[key] != live["metadata"][key]:
                raise Conflict(f"{name} was changed", 409, "Conflict", [])
        if method == "DELETE":
            return self._objects.pop((live["kind"], name))
        return self.put(_merged(live, body))


def _selected(found: Json, selector: str) -> bool:
    labels = found["metadata"].get("labels") or {}
    wanted = [one.partition("=") for one in selector.split(",") if one]
    return all(key in labels and (not is_ or labels[key] == value) for key, is_, value in wanted)


def _merged(live: Any, patch: Any) -> Any:
    if not isinstance(patch, dict) or not isinstance(live, dict):
        return patch
    found = {
        key: value for key, value in live.items() if key not in patch or patch[key] is not None
    }
    for key, value in patch.items():
        if value is not None:
            found[key] = _merged(live.get(key) if isinstance(value, dict) else None, value)
    return found


def pod(name: str, phase: str = "Idle", generation: str = GENERATION) -> Json:
    labels = {
        "pool": "p",
        "pool.matrixorigin.io/pool-name": "p",
        pools.PHASE: phase,
        "matrixorigin.io/component": "CNSet",
        "matrixorigin.io/instance": generation,
    }
    ready = [{"type": "Ready", "status": "True"}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels, "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"subdomain": "p-cn-headless", "nodeName": "node-0"},
        "status": {"phase": "Running", "podIP": "10.0.0.1", "conditions": ready},
    }


def stored_claim(name: str) -> Json:
    manifest = pools.claim(name, "p")
    created = {"creationTimestamp": "2026-01-01T00:00:00Z", "generation": 1}
    return {**manifest, "metadata": {**manifest["metadata"], **created}}


def generation_set(name: str = GENERATION) -> Json:
    owner = {"apiVersion": pools.API_VERSION, "kind": "CNPool", "name": "p", "uid": "uid-p"}
    metadata = {"name": name, "ownerReferences": [owner]}
    return {"apiVersion": pools.API_VERSION, "kind": "CNSet", "metadata": metadata}


@pytest.fixture
def served() -> Iterator[tuple[Server, pools.Registry]]:
    """An API server with a generation, and a HAKeeper that knows its Pods."""
    server = Server(generation_set())
    api: Any = server
    with pools.hakeeper(api, "ns") as told:
        yield server, told


def passed(server: Server, address: str, max_idle: int = 0) -> PassResult:
    resource = server.put(pools.pool("p", address, max_idle))
    session: Any = server
    return run_pass(session, resource, GENERATION, 20.0)


Served = tuple[Server, pools.Registry]


class Recorder:
    """A HAKeeper that notes in which order it is called."""

    def __init__(self, seen: list[str]) -> None:
        self._seen = seen

    def __getattr__(self, name: str) -> Any:
        if name == "cluster_details":
            return lambda *_: SimpleNamespace(cn_stores=[])
        return lambda *_: self._seen.append(name)


def test_one_pass_binds_all_claims_with_three_requests_each(served: Served) -> None:
    """The claim names its Pod, the Pod is bound, the status says so; and one call to HAKeeper."""
    server, told = served
    count = 12
    for number in range(count):
        server.put(pod(f"pod-{number:02}"))
        server.put(stored_claim(f"claim-{number:02}"))
    done = passed(server, told.address)
    claims = server.all("CNClaim")
    assert {one["status"]["phase"] for one in claims} == {"Bound"}
    assert len({one["spec"]["podName"] for one in claims}) == count
    assert len(pools.bindings(server.all("Pod"))) == count
    wanted = [("PATCH", "cnclaims"), ("PATCH", "cnclaims/status"), ("PATCH", "pods")]
    assert sorted(server.sent) == sorted(wanted * count)
    assert told.asked["PATCH_CN_STORE"] == count
    assert (done.unfinished, done.stuck, done.problem) == (False, False, "")
    assert (len(done.written.measures.waits), done.written.measures.missed) == (count, 0)
    passed(server, told.address)
    assert len(server.sent) == 3 * count


@pytest.mark.parametrize("is_new", [True, False])
def test_pods_are_listed_once_and_from_the_api_server_only_for_a_new_claim(
    served: Served, is_new: bool
) -> None:
    server, told = served
    server.put(pod("a"))
    server.put(stored_claim("c"))
    if not is_new:
        passed(server, told.address)
        server.lists.clear()
    passed(server, told.address)
    assert [fresh for plural, fresh in server.lists if plural == "pods"] == [is_new]


def test_a_claim_without_an_idle_pod_is_a_miss_once(served: Served) -> None:
    server, told = served
    server.put(stored_claim("c"))
    missed = [passed(server, told.address).written.measures.missed for _again in range(2)]
    assert server.all("CNClaim")[0]["status"]["conditions"][0]["reason"] == "NoIdleNode"
    server.put(pod("a"))
    bound = passed(server, told.address).written.measures
    assert (missed, bound.missed, len(bound.waits)) == ([1, 0], 0, 1)


def test_a_pod_that_somebody_changed_is_looked_at_again(served: Served) -> None:
    """The write is dropped, everything is listed anew, and the claim is bound all the same."""
    server, told = served
    server.put(pod("a"))
    server.put(stored_claim("c"))
    server.disturbed = {"a"}
    done = passed(server, told.address)
    assert done.written.dropped == 1
    assert pools.bindings(server.all("Pod")) == {"c": ["a"]}
    assert told.of(server.all("Pod")[0]) == (WorkState.WORKING, {"account": ["c"]})


def test_claims_that_come_during_a_pass_are_served_before_pods_are_created(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A burst takes longer to create than the first pass takes to begin."""
    server, told = served
    for name in ("a", "b"):
        server.put(pod(name))
    server.put(stored_claim("first"))
    send, late = server.request, [stored_claim("second")]

    def request(method: str, path: str, **how: Any) -> Any:
        if late and (method, path.rpartition("/")[2]) == ("PATCH", "status"):
            server.put(late.pop())
        return send(method, path, **how)

    monkeypatch.setattr(server, "request", request)
    done = passed(server, told.address, 5)
    assert set(pools.bindings(server.all("Pod"))) == {"first", "second"}
    assert done.missing == GENERATION
    bound = [number for number, (_, what) in enumerate(server.sent) if what == "pods"]
    asked = [number for number, (_, what) in enumerate(server.sent) if what == "deployments"]
    assert max(bound) < min(asked)


def test_a_store_is_left_alone_when_its_pod_has_not_been_looked_at_lately(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever runs beside this process may have given the Pod to another claim meanwhile."""
    server, told = served
    server.put(pod("a"))
    server.put(stored_claim("c"))
    monkeypatch.setattr(Objects, "age_of_pod", lambda *_: SECONDS_OF_STORE_WRITES + 1)
    done = passed(server, told.address)
    assert "PATCH_CN_STORE" not in told.asked
    assert done.written.dropped


def test_a_store_loses_its_labels_before_it_works_without_any() -> None:
    seen: list[str] = []
    hakeeper: Any = Recorder(seen)
    stores = Stores(hakeeper, [], Deadline.after(5))
    stores.ask({"a": Server().put(pod("a"))})
    assert stores.write(StoreWrite("a", WorkState.WORKING))
    assert seen == ["replace_labels", "set_work_state"]


def test_without_hakeeper_nothing_is_bound(served: Served) -> None:
    """Unknown is neither idle nor drained; the pass says what is wrong."""
    server, _told = served
    server.put(pod("a"))
    server.put(pod("b", "Draining"))
    server.put(stored_claim("c"))
    done = passed(server, "127.0.0.1:9")
    assert pools.bindings(server.all("Pod")) == {}
    assert pools.phases(server.all("Pod")) == {"Idle": 1, "Draining": 1}
    assert done.problem


def _running(name: str, phase: str = "Idle") -> Json:
    one = pod(name, phase)
    main = {"name": "main", "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}}
    return {**one, "status": {**one["status"], "containerStatuses": [main]}}


def test_a_compute_node_that_hakeeper_does_not_hear_is_replaced_and_reported(
    served: Served,
) -> None:
    """The transaction node is heard meanwhile, so it may have taken the compute node for dead."""
    server, told = served
    for name in ("a", "b"):
        server.put(_running(name))
    session: Any = server
    first = passed(server, told.address, 2)
    assert first.written.done == {}
    assert is_heard(session, _reported(server, first), 5.0)
    told.silent[uuid_of(server.all("Pod")[0])] = 12.0
    assert not is_heard(session, _reported(server, first), 5.0)
    done = passed(server, told.address, 2)
    assert [one["metadata"]["name"] for one in server.all("Pod")] == ["b"]
    assert [reason for reason, _ in done.written.notes] == ["Replaced"]
    assert is_heard(session, _reported(server, done), 5.0)


def test_compute_nodes_are_silent_together_with_the_transaction_node(served: Served) -> None:
    """Those are on the same side of a cut, hear each other, and go on afterwards."""
    server, told = served
    server.put(_running("a"))
    told.silent = {uuid_of(server.all("Pod")[0]): 12.0, pools.TRANSACTION_NODE: 12.5}
    session: Any = server
    done = passed(server, told.address, 1)
    assert [one["metadata"]["name"] for one in server.all("Pod")] == ["a"]
    status = _reported(server, done)
    (degraded,) = [one for one in status["status"]["conditions"] if one["type"] == "Degraded"]
    assert (degraded["status"], degraded["reason"]) == ("True", "StoresFailed")
    assert degraded["message"].endswith(": a")
    assert is_heard(session, status, 5.0)
    told.silent.clear()
    assert not is_heard(session, status, 5.0)


def _reported(server: Server, done: PassResult) -> Json:
    """The pool with the status that a pass leads to."""
    (resource,) = server.all("CNPool")
    return {**resource, "status": pool_status(resource, result_of(done))}


def test_a_generation_that_is_not_rendered_is_named(served: Served) -> None:
    """Pods are created from its Deployment; a pass without one ends and says so."""
    server, told = served
    done = passed(server, told.address, 2)
    assert (done.stuck, done.missing) == (True, GENERATION)
    template = {
        "metadata": {"labels": {"matrixorigin.io/component": "CNSet"}},
        "spec": {"containers": []},
    }
    server.put(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": f"{GENERATION}-cn"},
            "spec": {"replicas": 0, "template": template},
        }
    )
    passed(server, told.address, 2)
    made = server.all("Pod")
    assert pools.phases(made) == {"Unknown": 2}
    owners = {one["metadata"]["ownerReferences"][0]["controller"] for one in made}
    assert owners == {True}
    assert {one["metadata"]["labels"]["pool"] for one in made} == {"p"}


def test_a_generation_stays_while_a_former_leader_creates_a_pod_of_it(served: Served) -> None:
    """Its ConfigMap and Services serve that Pod; it goes when the Pod has gone."""
    server, told = served
    server.put(generation_set("p-old"))
    server.late.append(pod("late", "Unknown", generation="p-old"))
    passed(server, told.address)
    assert ("DELETE", "cnsets") not in server.sent[: server.sent.index(("DELETE", "pods"))]
    assert [one["metadata"]["name"] for one in server.all("CNSet")] == [GENERATION]
    assert server.all("Pod") == []
