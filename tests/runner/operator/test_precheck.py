# SPDX-License-Identifier: Apache-2.0
"""A whole operator whose watches name a check, or a probe: what is settled is not played."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from testbed.bed import TestBed
from tests.runner.operator.conftest import Cluster, Start, define, fetch
from tests.support.operators import Operator
from tests.support.places import ROOT
from tests.support.ports import free_port
from tests.support.waiting import eventually, unchanged

pytestmark = pytest.mark.api

PROJECT = Path(__file__).with_name("precheck")
GROUP = "precheck.example.com"
KINDS = {f"checkeds.{GROUP}": "Checked", f"reporteds.{GROUP}": "Reported"}
KINDS[f"probeds.{GROUP}"] = "Probed"
HARD = "{{ 1 + 1 }} ${HOME} {% raw %}"


class Checked:
    """An object whose check is a matter of its mood."""

    def __init__(self, cluster: Cluster, name: str, kind: str = "Checked") -> None:
        self.name, self._cluster, self._kind = name, cluster, kind
        self.resource = f"{kind.lower()}s.{GROUP}"

    def apply(self, word: str, **spec: Any) -> None:
        obj = {
            "apiVersion": f"{GROUP}/v1alpha1",
            "kind": self._kind,
            "metadata": {"name": self.name, "namespace": self._cluster.name},
            "spec": {"word": word, **spec},
        }
        self._cluster.apply(obj)

    def feel(self, mood: str) -> None:
        """Set the mood."""
        named = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"mood-{self.name}"}}
        self._cluster.apply({**named, "data": {"mood": mood}})

    def word(self) -> str:
        """What its role has kept."""
        found = self._cluster.get("configmap", self.name)
        return found.get("data", {}).get("word", "")

    def plays(self, operator: Operator) -> int:
        """How many plays have ended well."""
        return len(operator.lines("Ansible-runner exited successfully", name=self.name))

    def failures(self, operator: Operator) -> int:
        return len(operator.lines("Run ended with failures", name=self.name))

    def settled(self, operator: Operator) -> int:
        """How many reconciles were no plays."""
        return len(operator.lines("Nothing to do", name=self.name))

    def artifacts(self, operator: Operator) -> int:
        return len(list(operator.runs.glob(f"**/{self.name}/artifacts/[0-9]*")))


def settle(checked: Checked, operator: Operator, more: int = 2) -> None:
    """Wait for reconciles that are no plays."""
    before = checked.settled(operator)
    eventually(lambda: checked.settled(operator) >= before + more)


@pytest.fixture(scope="module")
def kinds(definitions: TestBed) -> TestBed:
    define(definitions, KINDS)
    return definitions


@pytest.fixture(scope="module")
def place(kinds: TestBed) -> Iterator[Cluster]:
    with kinds.namespace("precheck") as namespace:
        cluster = Cluster(kinds, namespace)
        yield cluster
        for resource in KINDS:
            cluster.release(resource)


def begin(start: Start, place: Cluster, *flags: str) -> Operator:
    collections = f"{PROJECT / 'collections'}:{ROOT / '.collections'}"
    return start(place.name, *flags, project=PROJECT, ANSIBLE_COLLECTIONS_PATH=collections)


@pytest.fixture(scope="module")
def metrics() -> int:
    return free_port()


@pytest.fixture(scope="module")
def operator(start_shared: Start, place: Cluster, metrics: int) -> Operator:
    return begin(start_shared, place, f"--metrics-bind-address=127.0.0.1:{metrics}")


def counted(metrics: int, name: str, *labels: str) -> float:
    """The sum of a metric's values with these labels."""
    lines = fetch(metrics, "/metrics")[1].splitlines()
    wanted = [
        line for line in lines if line.startswith(name) and all(one in line for one in labels)
    ]
    return sum(float(line.split()[-1]) for line in wanted)


def test_an_object_that_is_up_to_date_is_reconciled_without_a_play(
    place: Cluster, operator: Operator, metrics: int
) -> None:
    idle = Checked(place, "idle")
    idle.apply(HARD)
    eventually(lambda: idle.word() == HARD)
    settle(idle, operator)
    plays, artifacts = idle.plays(operator), idle.artifacts(operator)
    labels = ('GVK="precheck.example.com/v1alpha1, Kind=Checked"', 'result="succeeded"')
    results = counted(metrics, "ansible_operator_reconcile_result", *labels)
    rounds = 'controller_runtime_reconcile_total{controller="checked-v1alpha1-controller"'
    total = counted(metrics, rounds, 'result="requeue_after"')
    version = place.get(idle.resource, "idle")["metadata"]["resourceVersion"]
    settle(idle, operator, 3)
    assert idle.plays(operator) == plays >= 1
    assert idle.artifacts(operator) == artifacts
    assert counted(metrics, "ansible_operator_reconcile_result", *labels) >= results + 3
    assert counted(metrics, rounds, 'result="requeue_after"') >= total + 3
    assert place.get(idle.resource, "idle")["metadata"]["resourceVersion"] == version


def test_an_object_that_is_not_up_to_date_is_played(place: Cluster, operator: Operator) -> None:
    torn = Checked(place, "torn")
    torn.apply("one")
    settle(torn, operator)
    place.kubectl("delete", "configmap", "torn")
    eventually(lambda: torn.word() == "one")
    settle(torn, operator)


