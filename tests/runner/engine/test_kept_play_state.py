# SPDX-License-Identifier: Apache-2.0
"""What runs of a kept play change and need: nothing of it shows in the next, and nothing lacks."""

from typing import Any, NamedTuple

import pytest

from tests.runner.engine.conftest import Played, Stage

pytestmark = pytest.mark.asyncio(loop_scope="session")


def ended(played: Played) -> dict[str, list[str]]:
    """The tasks that ended in each way, in order."""
    kinds = {event["event"] for event in played.events if event["event"].startswith("runner_on_")}
    names = {kind: [data["task"] for data in played.of(kind)] for kind in kinds}
    return {kind.removeprefix("runner_on_"): names[kind] for kind in kinds - {"runner_on_start"}}


BEFORE = """
- name: Before
  ansible.builtin.debug: {msg: "{{ left | default('nothing') }}"}
"""
LEAVINGS = {
    "a fact": "- ansible.builtin.set_fact: {left: a fact}",
    "a result": "- ansible.builtin.debug: {msg: a}\n  register: left",
    "a file of variables": "- ansible.builtin.include_vars: more.yml",
    "a public role": "- ansible.builtin.include_role: {name: other, public: true}",
}


READ = {
    "a task": (
        "include_tasks: ../files/read.yml",
        "- name: Read\n  ansible.builtin.debug: {msg: 1}",
    ),
    "a variable": ("include_vars: ../files/read.yml", "left: 1"),
    "a template": ("debug: {msg: \"{{ lookup('template', '../files/read.yml') }}\"}", "1"),
}


@pytest.mark.parametrize("read", READ)
async def test_a_file_that_a_kept_play_reads_is_read_each_time(kept: Stage, read: str) -> None:
    task, text = READ[read]
    after = '- name: Read\n  ansible.builtin.debug: {msg: "{{ left }}"}\n  when: left is defined\n'
    role = kept.role({"tasks/main.yml": f"- name: Read\n  ansible.builtin.{task}\n{after}"})
    kept.role({"files/read.yml": text})
    (first,) = await kept.play_kept(role, {})
    kept.role({"files/read.yml": text.replace("1", "2")})
    second = await kept.play(role)

    assert first.pid == second.pid
    found = [str(played.results()["Read"]["msg"]).strip() for played in (first, second)]
    assert found == ["1", "2"]


@pytest.mark.parametrize("leaving", LEAVINGS)
async def test_variables_go_with_their_run(kept: Stage, leaving: str) -> None:
    kept.role({"defaults/main/all.yml": "left: of another", "tasks/none.yml": ""}, "other")
    after = BEFORE.replace("Before", "After")
    role = kept.role(
        {"tasks/main.yml": BEFORE + LEAVINGS[leaving] + after, "vars/more.yml": "left: of a file"}
    )
    runs = await kept.play_kept(role, {}, {}, {})

    assert [played.results()["Before"]["msg"] for played in runs] == ["nothing"] * 3
    assert "nothing" not in [played.results()["After"]["msg"] for played in runs]


async def test_a_default_is_overridden_for_one_run(kept: Stage) -> None:
    files = {"defaults/main.yml": "left: [of the role]", "tasks/main.yml": BEFORE}
    runs = await kept.play_kept(kept.role(files), {"left": ["given"]}, {}, {"left": ["given"]})

    found = [played.results()["Before"]["msg"] for played in runs]
    assert found == [["given"], ["of the role"], ["given"]]


class Turn(NamedTuple):
    """How tasks end with a variable ``turned`` and without."""

    tasks: str
    turned: dict[str, list[str]]
    straight: dict[str, list[str]]


TURNS = {
    "rescue": Turn(
        """
        - block:
            - name: Try
              ansible.builtin.assert: {that: not turned, quiet: true}
            - name: Go on
              ansible.builtin.debug:
          rescue:
            - name: Rescue
              ansible.builtin.debug: {msg: "{{ ansible_failed_task.name }}"}
          always:
            - name: Always
              ansible.builtin.debug: {msg: "{{ ansible_failed_task is defined }}"}
        """,
        {"failed": ["Try"], "ok": ["Rescue", "Always"]},
        {"ok": ["Try", "Go on", "Always"]},
    ),
    "when": Turn(
        """
        - name: Turned
          ansible.builtin.debug:
          when: turned
        - name: Straight
          ansible.builtin.debug:
          when: not turned
        """,
        {"ok": ["Turned"], "skipped": ["Straight"]},
        {"ok": ["Straight"], "skipped": ["Turned"]},
    ),
    "a handler": Turn(
        """
        - name: Change
          ansible.builtin.debug:
          changed_when: turned
          notify: Handle
        """,
        {"ok": ["Change", "Handle"]},
        {"ok": ["Change"]},
    ),
    "a handler that an ended play leaves": Turn(
        """
        - name: Change
          ansible.builtin.debug:
          changed_when: turned
          notify: Handle
        - name: End
          ansible.builtin.meta: end_play
          when: turned
        """,
        {"ok": ["Change"]},
        {"ok": ["Change"], "skipped": ["End"]},
    ),
    "an early end": Turn(
        """
        - name: End
          ansible.builtin.meta: end_host
          when: turned
        - name: Go on
          ansible.builtin.debug:
        """,
        {},
        {"ok": ["Go on"], "skipped": ["End"]},
    ),
}


