# SPDX-License-Identifier: Apache-2.0
"""Commands about compute nodes, upgrades and objects, on an API server without an operator."""

import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml

from kubectl_matrixone.commands import drain
from kubectl_matrixone.errors import Unanswered
from kubectl_matrixone.following import Outcome
from kubectl_matrixone.kubectl import Kubectl
from testbed.bed import TestBed
from tests.support.namespaces import install
from tests.support.plugin import Plugin
from tests.support.waiting import eventually

from . import objects
from .space import Space, tiny_cluster, tiny_pod

pytestmark = pytest.mark.api

Json = dict[str, Any]
VERSION = "core.matrixorigin.io/v1alpha1"
STATUS = {"version": "3.0.18", "tn": {"dataVersion": "3.0.18"}}
OF_MO = {"matrixorigin.io/cluster": "mo", "matrixorigin.io/component": "CNSet"}
POOL = "pool.matrixorigin.io/pool-name"
PHASE = "pool.matrixorigin.io/phase"


def cn_set(name: str) -> Json:
    deps = {"logSet": {"metadata": {"name": "mo"}}, "dnSet": {"metadata": {"name": "mo"}}}
    spec = {"replicas": 1, "image": "matrixorigin/matrixone:3.0.18"}
    metadata = {"name": name, "labels": {"matrixorigin.io/cluster": "mo"}}
    return {
        "apiVersion": VERSION,
        "kind": "CNSet",
        "metadata": metadata,
        "spec": spec,
        "deps": deps,
    }


def claim(name: str, pool: str = "shared") -> Json:
    spec = {"selector": {"matchLabels": {"a": "b"}}, "poolName": pool, "podName": "old"}
    return {"apiVersion": VERSION, "kind": "CNClaim", "metadata": {"name": name}, "spec": spec}


@pytest.fixture(scope="module")
def space(fake_testbed: TestBed) -> Iterator[Space]:
    install(fake_testbed)
    with fake_testbed.namespace("plugin-nodes") as namespace:
        made = Space(fake_testbed, namespace)
        made.apply(tiny_cluster("mo"), STATUS | {"credentialRef": {"name": "mo-credential"}})
        made.apply(tiny_cluster("early"), {"version": "1.2.2"})
        made.apply(
            cn_set("mo-tp"), {"stores": [{"podName": "mo-tp-a", "uuid": "u", "state": "Working"}]}
        )
        made.apply(tiny_pod("mo-tp-a", OF_MO))
        made.apply(tiny_pod("early-a", {**OF_MO, "matrixorigin.io/cluster": "early"}))
        made.apply(tiny_pod("in-pool", {**OF_MO, POOL: "shared", PHASE: "Bound"}))
        made.apply(tiny_pod("idle", {POOL: "shared", PHASE: "Idle"}))
        yield made


def states(space: Space, *found: str) -> None:
    stores = [{"podName": "mo-tp-a", "uuid": "u", "state": state} for state in found]
    patch = json.dumps({"status": {"stores": stores}})
    space.kubectl("patch", "cnset", "mo-tp", "--subresource=status", "--type=merge", "-p", patch)


def test_a_drain_follows_what_operator_and_database_say(
    space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    kubectl = Kubectl(
        (f"--kubeconfig={space.bed.kubeconfig}",), space.name, str(space.bed.kubectl_path)
    )
    sessions = {"u": 2, "other": 7}
    observed = drain._observing(kubectl, "mo-tp-a", lambda: sessions)
    now = [100.0]
    monkeypatch.setattr(drain.time, "monotonic", lambda: now[0])
    states(space, "Working")
    assert observed().step == "Cordoned"
    now[0] += 60
    states(space, "Draining")
    assert observed().text == "Draining: 2 sessions left"
    sessions.pop("u")
    assert observed().outcome is Outcome.OPEN
    now[0] += 15
    assert observed().outcome is Outcome.DONE
    states(space)
    assert observed().step == "Cordoned"

    def refused() -> Any:
        raise Unanswered("no")

    states(space, "Draining")
    with pytest.raises(Unanswered):
        drain._observing(kubectl, "mo-tp-a", refused)()
    states(space, "Working")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("drain", "mo-tp-a"), 1, '"mo-credential" not found. The Pod stays cordoned'),
        (("drain", "early-a"), 1, "MatrixOne 1.2.2 does not list those of a node that drains"),
        (("drain", "in-pool"), 1, "is of CNPool shared: move its claim"),
        (("drain", "idle", "--timeout", "soon"), 2, "is no duration"),
        (("drain", "absent"), 1, '"absent" not found'),
        (("promote", "absent"), 1, '"absent" not found'),
        (("promote",), 2, "CLAIM"),
        (("upgrade", "mo", "--plan"), 1, "no upgrade is under way"),
        (("upgrade", "mo", "--plan", "--pause"), 2, "--plan is about --to"),
        (("upgrade", "mo", "--plan", "--watch"), 2, "not allowed with argument"),
        (("upgrade", "mo", "--plan", "--to", "1 0"), 1, "spec.version"),
        (("render", "mo", "-f", "x"), 2, "not both"),
        (("render", "-f", "/nowhere"), 2, "/nowhere cannot be read"),
        (("top", "absent"), 1, '"absent" not found'),
    ],
)
def test_what_cannot_be_done_is_said(
    space: Space, plugin: Plugin, arguments: tuple[str, ...], code: int, said: str
) -> None:
    ended = plugin(*arguments, "-n", space.name)
    assert (ended.returncode, said in ended.stderr) == (code, True), ended
    assert "Traceback" not in ended.stderr


