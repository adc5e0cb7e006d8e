# SPDX-License-Identifier: Apache-2.0
"""Ten problems, each with what is observed of a runner."""

import base64
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from compat.operators import runs_of
from compat.passes import has_ended
from compat.problems.stage import GROUP, VERSION, Stage, within
from testbed.ports import choose_ports

_MANY = 20
_OBSERVED_SECONDS = 15.0
_LONGEST_SECONDS = 180.0
_SECRET = "hushhush-4711"  # noqa: S105 (no password, but a text to search for)


@dataclass(frozen=True, slots=True)
class Seen:
    """What was observed.

    Attributes:
        is_good: whether users would not call it a problem.
        text: the observation.
    """

    is_good: bool
    text: str


Check = Callable[[Stage], Seen]


def backlog(stage: Stage) -> Seen:
    """Objects were created while no operator ran."""
    for number in range(_MANY):
        stage.create(f"many-{number}", "succeed")
    begun = time.monotonic()
    with stage.operator():
        good = within(_LONGEST_SECONDS, lambda: stage.count_ended() == _MANY)
    took = time.monotonic() - begun
    return Seen(good, f"{stage.count_ended()} of {_MANY} objects in {took:.0f} s, with its start")


def plays_at_a_time(stage: Stage) -> Seen:
    """Objects of four kinds are created, four of each, whose plays take 5 seconds at least."""
    kinds = ("Probe", "Second", "Third", "Fourth")
    names = {f"{kind.lower()}-{number}": kind for kind in kinds for number in range(4)}
    with stage.operator():
        for name, kind in names.items():
            stage.create(name, "sleep", kind, duration=5)
        within(_LONGEST_SECONDS, lambda: len(stage.times("end", [*names])) >= len(names))
    peak = most_at_a_time(stage.times("begin", [*names]), stage.times("end", [*names]))
    cpus = len(os.sched_getaffinity(0))
    text = f"up to {peak} plays at a time, for {len(kinds)} kinds and {cpus} CPUs"
    return Seen(peak < cpus * len(kinds), text)


def most_at_a_time(begun: Sequence[float], ended: Sequence[float]) -> int:
    """Return how many spans overlapped at most, of their beginnings and ends in seconds."""
    most = present = 0
    for _, step in sorted([*((at, 1) for at in begun), *((at, -1) for at in ended)]):
        present += step
        most = max(most, present)
    return most


def own_changes(stage: Stage) -> Seen:
    """A play changes its ConfigMap twice, and leaves it as it was."""
    with stage.operator():
        stage.create("selfish", "change_twice")
        within(_LONGEST_SECONDS, lambda: bool(stage.times("end", ["selfish"])))
        time.sleep(_OBSERVED_SECONDS)
        runs = stage.begun("selfish")
    return Seen(runs == 1, f"runs until {_OBSERVED_SECONDS:.0f} s after the first: {runs}")


def failures(stage: Stage) -> Seen:
    """A play fails; another one of 600 seconds has a ``runTimeout`` of 4."""
    with stage.operator():
        stage.create("broken", "fail")
        stage.create("hanging", "sleep", "Limited", duration=600)
        within(_LONGEST_SECONDS, lambda: stage.begun("broken") > 0 < stage.begun("hanging"))
        time.sleep(_OBSERVED_SECONDS)
        runs = stage.begun("broken")
        failed = stage.conditions("hanging", "Limited").get("Failure", {}).get("status") == "True"
    state = "ended, Failure=True" if failed else "still plays"
    text = f"{runs} runs of a play that fails in {_OBSERVED_SECONDS:.0f} s; one that hangs {state}"
    return Seen(runs > 1 and failed, text)


def requeue(stage: Stage) -> Seen:
    """A play asks for another run in 2 seconds, and then writes a ConfigMap, 4 seconds later."""
    with stage.operator():
        stage.create("again", "requeue", duration=4)
        wrote = within(2 * _OBSERVED_SECONDS, lambda: bool(stage.config_map("again")))
        repeated = within(_OBSERVED_SECONDS, lambda: stage.begun("again") > 1)
        seen = within(_OBSERVED_SECONDS, lambda: has_ended(stage.object("again")))
    text = f"the rest of the play {_said(wrote, 'wrote', 'could not write')}; "
    text += f"{_said(repeated, 'run again', 'not run again')}; "
    return Seen(wrote and repeated and seen, text + _said(seen, "status ended", "status Running"))


