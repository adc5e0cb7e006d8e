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
from faults.live.lives import DELETE, Life, lives, project_of, reported, take
from faults.live.proxy import ApiProxy
from faults.points import Fault
from testbed.bed import TestBed
from tests.support.api import Api
from tests.support.operators import Operator, launch

QUIET_SECONDS = 2.0
"""Without a write of the operator, after which a step is at its end."""
SETTLE_SECONDS = 90.0
"""In which it must be."""
READY_SECONDS = 60.0
_FLAGS = ("--zap-log-level=info", "--max-concurrent-reconciles=4")
_SHOWN_LINES = 6


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
    """

    life: Life
    bed: TestBed
    namespace: str
    proxy: ApiProxy
    folder: Path
    api: Api
    account: Path
    operator: Operator | None = None
    _known: dict[str, str] = field(default_factory=dict)

    def start(self, *flags: str) -> Operator:
        """Start the operator, or another one; it appends to the log of the one before."""
        self.operator = launch(
            self.proxy.kubeconfig(self.folder / "kubeconfig"),
            self.folder,
            *_FLAGS,
            *flags,
            project=project_of(self.life, self.folder / "project"),
            variables={"WATCH_NAMESPACE": self.namespace},
        )
        return self.operator

    def kill(self) -> None:
        """End the operator as a lost node does."""
        if self.operator is not None:
            self.operator.kill()

    def state(self) -> dict[str, ends.Json]:
        """What is compared, as it is now."""
        return ends.state(self.api, self.namespace, self.life.listed)

    def settle(self, step: str, expected: End | None) -> End:
        """Wait until a step is at its end, which is the expected one if there is any.

        Raises:
            Fault: it is not within the time, or the operator ended, or it does not become quiet.
        """
        deadline = time.monotonic() + SETTLE_SECONDS
        quiet_since, writes, last = time.monotonic(), self.proxy.writes, self.state()
        while True:
            time.sleep(0.2)
            self.require_running(step)
            now = self.state()
            if now != last or self.proxy.writes != writes:
                quiet_since, writes, last = time.monotonic(), self.proxy.writes, now
            is_quiet = time.monotonic() - quiet_since > QUIET_SECONDS
            if is_quiet and self._is_at_its_end(step, now, expected):
                return self._end(now)
            if time.monotonic() > deadline:
                raise Fault(self._late(step, now, expected, is_quiet))

    def _is_at_its_end(self, step: str, now: ends.State, expected: End | None) -> bool:
        if expected is not None:
            return now == expected.state
        if step == DELETE:
            return not self.api.get(self.life.kind, self.namespace, self.life.name) and not any(
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
        log = self.operator.text().splitlines()[-_SHOWN_LINES:] if self.operator else []
        shown = "\n  ".join(line[:300] for line in log)
        return (
            f"{step}: within {SETTLE_SECONDS:g} s it is not as undisturbed{how}:\n  {what}\n"
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
    life = lives()[kind]
    with (
        bed.namespace(f"f-{kind.lower()}") as namespace,
        tempfile.TemporaryDirectory(prefix="faults-") as name,
    ):
        folder = Path(name)
        account = life.prepare(bed, namespace, folder / "account")
        with ApiProxy(account) as proxy:
            one = Played(life, bed, namespace, proxy, folder, Api(bed.kubeconfig), account)
            try:
                yield one
            finally:
                one.kill()


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
                found[step] = End(end.state, end.replaced, end.created, end.writes - before)
                before = end.writes
        _UNDISTURBED[kind] = found
    return _UNDISTURBED[kind]


def disturbed(
    kind: str, bed: TestBed, steps: list[str], disturb: Callable[[Played, str], None]
) -> None:
    """Play some steps of a life with a disturbance in each, and compare it with the undisturbed.

    Args:
        kind: of the resource.
        bed: on which Kubernetes.
        steps: that are disturbed; those before them are played as well, and its deletion.
        disturb: takes the step and lets the operator do what it does, as far as it comes.

    Raises:
        Fault: an end is another one, or something was made twice.
    """
    wanted = undisturbed(kind, bed)
    with played(kind, bed) as one:
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


def _require_same(step: str, wanted: End, end: End) -> None:
    more = end.replaced - wanted.replaced
    if more:
        raise Fault(f"{step}: replaced, and undisturbed not: {', '.join(sorted(more)[:8])}")
    twice = end.created - wanted.created
    if twice and step != DELETE:
        raise Fault(f"{step}: created too often: {dict(twice)}")
