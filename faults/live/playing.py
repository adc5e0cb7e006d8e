# SPDX-License-Identifier: Apache-2.0
"""Play a life under the real operator behind a proxy, undisturbed and disturbed."""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from faults.live import ends
from faults.live.beside import IMAGE, replaced
from faults.live.lives import DELETE, Life, lives, project_of, reported, take
from faults.live.proxy import ApiProxy
from faults.points import Fault
from faults.scenes import NAMESPACE
from testbed.bed import TestBed
from tests.support.api import Api
from tests.support.operators import Operator, launch

QUIET_SECONDS = 2.0
"""Without a write of the operator, after which a step is at its end."""
SETTLE_SECONDS = 90.0
"""In which it must be, since the last change."""
LONGEST_SECONDS = 400.0
"""In which it must be, whatever changes: a machine may be busy, an operator may not."""
CALM_SECONDS = 10.0
"""In which an operator that has nothing to do is looked at."""
MOST_PER_MINUTE = 30
"""Requests of a method for a kind, and runs, while nothing changes."""
_FLAGS = ("--zap-log-level=info", "--max-concurrent-reconciles=4")
_LOOK_SECONDS = 0.7
_SHOWN_LINES, _SHOWN_FAILURES = 6, 4
_FAILED = ("fatal:", "failed:", '{"level":"error"')
_ENDS_OF_RUNS = frozenset(
    {"Nothing to do", "Ansible-runner exited successfully", "Reconciler error"}
)


@dataclass(frozen=True)
class End:
    """What the steps of a life came to, up to one of them.

    Attributes:
        state: of all objects that are compared.
        replaced: objects that are others under the same names since the step before.
        created: objects that the operator has created so far, and how often.
        writes: that it made in the step.
    """

    state: ends.State
    replaced: frozenset[str]
    created: Counter[str]
    writes: int


@dataclass
class Played:
    """A life that is being played.

    Attributes:
        life: which one.
        bed: on which Kubernetes.
        namespace: in which it happens.
        proxy: between the operator and the API server.
        folder: for files of the operator.
        api: of an administrator.
        account: kubeconfig of the operator's account.
        operator: the process that runs now.
        called: how what works beside it is called, by what it is called in this life.
        other: a namespace that is watched as well; empty for none.
        variables: of the environment of the operator, beside the usual ones.
    """

    life: Life
    bed: TestBed
    namespace: str
    proxy: ApiProxy
    folder: Path
    api: Api
    account: Path
    operator: Operator | None = None
    called: Mapping[str, str] = field(default_factory=dict)
    other: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)
    _known: dict[str, str] = field(default_factory=dict)

    def start(self, *flags: str) -> Operator:
        """Start the operator, or another one; it appends to the log of the one before."""
        self.operator = launch(
            self.proxy.kubeconfig(self.folder / "kubeconfig"),
            self.folder,
            *_FLAGS,
            *flags,
            project=project_of(self.life, self.folder / "project"),
            variables={
                "WATCH_NAMESPACE": ",".join(self._watched),
                "OPERATOR_IMAGE": IMAGE,
                **self.variables,
            },
        )
        return self.operator

    @property
    def _watched(self) -> list[str]:
        """The namespaces that the operator watches; none for all."""
        chosen = (self.namespace, self.other)
        return [] if self.life.everywhere else [one for one in chosen if one]

    def kill(self) -> None:
        """End the operator as a lost node does."""
        if self.operator is not None:
            self.operator.kill()

    def state(self) -> dict[str, ends.Json]:
        """What is compared, as it is now."""
        found = ends.state(self.api, self.namespace, self.life.listed)
        return replaced(found, self.called)

    def settle(self, step: str, expected: End | None) -> End:
        """Wait until a step is at its end, which is the expected one if there is any.

        Raises:
            Fault: it is not within the time, or the operator ended, or it does not become quiet.
        """
        began = quiet_since = time.monotonic()
        writes, last = self.proxy.writes, self.state()
        while True:
            time.sleep(_LOOK_SECONDS)
            self.require_running(step)
            now = last if self.proxy.writes != writes else self.state()
            if now != last or self.proxy.writes != writes:
                quiet_since, writes, last = time.monotonic(), self.proxy.writes, now
            quiet, taken = time.monotonic() - quiet_since, time.monotonic() - began
            if quiet > QUIET_SECONDS and self._is_at_its_end(step, now, expected):
                return self._end(now)
            if quiet > SETTLE_SECONDS or taken > LONGEST_SECONDS:
                raise Fault(self._late(step, now, expected, quiet > QUIET_SECONDS))

    def require_calm(self, step: str) -> None:
        """Require that the operator does next to nothing while nothing changes.

        Raises:
            Fault: it asks for objects of a kind, or begins runs, again and again.
        """
        began, runs = time.monotonic(), self._runs()
        time.sleep(CALM_SECONDS)
        counts = Counter(f"{one.method} {one.kind}" for one in self.proxy.since(began))
        counts["runs"] = self._runs() - runs
        most = round(MOST_PER_MINUTE * CALM_SECONDS / 60)
        loud = {what: count for what, count in counts.most_common() if count > most}
        if loud:
            raise Fault(
                f"{step}: nothing changes, and within {CALM_SECONDS:g} s there are {loud}: at most"
                f" {most} are expected of each"
            )

    def _runs(self) -> int:
        lines = self.operator.lines() if self.operator is not None else []
        return sum(line["msg"] in _ENDS_OF_RUNS for line in lines)

    def _is_at_its_end(self, step: str, now: ends.State, expected: End | None) -> bool:
        if expected is not None:
            return now == expected.state
        if step == DELETE:
            return self.life.is_over(self.api, self.namespace) and not any(
                name.startswith(("Pod/", "StatefulSet/", "Deployment/")) for name in now
            )
        return self.life.is_done(self.api, self.namespace)

    def _end(self, now: ends.State) -> End:
        known = ends.identities(self.api, self.namespace, self.life.listed)
        replaced, self._known = ends.replaced(self._known, known), known
        named = Counter(
            {
                ends._named(name, self.namespace): count  # noqa: SLF001 - the same names
                for name, count in self.proxy.created.items()
            }
        )
        return End(now, replaced, named, self.proxy.writes)

    def _late(self, step: str, now: ends.State, expected: End | None, is_quiet: bool) -> str:
        found = self.api.get(self.life.kind, self.namespace, self.life.name)
        what = ends.compared(expected.state, now) if expected else reported(found)
        how = "" if is_quiet else " (and things still change)"
        log = self.operator.text().splitlines() if self.operator else []
        failed = [line for line in log if line.startswith(_FAILED)][-_SHOWN_FAILURES:]
        shown = "\n  ".join(line[:500] for line in [*failed, *log[-_SHOWN_LINES:]])
        return (
            f"{step}: for {SETTLE_SECONDS:g} s it is not as undisturbed{how}:\n  {what}\n"
            f"  {reported(found)}\n  {shown}"
        )

    def require_running(self, step: str) -> None:
        """Require that the operator's process runs.

        Raises:
            Fault: it does not.
        """
        if self.operator is not None and self.operator.process.poll() is not None:
            code = self.operator.process.returncode
            text = "\n  ".join(self.operator.text().splitlines()[-_SHOWN_LINES:])
            raise Fault(f"{step}: the operator ended with {code}:\n  {text[-2000:]}")


