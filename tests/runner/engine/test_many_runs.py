# SPDX-License-Identifier: Apache-2.0
"""Many runs: side by side, and one after the other without growth."""

import asyncio
import gc
import os
import time
from pathlib import Path

import pytest

from ansible_operator.engine import (
    Engine,
    ExtraVars,
    PlaybookTarget,
    RunRequest,
    make_engine,
    rundir,
)
from ansible_operator.engine.forking.processes import ProcessTree
from ansible_operator.engine.rundir import RunDirectory
from tests.runner.engine.conftest import IDLE_SECONDS, ROLES, Stage

pytestmark = pytest.mark.asyncio(loop_scope="session")

LATER_RUNS = 100
LARGEST_GROWTH = 4
"""KiB of the template's memory for each of them."""


def own_memory(pid: int) -> int:
    """KiB of a process that come from no file, whoever shares them: what a leak adds to."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Anonymous:"):
            return int(line.split()[1])
    return 0


def zombies_of(parents: set[int]) -> int:
    """Dead children that these processes have not reaped."""
    count = 0
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
            except OSError:
                continue
            count += state == "Z" and int(parent) in parents
    return count


def open_files(pid: int) -> int:
    """How many descriptors a process has open."""
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


async def at_rest(tree: ProcessTree) -> int:
    """The number of processes of a tree, once no engine keeps one any more.

    The engines of the session are in the tree too, with what they played for other tests.
    """
    deadline = time.monotonic() + 60
    count, since = len(tree.refresh()), time.monotonic()
    while time.monotonic() - since < 2 * IDLE_SECONDS:
        assert time.monotonic() < deadline, "processes come and go without any run"
        await asyncio.sleep(0.1)
        if (now := len(tree.refresh())) != count:
            count, since = now, time.monotonic()
    return count


async def test_many_runs_in_four_slots(stage: Stage) -> None:
    # A run of the package takes seconds of CPU: twice as many as there are slots show it, too.
    count = 20 if stage.kind == "warm" else 8
    running, peak = 0, 0

    async def one(engine: Engine, number: int) -> tuple[int, list[str]]:
        names: list[str] = []
        said: list[str] = []

        def watch(event: dict) -> None:
            nonlocal running, peak
            names.append(event["event"])
            running += (event["event"] == "playbook_on_start") - (
                event["event"] == "playbook_on_stats"
            )
            peak = max(peak, running)
            if event["event"] == "runner_on_ok" and event["event_data"]["task"] == "Speak":
                said.append(event["event_data"]["res"]["msg"])

        request = RunRequest(
            ident="1",
            directory=stage.folder / str(number),
            target=PlaybookTarget(path),
            extra_vars=ExtraVars({"number": number, "met": str(stage.folder)}),
        )
        result = await engine.run(request, watch)
        assert names[0] == "playbook_on_start"
        assert names[-1] == "playbook_on_stats"
        return result.rc, said

    # The first two end only when both have begun: side by side, however busy the machine is.
    path = stage.tasks("""
        - name: Speak
          ansible.builtin.debug: {msg: "I am {{ number }}"}
        - name: Begin
          ansible.builtin.file: {path: "{{ met }}/begun-{{ number }}", state: touch}
        - name: Meet the other
          ansible.builtin.wait_for: {path: "{{ met }}/begun-{{ 1 - number }}", timeout: 120}
          when: number < 2
    """)
    engine = make_engine(stage.kind, max_runs=4)
    await engine.start()
    try:
        results = await asyncio.gather(*(one(engine, number) for number in range(count)))
    finally:
        await engine.stop()

    assert [(0, [f"I am {number}"]) for number in range(count)] == results
    assert 2 <= peak <= 4


async def test_many_runs_leave_nothing(warm: Stage) -> None:
    engine = make_engine("warm", preload=[ROLES / "greeter"])
    path = warm.tasks(
        """
        - ansible.builtin.debug: {msg: "{{ number }}"}
        - acme.tools.echo: {text: a}
        """
    )
    await engine.start()
    template = (await engine._supervisor.template())._process.pid
    me = ProcessTree(os.getpid())

    async def play(number: int) -> None:
        request = RunRequest(
            ident=str(number),
            directory=warm.folder / f"run{number % 4}",
            target=PlaybookTarget(path),
            extra_vars=ExtraVars({"number": number}),
            artifacts_to_keep=2,
        )
        assert (await engine.run(request, lambda _event: None)).rc == 0

    async def round_of(count: int, first: int) -> tuple[int, int, int, int]:
        for start in range(first, first + count, 4):
            await asyncio.gather(*(play(number) for number in range(start, start + 4)))
        gc.collect()
        processes = await at_rest(me)
        files = open_files(os.getpid()) + open_files(template)
        zombies = zombies_of({os.getpid(), template})
        return processes, files, zombies, own_memory(template)

    try:
        first = await round_of(40, 0)
        last = await round_of(LATER_RUNS, 40)
    finally:
        await engine.stop()

    assert first[:3] == last[:3]
    growth = last[3] - first[3]
    assert growth < LARGEST_GROWTH * LATER_RUNS, f"the template grew by {growth} KiB"
    assert template not in {process.pid for process in me.refresh()}


async def test_a_run_whose_files_take_long_to_remove_holds_up_no_other(
    warm: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that leaves 90,000 files took six seconds of everybody's."""
    slow = asyncio.get_running_loop().create_future()
    loop, finish = asyncio.get_running_loop(), rundir.finish

    def finish_slowly(directory: RunDirectory, keep: int, *, in_use: bool = False) -> None:
        if directory.root.name == "slow":
            loop.call_soon_threadsafe(slow.set_result, None)
            time.sleep(5)
        finish(directory, keep, in_use=in_use)

    monkeypatch.setattr(rundir, "finish", finish_slowly)
    path = warm.tasks("- ansible.builtin.debug: {msg: a}")
    first = asyncio.create_task(warm.play(path, directory=warm.folder / "slow"))
    await slow
    began = time.monotonic()
    played = await warm.play(path, directory=warm.folder / "quick")
    assert played.result.rc == 0
    assert not first.done()
    assert time.monotonic() - began < 4
    assert (await first).result.rc == 0
