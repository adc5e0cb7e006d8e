# SPDX-License-Identifier: Apache-2.0
"""Processes that serve one run after the other: nothing of a run is there in the next."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from ansible_operator.engine import Engine, RoleTarget, make_engine
from ansible_operator.engine.forking.processes import ProcessTree
from tests.runner.engine.conftest import COLLECTIONS, IDLE_SECONDS, ROLES, Played, Stage

pytestmark = pytest.mark.asyncio(loop_scope="session")
_WORD = "Xylophon"
"""What is looked for in memory; written backwards where it must not be found."""

EVERYTHING = """
- name: Facts
  ansible.builtin.setup: {gather_subset: ["!all", min]}
- name: Set
  ansible.builtin.set_fact: {told: "{{ secret }} set", cacheable: true}
- name: Command
  ansible.builtin.command: {cmd: "echo {{ secret }}"}
  register: answer
- name: Loop
  ansible.builtin.debug: {msg: "{{ item }} {{ secret }}"}
  loop: [a, "{{ secret }}"]
  when: secret in answer.stdout
- name: Template
  ansible.builtin.template: {src: "{{ template }}", dest: "{{ template }}.out", mode: "0600"}
- name: Variables of a file
  ansible.builtin.include_vars: {file: "{{ variables }}"}
- name: Environment
  ansible.builtin.debug: {msg: "{{ lookup('ansible.builtin.env', 'HOME') }} {{ of_a_file }}"}
  environment: {SECRET: "{{ secret }}"}
- name: Role
  ansible.builtin.include_role: {name: acme.tools.greeter}
  vars: {greeter_word: "{{ secret }}"}
- name: Recover
  block:
    - name: Fail
      ansible.builtin.fail: {msg: "{{ secret }}"}
  rescue:
    - name: Warn
      ansible.builtin.debug: {msg: "{{ ansible_failed_result.msg }}"}
- name: Check
  ansible.builtin.assert: {that: ["secret | length > 3", "told == secret ~ ' set'"]}
- name: Host
  ansible.builtin.add_host: {name: "host-{{ secret }}", groups: [some], told: "{{ secret }}"}
  changed_when: false
- name: Group
  ansible.builtin.group_by: {key: "of_{{ secret }}"}
  changed_when: false
- name: Hidden
  ansible.builtin.debug: {msg: "{{ secret }}"}
  no_log: true
"""


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def keeper(environment: None) -> AsyncIterator[Engine]:
    """An engine that knows the plugins of these tests ahead."""
    engine = make_engine("warm", preload=[ROLES / "greeter", ROLES / "hoarder"])
    await engine.start()
    yield engine
    await engine.stop()


@pytest.fixture
def kept(keeper: Engine, tmp_path: Path) -> Stage:
    """A stage for that engine."""
    return Stage(keeper, "warm", tmp_path)


def pid_of(played: Played) -> int:
    return int(played.events[0]["pid"])


def is_running(pid: int) -> bool:
    """Whether there is such a process; one that has ended and was not reaped is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


HOARDER = RoleTarget("acme.tools.hoarder", ROLES / "hoarder", gather_facts=False)


async def test_what_plugins_keep_is_taken_back(kept: Stage) -> None:
    first = await kept.play(HOARDER, extra_vars={"secret": "first"})
    second = await kept.play(
        HOARDER, extra_vars={"secret": "second"}, directory=kept.folder / "other"
    )

    assert pid_of(first) == pid_of(second)
    before, after = (played.results()["Hoard"]["found"] for played in (first, second))
    assert before == after | {"folder": before["folder"]}
    assert before["folder"] == str(first.directory / "project")
    assert after["folder"] == str(second.directory / "project")
    assert not [where for where, what in before.items() if "first" in str(what)]


async def test_nothing_of_a_run_stays_in_memory(kept: Stage) -> None:
    output = kept.folder / "template.j2.out"
    template, variables = kept.folder / "template.j2", kept.folder / "variables.yml"
    template.write_text("It is {{ secret }} {{ told }}")
    variables.write_text(f"of_a_file: {_WORD} of a file")
    names = {"template": str(template), "variables": str(variables)}
    first = await kept.play(
        kept.tasks(EVERYTHING), extra_vars={"secret": _WORD, "deep": {"er": [_WORD]}, **names}
    )
    assert first.result.rc == 0, first.result.stdout
    assert f"{_WORD} set" in await asyncio.to_thread(output.read_text)
    second = await kept.play(
        HOARDER,
        extra_vars={"secret": "other", "searched": _WORD[::-1]},
        directory=kept.folder / "other",
    )

    assert pid_of(first) == pid_of(second)
    assert second.results()["Search"]["found"] == []


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

    assert len({pid_of(played) for played in (plain, special, grouped, again)}) == 1
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

    assert len({pid_of(played) for played in (first, second, third)}) == 1
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

    assert len({pid_of(played) for played in runs}) == 1
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
    assert pid_of(before) == pid_of(beside)
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
    assert pid_of(first) != pid_of(second)


async def test_a_process_serves_so_many_runs(environment: None, tmp_path: Path) -> None:
    engine = make_engine("warm", preload=[ROLES / "greeter"], runs_per_process=2)
    await engine.start()
    stage = Stage(engine, "warm", tmp_path)
    try:
        path = stage.tasks("- ansible.builtin.debug: {msg: a}")
        pids = [pid_of(await stage.play(path)) for _ in range(4)]
    finally:
        await engine.stop()

    assert (pids[0], pids[2]) == (pids[1], pids[3])
    assert pids[1] != pids[2]
    assert not any(map(is_running, pids))


async def test_a_process_that_dies_while_it_waits_costs_no_run(kept: Stage) -> None:
    path = kept.tasks("- ansible.builtin.debug: {msg: a}")
    first = await kept.play(path)
    os.kill(pid_of(first), signal.SIGKILL)
    second = await kept.play(path)

    assert second.result.rc == 0
    assert pid_of(first) != pid_of(second)


async def test_one_process_stays_however_long_nothing_is_run(
    environment: None, tmp_path: Path
) -> None:
    engine = make_engine("warm", preload=[ROLES / "greeter"])
    await engine.start()
    started = set(ProcessTree(os.getpid()).refresh())
    stage = Stage(engine, "warm", tmp_path)
    path = stage.tasks("- ansible.builtin.command: {cmd: sleep 1}")
    try:
        # Its process is there before the first run.
        alone = await stage.play(path)
        assert pid_of(alone) in {process.pid for process in started}
        both = await asyncio.gather(
            *(stage.play(path, directory=tmp_path / name) for name in ("a", "b"))
        )
        pids = set(map(pid_of, both))
        assert len(pids) == 2
        await asyncio.sleep(IDLE_SECONDS + 1)
        (left,) = filter(is_running, pids)
        late = await stage.play(path)
    finally:
        await engine.stop()

    assert pid_of(late) == left
    assert not is_running(left)