def test_a_drain_that_nobody_can_follow_leaves_the_node_cordoned(
    space: Space, plugin: Plugin
) -> None:
    plugin("drain", "mo-tp-a", "-n", space.name)
    assert "matrixorigin.io/store-cordon" in space.annotations("pod", "mo-tp-a")
    assert plugin("uncordon", "mo-tp-a", "-n", space.name).returncode == 0
    assert "matrixorigin.io/store-cordon" not in space.annotations("pod", "mo-tp-a")


def while_running(run: Callable[[], Any], act: Callable[[], Any]) -> Any:
    """Return what a command ends with; something else happens while it waits."""
    ended: list[Any] = []
    thread = threading.Thread(target=lambda: ended.append(run()))
    thread.start()
    try:
        act()
    finally:
        thread.join()
    return ended[0]


def test_a_claim_moves_to_an_idle_node(space: Space, plugin: Plugin) -> None:
    bound = {"phase": "Bound", "store": {"podName": "old"}}
    space.apply(claim("lonely", "empty"), bound)
    refused = plugin("promote", "lonely", "-n", space.name)
    assert (refused.returncode, "CNPool empty has no idle Pod" in refused.stderr) == (1, True)
    space.apply(claim("tenant"), bound)
    space.kubectl("wait", "--for=condition=Ready", "pod/idle", "--timeout=60s")

    def spec() -> Json:
        found: Json = space.get("cnclaim", "tenant")["spec"]
        return found

    def operate() -> None:
        eventually(lambda: "sourcePod" in spec(), what="the move")
        assert (spec()["podName"], spec()["sourcePod"]) == ("idle", {"podName": "old"})
        again = plugin("promote", "tenant", "-n", space.name)
        assert "moves already, from old to idle" in again.stderr
        moved = json.dumps({"status": {"store": {"podName": "idle"}}})
        status = ("--subresource=status", "--type=merge", "-p", moved)
        space.kubectl("patch", "cnclaim", "tenant", *status)
        done = json.dumps({"spec": {"sourcePod": None}})
        space.kubectl("patch", "cnclaim", "tenant", "--type=merge", "-p", done)

    ended = while_running(lambda: plugin("promote", "tenant", "-n", space.name, "--wait"), operate)
    assert ended.returncode == 0, ended
    assert "CNClaim tenant moves from old to idle" in ended.stdout
    assert "CNClaim tenant is served by idle" in ended.stdout


def test_a_plan_changes_nothing(space: Space, plugin: Plugin) -> None:
    before = space.get("mo", "mo")["metadata"]["resourceVersion"]
    shown = plugin("upgrade", "mo", "--to", "3.1.0", "--plan", "-n", space.name)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.startswith("From 3.0.18 to 3.1.0, a newer release")
    assert "point of no return" in shown.stdout
    assert space.get("mo", "mo")["metadata"]["resourceVersion"] == before


def test_an_upgrade_is_watched_to_its_end(space: Space, plugin: Plugin) -> None:
    version = space.get("mo", "early")["spec"]["version"]
    to = version + "-next"

    def operate() -> None:
        def seen() -> Any:
            found = space.get("mo", "early")
            return found["spec"]["version"] == to and found["metadata"]["generation"]

        generation = eventually(seen, what="the version")
        status = {"version": to, "observedGeneration": generation, "conditions": objects.well()}
        patch = json.dumps({"status": status})
        space.kubectl("patch", "mo", "early", "--subresource=status", "--type=merge", "-p", patch)

    def run() -> Any:
        return plugin("upgrade", "early", "--to", to, "--watch", "-n", space.name)

    ended = while_running(run, operate)
    assert ended.returncode == 0, ended
    assert ended.stdout.endswith(f"Completed: MatrixOne {to}\n")
    space.kubectl("patch", "mo", "mo", "--type=merge", "-p", '{"spec":{"version":"3.0.17"}}')
    late = plugin("upgrade", "mo", "--watch", "--timeout=2s", "-n", space.name)
    assert (late.returncode, "has not ended within 2 s" in late.stderr) == (1, True)
    space.apply(tiny_cluster("mo"))


def test_top_says_what_is_not_known(space: Space, plugin: Plugin) -> None:
    shown = plugin("top", "mo", "-n", space.name)
    assert shown.returncode == 0, shown.stderr
    lines = shown.stdout.splitlines()
    assert lines[0].split() == ["POD", "SESSIONS", "CPU", "MEMORY"]
    assert [*lines[1].split()] in (["in-pool", "?", "?", "?"], ["mo-tp-a", "?", "?", "?"])
    assert any(line.startswith("not known: CPU and memory") for line in lines)
    assert 'not known: sessions: secrets "mo-credential" not found' in lines
    facts = yaml.safe_load(plugin("top", "mo", "-n", space.name, "-o", "yaml").stdout)
    assert {one["sessions"] for one in facts["pods"]} == {None}


def test_a_cluster_is_rendered(space: Space, plugin: Plugin) -> None:
    shown = plugin("render", "mo", "-n", space.name)
    assert shown.returncode == 0, shown.stderr
    found = [one for one in yaml.safe_load_all(shown.stdout) if one]
    assert {one["metadata"]["namespace"] for one in found} == {space.name}
    given = plugin("render", "-f", "-", "-n", space.name, given=yaml.safe_dump(tiny_cluster("mo")))
    assert given.returncode == 0, given.stderr
    names = [(one["kind"], one["metadata"]["name"]) for one in found]
    same = [one for one in yaml.safe_load_all(given.stdout) if one]
    assert [(one["kind"], one["metadata"]["name"]) for one in same] == names
