# SPDX-License-Identifier: Apache-2.0
"""What a run is asked for: annotations of the object before the watch."""

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import structlog.testing

from ansible_operator.engine import RunRequest, make_engine
from ansible_operator.engine.interface import RunResult, RunStatus
from ansible_operator.kube.interface import GroupVersionKind, ResourceType
from ansible_operator.loop.queueing.queue import Trigger
from ansible_operator.loop.reconciling.artifact_limit import ArtifactLimit
from ansible_operator.loop.reconciling.runs import Runs
from ansible_operator.loop.settings import Controlled, RunSettings
from ansible_operator.watches import Finalizer, KindName, PlayPath, Watch

PREFIX = "ansible.sdk.operatorframework.io"
KIND = KindName("g.example.com", "v1", "K")


def request(
    *,
    finalizing: bool = False,
    annotations: dict[str, str] | None = None,
    verbosity: int = 2,
    most: int = 5,
    **fields: Any,
) -> RunRequest:
    """What an engine is asked for; the request is made before engine and proxy are needed."""
    runs = runs_of(make_engine("warm"), verbosity, most, **fields)
    metadata = {"name": "n", "namespace": "ns", "annotations": annotations or {}}
    return runs._request({"metadata": metadata}, "7", Path("/kc"), {"a": 1}, finalizing=finalizing)


def runs_of(engine: Any, verbosity: int = 2, most: int = 5, **fields: Any) -> Runs:
    watch = Watch(**{"kind": KIND, "play": PlayPath(playbook="/main.yml"), **fields})
    resource = ResourceType(GroupVersionKind(*KIND), "ks", True)
    controlled = Controlled(name="k", watch=watch, resource=resource, period=0, verbosity=verbosity)
    settings = RunSettings(run_root=Path("/runs"), cluster="https://here", annotated_verbosity=most)
    kubeconfig = nullcontext(Path("/kc"))
    limit = ArtifactLimit(settings)
    return Runs(controlled, settings, engine, lambda *_: kubeconfig, limit)


def test_the_watch_and_the_flags_decide_without_annotations() -> None:
    asked = request(max_runner_artifacts=3, run_timeout=60.0)
    assert (asked.verbosity, asked.artifacts_to_keep, asked.timeout) == (2, 3, 60.0)
    assert asked.directory == Path("/runs/g.example.com/v1/K/ns/n")
    assert asked.ident == "7"


@pytest.mark.parametrize(("verbosity", "expected"), [("4", 4), ("5", 5), ("0", 0)])
def test_annotations_of_an_object_override_the_watch(verbosity: str, expected: int) -> None:
    annotations = {f"{PREFIX}/verbosity": verbosity, f"{PREFIX}/max-runner-artifacts": "7"}
    asked = request(annotations=annotations)
    assert (asked.verbosity, asked.artifacts_to_keep) == (expected, 7)


@pytest.mark.parametrize(
    ("given", "most", "usual", "expected"),
    [("6", 2, 0, 2), ("4", 0, 0, 0), ("-3", 2, 2, 0), ("9" * 400, 2, 0, 2), ("4", 2, 4, 4)],
)
def test_an_annotation_shows_no_more_than_is_allowed(
    given: str, most: int, usual: int, expected: int
) -> None:
    """With more than two v a play prints the arguments of tasks, to whoever reads the log."""
    annotations = {f"{PREFIX}/verbosity": given}
    with structlog.testing.capture_logs() as lines:
        asked = request(annotations=annotations, most=most, verbosity=usual)
    assert asked.verbosity == expected
    assert bool(lines) == (str(expected) != given)


@pytest.mark.parametrize(
    ("given", "own", "expected"),
    [("0", 20, 1), ("-1", 20, 1), ("100", 20, 100), ("100000", 20, 100), ("200", 300, 200)],
)
def test_an_annotation_does_not_end_the_rotation(given: str, own: int, expected: int) -> None:
    annotations = {f"{PREFIX}/max-runner-artifacts": given}
    asked = request(annotations=annotations, max_runner_artifacts=own)
    assert asked.artifacts_to_keep == expected


def test_annotations_that_are_no_numbers_are_ignored_and_logged() -> None:
    annotations = {f"{PREFIX}/verbosity": "much", f"{PREFIX}/max-runner-artifacts": "few"}
    with structlog.testing.capture_logs() as lines:
        asked = request(annotations=annotations)
    assert (asked.verbosity, asked.artifacts_to_keep) == (2, 20)
    assert {line["value"] for line in lines} == {"much", "few"}


@pytest.mark.parametrize(
    ("play", "finalizing", "expected"),
    [
        (PlayPath(playbook="/parting.yml"), True, "/parting.yml"),
        (PlayPath(playbook="/parting.yml"), False, "/main.yml"),
        (PlayPath(), True, "/main.yml"),
    ],
)
def test_a_finalizer_without_a_play_repeats_the_normal_one(
    play: PlayPath, finalizing: bool, expected: str
) -> None:
    asked = request(finalizing=finalizing, finalizer=Finalizer("f", play))
    assert getattr(asked.target, "path", None) == Path(expected)


@pytest.mark.parametrize(
    ("finalizing", "own", "expected"), [(False, 9.0, 5.0), (True, 9.0, 9.0), (True, 0.0, 5.0)]
)
def test_a_finalizer_may_have_a_time_limit_of_its_own(
    own: float, expected: float, *, finalizing: bool
) -> None:
    finalizer = Finalizer("f", run_timeout=own)
    asked = request(finalizing=finalizing, finalizer=finalizer, run_timeout=5.0)
    assert asked.timeout == expected


async def read_nothing() -> str:
    return ""


class Ended:
    """An engine whose runs have all ended alike."""

    def __init__(self, result: RunResult) -> None:
        self._result = result

    async def run(self, _asked: RunRequest, _on_event: object) -> RunResult:
        return self._result


@pytest.mark.parametrize("error", ["cannot import name 'x' from 'y'", ""])
async def test_what_ended_a_run_and_no_task_has_told_is_logged(error: str) -> None:
    runs = runs_of(Ended(RunResult(status=RunStatus.FAILED, rc=250, error=error)))
    obj = {"metadata": {"name": "n", "namespace": "ns"}}
    with structlog.testing.capture_logs() as lines:
        await runs.play(obj, Trigger("Created", fresh=True), read_nothing, finalizing=False)
    [line] = [line for line in lines if line["event"] == "Run ended with failures"]
    assert line.get("error", "") == error
