# SPDX-License-Identifier: Apache-2.0
"""One run, one process: what a plugin or a library keeps never reaches another run."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from ansible_operator.engine import Engine, make_engine
from ansible_operator.watches import Isolation
from tests.runner.engine.conftest import (
    HOARDER,
    ROLES,
    Stage,
    is_running,
    until,
    waiting_in,
)

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


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def hoarding_engine(environment: None) -> AsyncIterator[Engine]:
    """An engine that has the plugins of these tests loaded ahead, for runs of both isolations."""
    roles = [ROLES / "greeter", ROLES / "hoarder"]
    engine = make_engine("warm", preload=roles, isolations=list(Isolation))
    await engine.start()
    yield engine
    await engine.stop()


@pytest.fixture
def hoarding(hoarding_engine: Engine, tmp_path: Path) -> Stage:
    """A stage for that engine."""
    return Stage(hoarding_engine, "warm", tmp_path)


async def test_what_plugins_and_libraries_keep_never_reaches_the_next_run(hoarding: Stage) -> None:
    runs = [
        await hoarding.play(
            HOARDER, extra_vars={"secret": secret}, directory=hoarding.folder / name
        )
        for name, secret in (("a", "first"), ("b", "second"), ("c", "third"))
    ]

    assert len({played.pid for played in runs}) == 3
    found = [played.results()["Hoard"]["found"] for played in runs]
    assert [one.pop("folder") for one in found] == [str(one.directory / "project") for one in runs]
    assert found[0] == found[1] == found[2]
    assert not [where for where, what in found[0].items() if "first" in str(what)]


async def test_no_run_shares_the_process_of_watches_that_share_theirs(hoarding: Stage) -> None:
    turns = [Isolation.SHARED, Isolation.RUN, Isolation.SHARED, Isolation.RUN]
    runs = [
        await hoarding.play(HOARDER, extra_vars={"secret": f"of {n}"}, isolation=isolation)
        for n, isolation in enumerate(turns)
    ]

    shared, alone, again, alone_again = (played.pid for played in runs)
    assert shared == again
    assert len({shared, alone, alone_again}) == 3
    assert [played.result.stdout for played in runs if played.result.rc] == []
    kept = [played.results()["Hoard"]["found"]["library"] for played in runs]
    assert kept == [None, None, "of 0", None]


async def test_nothing_of_a_run_is_in_the_memory_of_the_next(hoarding: Stage) -> None:
    output = hoarding.folder / "template.j2.out"
    template, variables = hoarding.folder / "template.j2", hoarding.folder / "variables.yml"
    template.write_text("It is {{ secret }} {{ told }}")
    variables.write_text(f"of_a_file: {_WORD} of a file")
    names = {"template": str(template), "variables": str(variables)}
    first = await hoarding.play(
        hoarding.tasks(EVERYTHING), extra_vars={"secret": _WORD, "deep": {"er": [_WORD]}, **names}
    )
    assert first.result.rc == 0, first.result.stdout
    assert f"{_WORD} set" in await asyncio.to_thread(output.read_text)
    second = await hoarding.play(
        HOARDER,
        extra_vars={"secret": "other", "searched": _WORD[::-1]},
        directory=hoarding.folder / "other",
    )

    assert second.results()["Search"]["found"] == []


async def test_a_process_is_forked_ahead_for_the_next_run(
    environment: None, tmp_path: Path
) -> None:
    """One before the first run, another as soon as nothing is run; each plays once and exits."""
    engine = make_engine("warm", preload=[ROLES / "greeter"])
    await engine.start()
    stage = Stage(engine, "warm", tmp_path)
    path = stage.tasks("- ansible.builtin.debug: {msg: a}")
    pids = []
    try:
        for _ in range(3):
            await until(lambda: len(waiting_in(engine)) == 1)
            ready = waiting_in(engine)
            played = await stage.play(path)
            assert [played.pid] == ready
            pids.append(played.pid)
        many = await asyncio.gather(
            *(stage.play(path, directory=tmp_path / str(n)) for n in range(4))
        )
        pids += [played.pid for played in many]
    finally:
        await engine.stop()

    assert len(set(pids)) == len(pids)
    assert not any(map(is_running, pids))


async def test_a_process_that_dies_while_it_waits_costs_no_run(hoarding: Stage) -> None:
    path = hoarding.tasks("- ansible.builtin.debug: {msg: a}")
    await until(lambda: len(waiting_in(hoarding.engine)) == 1)
    (ready,) = waiting_in(hoarding.engine)
    os.kill(ready, signal.SIGKILL)
    played = await hoarding.play(path)

    assert played.result.rc == 0
    assert played.pid != ready
