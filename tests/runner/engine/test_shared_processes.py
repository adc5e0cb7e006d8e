# SPDX-License-Identifier: Apache-2.0
"""Processes that play run after run (``isolation: shared``): what a run finds is its own."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from ansible_operator.engine import make_engine
from ansible_operator.watches import Isolation
from tests.runner.engine.conftest import (
    COLLECTIONS,
    HOARDER,
    IDLE_SECONDS,
    Stage,
    is_running,
    until,
    waiting_in,
)

pytestmark = pytest.mark.asyncio(loop_scope="session")
_SHARED = [Isolation.SHARED]


async def test_environment_folder_and_umask_are_fresh(kept: Stage) -> None:
    first = await kept.play(HOARDER, extra_vars={"secret": "first"})
    second = await kept.play(
        HOARDER, extra_vars={"secret": "second"}, directory=kept.folder / "other"
    )

    assert first.pid == second.pid
    for played in (first, second):
        found = played.results()["Hoard"]["found"]
        assert found["folder"] == str(played.directory / "project")
        assert (found["environment"], found["umask"]) == (None, 0o22)


@pytest.mark.parametrize("umask", [0o022, 0o077])
async def test_the_umask_is_that_of_the_operator(tmp_path: Path, umask: int) -> None:
    """Files of the second run were readable for everybody where those of the first were not."""
    program = (
        "import os; os.umask(%d)\n"
        "from ansible_operator.engine.warm.reuse import Baseline\n"
        "before = Baseline(); os.umask(0); before.restore(); print(os.umask(0))"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program % umask, stdout=asyncio.subprocess.PIPE, cwd=tmp_path
    )
    output, _ = await process.communicate()
    assert output.split()[-1] == str(umask).encode()


async def test_settings_of_a_run_are_its_own(kept: Stage) -> None:
    password = kept.write("magic\n", "password")
    path = kept.write(
        """
        - hosts: localhost:nobody
          gather_facts: false
          tasks:
            - name: Say
              ansible.builtin.debug:
                msg: "{{ ansible_check_mode }} {{ ansible_verbosity }} {{ word | default('none') }}"
              tags: [always]
            - name: Tagged
              ansible.builtin.debug: {msg: "{{ mine | default('nothing') }}"}
              tags: [only]
        """
    )
    hosts = kept.folder / "inventory"
    (hosts / "group_vars").mkdir(parents=True)
    (hosts / "hosts").write_text("localhost ansible_connection=local\n")
    (hosts / "group_vars" / "all.yml").write_text("mine: of the group\n")
    options = f"--check --vault-password-file={password} --skip-tags=only -e word=given"
    plain = await kept.play(path)
    special = await kept.play(path, command_line=options, verbosity=2, inventory=hosts)
    grouped = await kept.play(path, inventory=hosts)
    again = await kept.play(path)

    assert len({played.pid for played in (plain, special, grouped, again)}) == 1
    assert special.results()["Say"]["msg"] == "True 2 given"
    assert "Tagged" not in special.results()
    assert grouped.results()["Tagged"]["msg"] == "of the group"
    assert again.results()["Say"]["msg"] == "False 0 none"
    assert "Could not match supplied host pattern" in plain.result.stdout
    assert plain.result.stdout == again.result.stdout


async def test_collections_beside_a_playbook_are_its_own(kept: Stage) -> None:
    inside = COLLECTIONS / "ansible_collections/acme/tools/playbooks/places.yml"
    outside = kept.write(inside.read_text())
    first = await kept.play(outside)
    second = await kept.play(inside)
    third = await kept.play(outside)

    assert len({played.pid for played in (first, second, third)}) == 1
    places = [played.results()["Tell"]["places"] for played in (first, second, third)]
    beside = [str(kept.folder / "collections")]
    assert places == [beside, [], beside]


async def test_facts_go_with_their_run(kept: Stage) -> None:
    path = kept.tasks(
        """
        - name: Before
          ansible.builtin.debug: {msg: "{{ kept_fact | default('none') }}"}
        - name: Keep
          ansible.builtin.set_fact: {kept_fact: "{{ number }}", cacheable: true}
        """
    )
    runs = [
        await kept.play(path, extra_vars={"number": number}, directory=kept.folder / str(number))
        for number in range(3)
    ]

    assert len({played.pid for played in runs}) == 1
    assert [played.results()["Before"]["msg"] for played in runs] == ["none"] * 3
    caches = [list((played.artifacts / "fact_cache").iterdir()) for played in runs]
    assert [len(files) for files in caches] == [1, 1, 1]


OWN_NUMBERS = """
class FilterModule:
    def filters(self):
        return {"int": lambda value: f"{value} of its own"}
