# SPDX-License-Identifier: Apache-2.0
"""Deletion comes to an end whatever stands in its way: Pods, an outage, what is gone already."""

import json
import re
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from testbed.processes import last_words
from tests.support.namespaces import CHILDREN, Namespace
from tests.support.operator_rights import account, refusals
from tests.support.operators import Operator, launch
from tests.support.places import ROOT
from tests.support.waiting import eventually

from .conftest import tiny_cluster

pytestmark = pytest.mark.api

BOUND = 20


@pytest.fixture(scope="module")
def doomed(space: Namespace) -> Iterator[Namespace]:
    """A namespace that nobody misses; the rights of the operator are elsewhere."""
    with space.bed.namespace("doomed") as name:
        yield Namespace(space.bed, name)


@dataclass
class Operated:
    """The operator that the tests share; one of them stops it for a while."""

    start: Callable[[], Operator]
    operator: Operator

    @contextmanager
    def outage(self) -> Iterator[None]:
        """Stop the operator for the block."""
        assert self.operator.stop() == 0
        try:
            yield
        finally:
            self.operator = self.start()

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Have the operator see all that happens during the block at once, after it."""
        self.operator.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.operator.process.send_signal(signal.SIGCONT)


@pytest.fixture(scope="module")
def shared(
    space: Namespace, doomed: Namespace, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Operated]:
    """Run the operator, which waits for less long than it is used to."""
    folder = tmp_path_factory.mktemp("operator")
    watches = folder / "watches.yaml"
    text = (ROOT / "watches.yaml").read_text()
    watches.write_text(
        re.sub(r"( +)(\w+)_state: absent", rf"\1\2_state: absent\n\1\2_wait_timeout: {BOUND}", text)
    )
    kubeconfig = account(space.bed, space.name, folder / "kubeconfig", everywhere=True)
    watched = {"WATCH_NAMESPACE": f"{space.name},{doomed.name}"}

    def start() -> Operator:
        return launch(kubeconfig, folder, "--watches-file", str(watches), variables=watched)

    operated = Operated(start, start())
    yield operated
    operated.operator.stop()


@pytest.fixture
def operated(shared: Operated) -> Iterator[Operated]:
    """The operator, which a test must neither end nor make ask for what it may not do."""
    yield shared
    log = shared.operator.log
    assert shared.operator.process.poll() is None, last_words(log)
    assert refusals(log) == []


def make(space: Namespace, name: str, **spec: Any) -> None:
    make_all(space, {name: spec})


def make_all(space: Namespace, specs: dict[str, dict[str, Any]]) -> None:
    """Bring up clusters side by side, each with what its spec has of its own."""
    for name, spec in specs.items():
        resource = tiny_cluster(space.name)
        resource["metadata"]["name"] = name
        resource["spec"].update(spec)
        space.apply(resource)
    for name in specs:
        space.wait("Ready", name=name)


def teardown(space: Namespace, name: str, seconds: float = 120) -> list[set[str]]:
    """Return which kinds of children were there, each time that changed, until all were gone."""
    seen: list[set[str]] = []
    deadline = time.monotonic() + seconds
    while space.get("mo", name):
        listed = space.names(CHILDREN)
        kinds = {one.partition(".")[0] for one in listed if f"/{name}" in one}
        if not seen or seen[-1] != kinds:
            seen.append(kinds)
        assert time.monotonic() < deadline, seen
        time.sleep(0.1)
    return seen


def require_order(seen: list[set[str]]) -> None:
    for kinds in seen:
        assert "dnset" in kinds or not kinds & {"cnset", "proxyset"}, seen
        assert "logset" in kinds or not kinds, seen


def test_a_pod_that_hangs_is_named_and_not_waited_for_for_ever(
    space: Namespace, operated: Operated
):
    make(space, "hangs")
    [pod] = [one for one in space.names("pods") if "hangs-tp-cn" in one]
    space.kubectl("patch", pod, "--type=merge", "-p", '{"metadata":{"finalizers":["a.b/c"]}}')
    try:
        begun = time.monotonic()
        space.kubectl("delete", "mo", "hangs", "--wait=false")
        name = pod.partition("/")[2]
        said = eventually(lambda: naming(space, "cnset", "hangs-tp", name))
        assert f"at most {BOUND} s" in said
        eventually(lambda: naming(space, "mo", "hangs", "CNSet"))
        seen = teardown(space, "hangs")
        assert time.monotonic() - begun < 4 * BOUND
        require_order(seen)
    finally:
        space.kubectl("patch", pod, "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
    eventually(lambda: not [one for one in space.names("pods") if "hangs" in one])


def naming(space: Namespace, kind: str, name: str, what: str) -> str:
    """Return the message of a resource once it names something."""
    status = space.get(kind, name).get("status") or {}
    said = str(status.get("message") or "")
    return said if what in said and status["phase"] == "Deleting" else ""


def events(space: Namespace, name: str) -> list[dict[str, Any]]:
    listed = space.events()
    return [one for one in listed if one["regarding"]["name"] == name]


def test_what_was_deleted_during_an_outage_goes_in_order(space: Namespace, operated: Operated):
    make(space, "outage")
    with operated.outage():
        space.kubectl("delete", "mo", "outage", "--wait=false")
        assert space.get("mo", "outage")["metadata"]["deletionTimestamp"]

    require_order(teardown(space, "outage"))
    left = space.names(f"{CHILDREN},pods,statefulset,deployment,service,secret")
    assert not [name for name in left if "/outage" in name]


def test_what_a_resource_depends_on_may_be_gone_first(space: Namespace, operated: Operated):
    """The credential and the log service of sets that drain; none of it is asked for in vain."""
    group = {"name": "tp", "replicas": 1, "terminationPolicy": "Drain"}
    group["scalingConfig"] = {"storeDrainEnabled": True}
    make_all(space, {"alone": {"cnGroups": [group]}, "bare": {}})
    space.kubectl("delete", "mo", "alone", "--cascade=orphan", "--timeout=60s")
    credentials = ("alone-credential", "alone-credential-accepted")
    space.kubectl("delete", "secret", *credentials, "--ignore-not-found")
    space.kubectl("delete", "logset", "alone", "--timeout=60s")
    begun = time.monotonic()
    for kind, name in (("cnset", "alone-tp"), ("proxyset", "alone"), ("dnset", "alone")):
        space.kubectl("delete", kind, name, "--timeout=60s")
    assert time.monotonic() - begun < 60

    space.kubectl("delete", "secret", "bare-credential")
    space.kubectl("delete", "pvc", "bare-shared", "--wait=false")
    space.kubectl("delete", "statefulset", "bare-log", "--cascade=orphan")
    space.kubectl("delete", "mo", "bare", "--timeout=90s")
    left = space.names(f"{CHILDREN},pods,statefulset,deployment,service,pvc,secret")
    assert not [name for name in left if "/alone" in name or "/bare" in name]


def test_what_a_pass_took_back_outlives_a_deletion_without_dependents(
    space: Namespace, operated: Operated
) -> None:
    """A pass that was under way names the cluster in its log service again, after Kubernetes."""
    make(space, "took-back")
    pods = {name for name in space.names("pods") if "took-back" in name}
    owners = space.get("logset", "took-back")["metadata"]["ownerReferences"]
    with operated.frozen():
        space.kubectl("delete", "mo", "took-back", "--cascade=orphan", "--wait=false")
        ours = ["matrixorigin.io/matrixonecluster"]
        eventually(
            lambda: space.get("mo", "took-back")["metadata"]["finalizers"] == ours, seconds=90.0
        )
        patch = json.dumps({"metadata": {"ownerReferences": owners}})
        space.kubectl("patch", "logset", "took-back", "--type=merge", "-p", patch)

    eventually(lambda: not space.get("mo", "took-back"))
    assert not space.get("logset", "took-back")["metadata"].get("ownerReferences")
    assert {name for name in space.names("pods") if "took-back" in name} == pods
    space.kubectl("delete", CHILDREN, "took-back", "took-back-tp", "--ignore-not-found")


def test_nodes_that_drain_before_they_go_are_waited_for(space: Namespace, operated: Operated):
    """Also where scaling in does not drain. Nobody answers here, so it takes all its time."""
    group = {"name": "tp", "replicas": 1, "terminationPolicy": "Drain"}
    make(space, "drains", cnGroups=[group | {"scalingConfig": {"storeDrainTimeout": "30s"}}])
    begun = time.monotonic()
    space.kubectl("delete", "mo", "drains", "--wait=false")
    said = eventually(lambda: naming(space, "cnset", "drains-tp", "draining drains-tp-cn-"))
    assert re.search(r"draining \S+ until \S+Z at most \(.+\)", said)
    conditions = space.get("cnset", "drains-tp")["status"]["conditions"]
    reasons = {one["type"]: one["reason"] for one in conditions}
    assert (reasons["Ready"], reasons["Progressing"]) == ("Deleting", "Draining")
    eventually(lambda: naming(space, "mo", "drains", "(draining drains-tp-cn-"))
    [pod] = [one for one in space.names("pods") if "drains-tp-cn" in one]
    space.kubectl("patch", pod, "--type=merge", "-p", '{"metadata":{"finalizers":["a.b/c"]}}')
    # Sessions that are waited for came through proxies, which are clients of what stays longer.
    eventually(lambda: not space.get("proxyset", "drains"))
    assert time.monotonic() - begun >= 30
    assert space.get("cnset", "drains-tp")
    space.kubectl("patch", pod, "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
    require_order(teardown(space, "drains"))
    reasons = [one["reason"] for one in events(space, "drains-tp")]
    assert sorted(reason for reason in reasons if reason.startswith(("Drain", "Del"))) == [
        "Deleting", "DrainEnded", "DrainTimedOut", "Draining",
    ]  # fmt: skip


def test_a_namespace_goes_with_all_that_is_in_it(doomed: Namespace, operated: Operated):
    kept = {"replicas": 1, "pvcRetentionPolicy": "Retain", "volume": {"size": "1Gi"}}
    kept["sharedStorage"] = {"fileSystem": {"path": "/shared", "claim": {"size": "1Gi"}}}
    make_all(doomed, {"one": {}, "two": {"logService": kept}})

    doomed.bed.kubectl("delete", "namespace", doomed.name, "--timeout=120s")

    found = json.loads(doomed.bed.kubectl("get", "namespaces", "-o", "json"))["items"]
    assert doomed.name not in {one["metadata"]["name"] for one in found}