@contextmanager
def played(kind: str, bed: TestBed) -> Iterator[Played]:
    """Give a life that can be played in a namespace of its own; the operator is not started."""
    life, api = lives()[kind], Api(bed.kubeconfig)
    with (
        bed.namespace(f"f-{kind.lower()}") as namespace,
        tempfile.TemporaryDirectory(prefix="faults-") as name,
        life.around(api, namespace) as called,
    ):
        folder = Path(name)
        account = life.prepare(bed, namespace, folder / "account")
        life = life.placed({**called, NAMESPACE: namespace})
        with ApiProxy(account) as proxy:
            one = Played(life, bed, namespace, proxy, folder, api, account)
            one.called = {here: there for there, here in called.items()}
            try:
                yield one
            finally:
                one.kill()
                ends.release(api, namespace, life.listed)


_UNDISTURBED: dict[str, Mapping[str, End]] = {}


def undisturbed(kind: str, bed: TestBed) -> Mapping[str, End]:
    """Return what each step of a life comes to when nothing goes wrong; played once."""
    if kind not in _UNDISTURBED:
        found: dict[str, End] = {}
        with played(kind, bed) as one:
            one.start()
            before = 0
            for step in one.life.steps:
                take(one.life, step, one.api, one.namespace)
                end = one.settle(step, None)
                one.require_calm(step)
                found[step] = End(end.state, end.replaced, end.created, end.writes - before)
                before = end.writes
        _UNDISTURBED[kind] = found
    return _UNDISTURBED[kind]


def disturbed(
    kind: str,
    bed: TestBed,
    steps: list[str],
    disturb: Callable[[Played, str], None],
    other: str = "",
) -> None:
    """Play some steps of a life with a disturbance in each, and compare it with the undisturbed.

    Args:
        kind: of the resource.
        bed: on which Kubernetes.
        steps: that are disturbed; those before them are played as well, and its deletion.
        disturb: takes the step and lets the operator do what it does, as far as it comes.
        other: a namespace that the operator watches as well; empty for none.

    Raises:
        Fault: an end is another one, or something was made twice.
    """
    wanted = undisturbed(kind, bed)
    with played(kind, bed) as one:
        one.other = other
        one.start()
        last = max(one.life.steps.index(step) for step in steps)
        for step in dict.fromkeys([*one.life.steps[: last + 1], DELETE]):
            if step in steps:
                disturb(one, step)
            else:
                take(one.life, step, one.api, one.namespace)
            # Deleted before its time, it has other Pods, and nothing of them is left.
            end = one.settle(step, wanted[step])
            _require_same(step, wanted[step], end)
            if step == steps[-1]:
                one.require_calm(step)


def _require_same(step: str, wanted: End, end: End) -> None:
    more = end.replaced - wanted.replaced
    if more:
        raise Fault(f"{step}: replaced, and undisturbed not: {', '.join(sorted(more)[:8])}")
    twice = end.created - wanted.created
    if twice and step != DELETE:
        raise Fault(f"{step}: created too often: {dict(twice)}")