"""


async def test_a_filter_of_jinja_is_the_projects_own_where_it_has_one(kept: Stage) -> None:
    tasks = """
        - name: Number
          ansible.builtin.debug: {msg: "{{ '7' | int }}"}
        """
    before = await kept.play(kept.tasks(tasks))
    again = await kept.play(kept.tasks(tasks))
    kept.write(OWN_NUMBERS, "beside/filter_plugins/numbers.py")
    path = kept.tasks(tasks)
    beside = await kept.play(path.rename(kept.folder / "beside" / path.name))
    after = await kept.play(kept.tasks(tasks))

    runs = (before, again, beside, after)
    assert before.pid == beside.pid
    # Before 2.19, what a template gives is text.
    said = [str(played.results()["Number"]["msg"]) for played in runs]
    assert said == ["7", "7", "7 of its own", "7"]


OWN_FILTER = """
class FilterModule:
    def filters(self):
        return {"own": str.upper}
"""
LEAVINGS = {
    "a failure": "- ansible.builtin.fail: {msg: no}",
    "a process": "- ansible.builtin.command: {cmd: sleep 5}\n  async: 5\n  poll: 0",
    "a plugin of its own": "- ansible.builtin.debug: {msg: \"{{ 'a' | own }}\"}",
}


@pytest.mark.parametrize("leaving", LEAVINGS)
async def test_processes_that_are_not_as_before_end(kept: Stage, leaving: str) -> None:
    kept.write(OWN_FILTER, "filter_plugins/own.py")
    first = await kept.play(kept.tasks(LEAVINGS[leaving]))
    second = await kept.play(kept.tasks("- ansible.builtin.debug: {msg: a}"))

    assert first.result.rc == (2 if leaving == "a failure" else 0), first.result.stdout
    assert first.pid != second.pid


LATE_WORKER = """
import multiprocessing, sys, time
from ansible_operator.engine.warm.reuse import Baseline
baseline = Baseline()
multiprocessing.get_context("fork").Process(target=time.sleep, args=(float(sys.argv[1]),)).start()
print(baseline.restore())
"""


@pytest.mark.parametrize(("seconds", "leftovers"), [(0.1, ""), (3, "processes")])
async def test_a_worker_that_is_just_ending_is_waited_for(seconds: float, leftovers: str) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", LATE_WORKER, str(seconds), stdout=asyncio.subprocess.PIPE
    )
    output, _ = await asyncio.wait_for(process.communicate(), 30)
    assert output.decode().strip() == leftovers


async def test_a_process_serves_so_many_runs(environment: None, tmp_path: Path) -> None:
    engine = make_engine("warm", isolations=_SHARED, runs_per_process=2)
    await engine.start()
    stage = Stage(engine, "warm", tmp_path, Isolation.SHARED)
    try:
        path = stage.tasks("- ansible.builtin.debug: {msg: a}")
        pids = [(await stage.play(path)).pid for _ in range(4)]
    finally:
        await engine.stop()

    assert (pids[0], pids[2]) == (pids[1], pids[3])
    assert pids[1] != pids[2]
    assert not any(map(is_running, pids))


async def test_a_process_that_dies_while_it_waits_costs_no_run(kept: Stage) -> None:
    path = kept.tasks("- ansible.builtin.debug: {msg: a}")
    first = await kept.play(path)
    os.kill(first.pid, signal.SIGKILL)
    second = await kept.play(path)

    assert second.result.rc == 0
    assert first.pid != second.pid


async def test_a_burst_finds_its_processes_which_shrink_when_nothing_is_run(
    environment: None, tmp_path: Path
) -> None:
    """Used processes have grown; new ones replace them, so that the next burst waits for none."""
    engine = make_engine("warm", isolations=_SHARED)
    await engine.start()
    stage = Stage(engine, "warm", tmp_path, Isolation.SHARED)
    path = stage.tasks("- ansible.builtin.command: {cmd: sleep 1}")

    def waiting() -> set[int]:
        return set(waiting_in(engine, Isolation.SHARED))

    async def burst() -> set[int]:
        ahead = waiting()
        played = await asyncio.gather(
            *(stage.play(path, directory=tmp_path / str(number)) for number in range(4))
        )
        assert {one.pid for one in played} == ahead
        return ahead

    try:
        used = await burst()
        await asyncio.sleep(IDLE_SECONDS / 2)
        assert used == await burst()
        await until(lambda: not used & waiting(), IDLE_SECONDS + 5)
        await until(lambda: len(waiting()) == 4)
        fresh = await burst()
    finally:
        await engine.stop()

    assert not any(map(is_running, used | fresh))


async def test_no_more_processes_wait_than_may_run(environment: None, tmp_path: Path) -> None:
    engine = make_engine("warm", isolations=_SHARED, max_runs=2)
    await engine.start()
    try:
        assert len(waiting_in(engine, Isolation.SHARED)) == 2
    finally:
        await engine.stop()