def _said(holds: bool, yes: str, no: str) -> str:
    return yes if holds else no


def names_of_keys(stage: Stage) -> Seen:
    """A spec has the key ``egressIPs``; a second kind has ``snakeCaseParameters: false``."""
    kinds = {"cased": "Probe", "literal": "Literal"}
    with stage.operator():
        for name, kind in kinds.items():
            stage.create(name, "configure", kind, egressIPs=["a"])
        within(_LONGEST_SECONDS, lambda: all(stage.config_map(name) for name in kinds))
        found = [(stage.config_map(name).get("data") or {}).get("names") for name in kinds]
    return Seen(found[1] == "egressIPs", f"{found[0]}; with the key {found[1]}")


def writes_of_status(stage: Stage) -> Seen:
    """A play that changes nothing has a period of one second."""
    with stage.operator():
        stage.create("often", "succeed", period="1s")
        within(_LONGEST_SECONDS, lambda: has_ended(stage.object("often")))
        version = stage.object("often")["metadata"]["resourceVersion"]
        before = stage.begun("often")
        writes = stage.writes("often", version, _OBSERVED_SECONDS)
        runs = stage.begun("often") - before
    return Seen(not writes, f"{writes} writes in {runs} runs")


def deleted_namespace(stage: Stage) -> Seen:
    """A namespace is deleted while the play of an object with a finalizer goes on.

    The play would create a ConfigMap next.
    """
    with stage.operator():
        stage.create("busy", "sleep_and_configure", "Parting", duration=4)
        within(_LONGEST_SECONDS, lambda: stage.begun("busy") > 0)
        begun = time.monotonic()
        stage.bed.kubectl("delete", "namespace", stage.namespace, "--wait=false")
        gone = within(60.0, lambda: not stage.has_namespace())
        took = time.monotonic() - begun
    return Seen(gone, _said(gone, f"gone after {took:.0f} s", f"still there after {took:.0f} s"))


def another_port(stage: Stage) -> Seen:
    """The proxy gets another port by ``--proxy-port``, and a play creates a ConfigMap."""
    port = choose_ports(("proxy",), taken=())["proxy"]
    with stage.operator(f"--proxy-port={port}"):
        stage.create("ported", "configure")
        within(60.0, lambda: has_ended(stage.object("ported")))
        said = stage.conditions("ported").get("Failure", {}).get("message", "")
        wrote = bool(stage.config_map("ported"))
    return Seen(wrote, _said(wrote, "the play succeeds", f"the play fails: {said[:80]}"))


def secrets_and_files(stage: Stage) -> Seen:
    """Plays of three objects copy a Secret with ``no_log``, at the highest verbosity."""
    names = ("one", "two", "three")
    options = ("create", "secret", "generic", "source", f"--from-literal=word={_SECRET}")
    stage.bed.kubectl("-n", stage.namespace, *options)
    with stage.operator("--ansible-verbosity=4", "--ansible-log-events=everything") as operator:
        for name in names:
            stage.create(name, "copy_secret", source="source")
        within(_LONGEST_SECONDS, lambda: stage.count_ended() == len(names))
        runs = runs_of(stage.program, stage.folder) / GROUP / VERSION / "Probe" / stage.namespace
        files = [path for path in runs.rglob("*") if path.is_file()]
        caches = [path for path in stage.temporary.rglob("*rcp-*") if path.is_file()]
        texts = [path.read_text(errors="replace") for path in (*files, operator.log)]
    encoded = base64.b64encode(_SECRET.encode()).decode()
    found = sum(_SECRET in text or encoded in text for text in texts)
    text = f"{found} of {len(texts)} files with the value; {len(caches)} discovery caches"
    return Seen(not found and len(caches) < 2, text)


CHECKS: Sequence[tuple[str, Check]] = (
    ("1. the first reconcile of many objects", backlog),
    ("2. too many plays at a time", plays_at_a_time),
    ("3. reconciled without an end", own_changes),
    ("4. no retry, or a play that hangs", failures),
    ("5. asking for another run", requeue),
    ("6. names of keys", names_of_keys),
    ("7. writes of the status", writes_of_status),
    ("8. a namespace that is deleted", deleted_namespace),
    ("9. a fixed port", another_port),
    ("10. secrets and a growing disk", secrets_and_files),
)
"""The problems by the numbers that docs/moving.md gives them."""
