# SPDX-License-Identifier: Apache-2.0
"""Both engines under the same tests, and what a test sees of a run."""

import asyncio
import itertools
import os
import sys
import textwrap
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from ansible_operator.engine import (
    KINDS,
    Engine,
    ExtraVars,
    PlaybookTarget,
    RoleTarget,
    RunRequest,
    RunResult,
    make_engine,
)
from ansible_operator.engine.forking import pool
from ansible_operator.engine.warm.engine import WarmEngine
from ansible_operator.watches import Isolation

COLLECTIONS = Path(__file__).parent / "collections"
ROOT = Path(__file__).parents[3]
ROLES = COLLECTIONS / "ansible_collections/acme/tools/roles"
HOARDER = RoleTarget("acme.tools.hoarder", ROLES / "hoarder", gather_facts=False)
IDLE_SECONDS = 2.0
"""How long the engines under test keep a process that plays nothing."""
_idents = itertools.count(1000)


@dataclass(frozen=True, slots=True)
class Played:
    """A run that ended, with what it said on the way."""

    result: RunResult
    events: list[dict[str, Any]]
    directory: Path
    ident: str

    @property
    def names(self) -> list[str]:
        return [event["event"] for event in self.events]

    @property
    def pid(self) -> int:
        """The process that played."""
        return int(self.events[0]["pid"])

    @property
    def stats(self) -> dict[str, Any]:
        return self.events[-1]["event_data"]

    def of(self, name: str) -> list[dict[str, Any]]:
        """The data of all events of a kind."""
        return [event["event_data"] for event in self.events if event["event"] == name]

    def results(self) -> dict[str, Any]:
        """The result of every finished task by the task's name."""
        kinds = ("runner_on_ok", "runner_on_failed", "runner_on_unreachable")
        return {data["task"]: data["res"] for kind in kinds for data in self.of(kind)}

    @property
    def artifacts(self) -> Path:
        return self.directory / "artifacts" / self.ident


def is_running(pid: int) -> bool:
    """Whether there is such a process; one that has ended and was not reaped is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


async def until(condition: Callable[[], bool], seconds: float = 10.0) -> None:
    """Wait for something that happens in the background."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 (of a process, which sets no event)
            await asyncio.sleep(0.02)


def waiting_in(engine: Engine, isolation: Isolation = Isolation.RUN) -> list[int]:
    """The processes that wait for a run."""
    assert isinstance(engine, WarmEngine)
    return [worker.fork.pid for worker in engine._processes[isolation]._idle]


@dataclass(slots=True)
class Stage:
    """Where plays are written and played."""

    engine: Engine
    kind: str
    folder: Path
    isolation: Isolation = Isolation.RUN

    def write(self, text: str, name: str = "play.yml") -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        return path

    def tasks(self, text: str, head: str = "") -> Path:
        """Write a play on localhost with these tasks."""
        tasks = textwrap.indent(textwrap.dedent(text), "    ")
        keywords = textwrap.indent(textwrap.dedent(head), "  ")
        return self.write(
            f"- hosts: localhost\n  gather_facts: false\n{keywords}\n  tasks:\n{tasks}"
        )

    def role(self, files: Mapping[str, str], name: str = "subject") -> RoleTarget:
        """Write a role of these files."""
        for path, text in files.items():
            self.write(text, f"roles/{name}/{path}")
        return RoleTarget(name, self.folder / "roles" / name, gather_facts=False)

    def blank_roles(self) -> None:
        """Empty the files that plays are loaded from, so that they seem unchanged."""
        for path in self.folder.glob("roles/*/*/main.yml"):
            state = path.stat()
            path.write_text("#" * state.st_size)
            os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))

    async def play_kept(self, role: RoleTarget, *variables: Mapping[str, Any]) -> list[Played]:
        """Play a role with each of these variables, in one new process that loads it once."""
        await self.play(self.tasks("- ansible.builtin.fail:"))  # ends the process that waits
        runs = []
        for number, extra_vars in enumerate(variables):
            directory = self.folder / f"run-{number}"
            runs.append(
                await self.play(role, extra_vars=extra_vars, directory=directory, timeout=20)
            )
            self.blank_roles()
        assert len({played.pid for played in runs}) == 1
        return runs

    async def play(
        self,
        target: Path | RoleTarget,
        *,
        on_event: Callable[[dict[str, Any]], None] | None = None,
        **options: Any,
    ) -> Played:
        directory = options.pop("directory", self.folder / "run")
        request = RunRequest(
            ident=options.pop("ident", None) or str(next(_idents)),
            directory=directory,
            target=PlaybookTarget(target) if isinstance(target, Path) else target,
            extra_vars=ExtraVars(options.pop("data", {}), options.pop("extra_vars", {})),
            isolation=options.pop("isolation", self.isolation),
            **options,
        )
        events: list[dict[str, Any]] = []

        def handle(event: Any) -> None:
            events.append(dict(event))
            if on_event is not None:
                on_event(events[-1])

        result = await self.engine.run(request, handle)
        return Played(result, events, directory, request.ident)


@pytest.fixture(scope="session", autouse=True)
def environment() -> Iterator[None]:
    """What the engines inherit."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANSIBLE_COLLECTIONS_PATH", f"{COLLECTIONS}:{ROOT / '.collections'}")
        patch.setenv("ACME", "inherited")
        patch.setattr(pool, "IDLE_SECONDS", IDLE_SECONDS)
        patch.delenv("VIRTUAL_ENV", raising=False)
        patch.delenv("ANSIBLE_ROLES_PATH", raising=False)
        yield


@pytest_asyncio.fixture(scope="session", loop_scope="session", params=KINDS)
async def engine(request: pytest.FixtureRequest, environment: None) -> AsyncIterator[Any]:
    """A started engine of each kind."""
    engine = make_engine(request.param, preload=[ROLES / "greeter"], checks=["acme.tools.calm"])
    await engine.start()
    yield request.param, engine
    await engine.stop()


@pytest.fixture
def stage(engine: tuple[str, Engine], tmp_path: Path) -> Stage:
    """A stage for each engine."""
    kind, started = engine
    return Stage(started, kind, tmp_path)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def warm_engine(environment: None) -> AsyncIterator[Engine]:
    """A started warm engine."""
    engine = make_engine("warm", preload=[ROLES / "greeter"], checks=["acme.tools.calm"])
    await engine.start()
    yield engine
    await engine.stop()


@pytest.fixture
def warm(warm_engine: Engine, tmp_path: Path) -> Stage:
    """A stage for the warm engine alone."""
    return Stage(warm_engine, "warm", tmp_path)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def sharing_engine(environment: None) -> AsyncIterator[Engine]:
    """An engine whose watches all share their processes."""
    roles = [ROLES / "greeter", ROLES / "hoarder"]
    engine = make_engine("warm", preload=roles, isolations=[Isolation.SHARED])
    await engine.start()
    yield engine
    await engine.stop()


@pytest.fixture
def kept(sharing_engine: Engine, tmp_path: Path) -> Stage:
    """A stage for that engine."""
    return Stage(sharing_engine, "warm", tmp_path, Isolation.SHARED)


@pytest.fixture(scope="session")
def python() -> str:
    """The interpreter that modules must use."""
    return sys.executable