def test_who_changes_an_object_gets_a_play(place: Cluster, operator: Operator) -> None:
    """Whatever the check says: it finds nothing to do for a content object, ever."""
    asked = Checked(place, "asked")
    asked.apply("one")
    settle(asked, operator)
    asked.feel("content")
    asked.apply("two")
    eventually(lambda: asked.word() == "two")
    settle(asked, operator)
    plays = asked.plays(operator)
    place.kubectl("annotate", asked.resource, "asked", "please=run")
    eventually(lambda: asked.plays(operator) == plays + 1)
    settle(asked, operator)
    assert asked.plays(operator) == plays + 1


def test_a_deletion_is_played(place: Cluster, operator: Operator) -> None:
    gone = Checked(place, "gone")
    gone.feel("content")
    gone.apply("one")
    settle(gone, operator)
    plays = gone.plays(operator)
    place.kubectl("delete", gone.resource, "gone", "--timeout=30s")
    assert gone.plays(operator) == plays + 1


def test_a_failed_run_is_repeated(place: Cluster, operator: Operator) -> None:
    failing = Checked(place, "failing")
    failing.feel("content")
    failing.apply("one")
    settle(failing, operator)
    failing.apply("one", fails=True)
    eventually(lambda: failing.failures(operator) >= 1)
    settled = failing.settled(operator)
    eventually(lambda: failing.failures(operator) >= 4)
    assert failing.settled(operator) == settled
    failing.apply("one")
    settle(failing, operator)


@pytest.mark.parametrize(
    ("mood", "message"),
    [
        ("raise", "raised ValueError: a bad mood"),
        ("hang", "did not answer in 4 s"),
        ("die", "the process of the check acme.moods.calm exited with 7"),
    ],
)
def test_without_an_answer_there_is_a_play(
    place: Cluster, operator: Operator, mood: str, message: str
) -> None:
    moody = Checked(place, f"moody-{mood}")
    moody.feel(mood)
    moody.apply("one")
    eventually(lambda: moody.plays(operator) >= 2)
    lines = operator.lines("Check failed, so the object is run", name=moody.name)
    assert lines
    assert message in lines[0]["error"]
    assert not moody.settled(operator)
    place.kubectl("delete", "configmap", f"mood-{moody.name}")
    settle(moody, operator)


@pytest.mark.parametrize("mood", ["restless", "raise"])
def test_a_no_leads_to_a_run_and_a_yes_to_none(
    place: Cluster, operator: Operator, mood: str
) -> None:
    """Nothing at the API server changes; a check that finds nothing to do is not asked."""
    probed = Checked(place, f"probed-{mood}", "Probed")
    probed.apply("one")
    eventually(lambda: probed.word() == "one")
    plays = unchanged(lambda: probed.plays(operator), 1.5)
    probed.feel(mood)
    eventually(lambda: probed.plays(operator) >= plays + 2)
    probed.feel("content")
    unchanged(lambda: probed.plays(operator), 1.5)
    assert {"probe"} <= {
        line["reason"]
        for line in operator.lines("Ansible-runner exited successfully", name=probed.name)
    }


def test_conditions_are_written_before_a_check_is_used(place: Cluster, operator: Operator) -> None:
    reported = Checked(place, "reported", "Reported")
    reported.feel("content")
    reported.apply("one")
    settle(reported, operator)
    assert reported.word() == "one"
    assert place.conditions(reported.resource, "reported")["Successful"]["status"] == "True"


def test_after_a_restart_what_a_check_reads_is_watched(
    place: Cluster, operator: Operator, start: Start
) -> None:
    kept = Checked(place, "kept")
    kept.apply("one")
    settle(kept, operator)
    assert operator.stop() == 0
    later = begin(start, place)
    settle(kept, later, 1)
    assert kept.plays(later) == 0
    assert later.lines("Watching child resource", kind="/v1, Kind=ConfigMap")

    def deletion_is_a_reason() -> bool:
        """Delete it until the watch is faster than the period of a second."""
        lines = later.lines("Ansible-runner exited successfully", name="kept")
        if any("ConfigMap kept deleted" in line["reason"] for line in lines):
            return True
        place.kubectl("delete", "configmap", "kept", "--ignore-not-found")
        return False

    eventually(deletion_is_a_reason)
    assert later.stop() == 0


def test_the_other_engine_plays_always(kinds: TestBed, start: Start) -> None:
    with kinds.namespace("precheck") as namespace:
        steady = Checked(Cluster(kinds, namespace), "steady", "Reported")
        steady.apply("one")
        slow = begin(start, Cluster(kinds, namespace), "--engine=ansible-runner")
        eventually(lambda: steady.plays(slow) >= 2, 120)
        assert not slow.lines("Nothing to do")
        assert slow.stop() == 0


def test_an_unknown_check_is_reported_at_the_start(
    place: Cluster, start: Start, tmp_path: Path
) -> None:
    watches = tmp_path / "watches.yaml"
    text = (PROJECT / "watches.yaml").read_text()
    watches.write_text(text.replace("acme.moods.calm", "acme.moods.clam"))
    lost = begin(start, place, f"--watches-file={watches}")
    assert lost.process.wait(60) == 1
    (line,) = lost.lines("Proxy or operator exited with error.")
    assert "there is no test plugin acme.moods.clam" in line["error"]