@pytest.mark.parametrize("turn", TURNS)
async def test_a_run_takes_its_own_turns(kept: Stage, turn: str) -> None:
    handler = "- name: Handle\n  ansible.builtin.debug:\n"
    role = kept.role({"tasks/main.yml": TURNS[turn].tasks, "handlers/main.yml": handler})
    orders = [True, False, False, True]
    runs = await kept.play_kept(role, *({"turned": turned} for turned in orders))

    expected = [TURNS[turn].turned if turned else TURNS[turn].straight for turned in orders]
    assert [ended(played) for played in runs] == expected


async def test_a_loop_has_the_items_of_its_run(kept: Stage) -> None:
    task = """
        - name: Loop
          ansible.builtin.debug: {msg: "{{ one }}"}
          loop: "{{ items + ['last'] }}"
          loop_control: {loop_var: one}
        """
    given: list[list[str]] = [["a", "b"], [], ["c"]]
    role = kept.role({"tasks/main.yml": task})
    runs = await kept.play_kept(role, *({"items": items} for items in given))

    found = [[data["res"]["msg"] for data in played.of("runner_item_on_ok")] for played in runs]
    assert found == [[*items, "last"] for items in given]


NEEDS: dict[str, tuple[str, list[str]]] = {
    "nothing": ("debug: {msg: said}", ["A"]),
    "a module": ("command: {cmd: echo said}", ["A"]),
    "another host": ("command: {cmd: echo said}\n  delegate_to: localhost", ["A"]),
    "one host": ("command: {cmd: echo said}\n  run_once: true", ["A"]),
    "a worker": ("command: {cmd: echo said}\n  throttle: 1", ["A"]),
    "a worker for each": ("command: {cmd: echo said}\n  throttle: 1\n  loop: [1, 2]", ["A"]),
    "a worker in the end": ("debug: {msg: said}\n  changed_when: true\n  notify: H", ["A", "H"]),
    "time": ("command: {cmd: echo said}\n  async: 10\n  poll: 1", ["A"]),
    "a file": ("include_tasks: {file: b.yml, apply: {tags: [b], vars: {word: said}}}", ["B"]),
    "a file for each": (
        "include_tasks: {file: b.yml, apply: {vars: {word: said}}}\n  loop: [1, 2]",
        ["B", "B"],
    ),
}
AROUND = {
    "tasks/b.yml": "- name: B\n  ansible.builtin.debug: {msg: '{{ word }}'}\n",
    "handlers/main.yml": "- name: H\n  ansible.builtin.command: {cmd: echo said}\n  throttle: 1\n",
}


@pytest.mark.parametrize("need", NEEDS)
async def test_no_run_lacks_what_its_tasks_need(kept: Stage, need: str) -> None:
    """A kept play after one that needs nothing, then two runs in whatever processes."""
    task, names = NEEDS[need]
    files = AROUND | {"tasks/main.yml": f"- name: A\n  ansible.builtin.{task}\n  when: needed\n"}
    role = kept.role(files)
    _, again = await kept.play_kept(role, {"needed": False}, {"needed": True})
    kept.role(files)
    more = [await kept.play(role, extra_vars={"needed": True}, timeout=20) for _ in range(2)]

    for played in (again, *more):
        assert played.result.rc == 0, played.result
        done = [data for data in played.of("runner_on_ok") if data["task"] in names]
        assert [data["task"] for data in done] == names
        assert all(set(_texts(data["res"])) == {"said"} for data in done)


def _texts(result: dict[str, Any]) -> list[str]:
    """What a task has printed, or each item of its loop."""
    parts = result.get("results", [result])
    return [part.get("stdout", part.get("msg")) for part in parts]
