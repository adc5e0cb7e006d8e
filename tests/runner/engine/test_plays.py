# SPDX-License-Identifier: Apache-2.0
"""What plays do and what their events say, the same for every engine."""

import asyncio
import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from ansible.release import __version__

from ansible_operator.engine import RoleTarget, RunStatus
from tests.runner.engine.conftest import ROLES, Stage

pytestmark = pytest.mark.asyncio(loop_scope="session")
VERSION = tuple(int(part) for part in __version__.split(".")[:2])


async def test_success(stage: Stage) -> None:
    played = await stage.play(
        stage.tasks(
            """
            - name: Fact
              ansible.builtin.set_fact: {one: 1}
            - name: Say
              ansible.builtin.debug: {msg: "sum {{ one + 1 }}"}
            - name: Change
              ansible.builtin.command: {cmd: echo hi}
            """
        )
    )

    assert (
        played.result.status,
        played.result.rc,
        played.result.error,
    ) == (RunStatus.SUCCESSFUL, 0, "")
    task = ["playbook_on_task_start", "runner_on_start", "runner_on_ok"]
    expected = ["playbook_on_start", "playbook_on_play_start", *task * 3, "playbook_on_stats"]
    assert expected == played.names
    assert played.results()["Say"]["msg"] == "sum 2"
    assert played.results()["Change"]["stdout"] == "hi"
    assert played.stats["ok"] == {"localhost": 3}
    assert played.stats["changed"] == {"localhost": 1}


async def test_counters_and_lines_are_continuous(stage: Stage) -> None:
    played = await stage.play(stage.tasks("- ansible.builtin.debug: {msg: hello}"))

    assert list(range(1, len(played.events) + 1)) == [e["counter"] for e in played.events]
    line = 0
    for event in played.events:
        assert line == event["start_line"]
        line = event["end_line"]
    assert len({event["uuid"] for event in played.events}) == len(played.events)
    text = "".join(e["stdout"] + "\n" for e in played.events if e["stdout"])
    assert text.replace("\r\n", "\n").splitlines() == played.result.stdout.splitlines()


async def test_event_data_names_the_task(stage: Stage) -> None:
    path = stage.tasks("- name: Say\n  debug: {msg: hello}")
    played = await stage.play(path)

    data = played.of("runner_on_ok")[0]
    assert ("Say", "debug", "ansible.builtin.debug", f"{path}:5") == (
        data["task"],
        data["task_action"],
        data["resolved_action"],
        data["task_path"],
    )
    assert ("localhost", "localhost", str(path)) == (data["host"], data["play"], data["playbook"])
    assert data["duration"] >= 0
    assert played.of("playbook_on_task_start")[0]["name"] == "Say"
    assert played.events[4]["parent_uuid"] == data["task_uuid"]


async def test_failed_task(stage: Stage) -> None:
    played = await stage.play(
        stage.tasks(
            """
            - name: Fail
              ansible.builtin.fail: {msg: on purpose}
            - name: Never
              ansible.builtin.debug:
            """
        )
    )

    assert (
        played.result.status,
        played.result.rc,
        played.result.error,
    ) == (RunStatus.FAILED, 2, "")
    failed = played.of("runner_on_failed")[0]
    assert failed["res"]["msg"] == "on purpose"
    assert not failed["ignore_errors"]
    assert played.stats["failures"] == {"localhost": 1}
    assert "Never" not in played.results()


async def test_ignored_and_rescued_failures(stage: Stage) -> None:
    played = await stage.play(
        stage.tasks(
            """
            - name: Ignored
              ansible.builtin.fail: {msg: a}
              ignore_errors: true
            - block:
                - name: Rescued
                  ansible.builtin.fail: {msg: b}
              rescue:
                - name: Rescue
                  ansible.builtin.debug: {msg: "{{ ansible_failed_result.msg }}"}
              always:
                - name: Always
                  ansible.builtin.debug: {msg: c}
            - name: Suppressed
              ansible.builtin.command: {cmd: "false"}
              failed_when: false
            """
        )
    )

    assert (played.result.status, played.result.rc) == (RunStatus.SUCCESSFUL, 0)
    assert [bool(d["ignore_errors"]) for d in played.of("runner_on_failed")] == [True, False]
    assert {"localhost": 1} == played.stats["ignored"] == played.stats["rescued"]
    assert played.stats["failures"] == {}
    assert played.results()["Rescue"]["msg"] == "b"


async def test_unreachable_host(stage: Stage) -> None:
    played = await stage.play(
        stage.tasks(
            "- name: Reach\n  ansible.builtin.command: {cmd: id}",
        ),
        command_line="-e ansible_connection=ssh -e ansible_port=1 -e ansible_host=127.0.0.1",
    )

    assert (played.result.status, played.result.rc) == (RunStatus.FAILED, 4)
    assert played.of("runner_on_unreachable")[0]["res"]["unreachable"]
    assert played.stats["dark"] == {"localhost": 1}


async def test_loops_skips_and_retries(stage: Stage) -> None:
    played = await stage.play(
        stage.tasks(
            """
            - name: Loop
              ansible.builtin.debug: {msg: "{{ item }}"}
              loop: [a, b]
              when: item != 'b'
            - name: Skip
              ansible.builtin.debug:
              when: false
            - name: Retry
              ansible.builtin.command: {cmd: "false"}
              retries: 1
              delay: 0
              register: tried
              until: tried.rc == 0
              ignore_errors: true
            - name: Item fails
              ansible.builtin.command: {cmd: "test {{ item }} = x"}
              loop: [x, y]
              ignore_errors: true
            """
        )
    )

    assert played.result.rc == 0
    assert played.of("runner_item_on_ok")[0]["res"]["item"] == "a"
    assert played.of("runner_item_on_skipped")[0]["res"]["item"] == "b"
    assert played.of("runner_item_on_failed")[0]["res"]["item"] == "y"
    assert played.of("runner_on_skipped")[0]["task"] == "Skip"
    assert len(played.of("runner_retry")) == 1
    assert len(played.results()["Item fails"]["results"]) == 2


async def test_role_with_defaults_handlers_and_filters(stage: Stage) -> None:
    target = RoleTarget("acme.tools.greeter", ROLES / "greeter", gather_facts=False)
    played = await stage.play(target, extra_vars={"greeter_word": "moin"})

    assert played.result.rc == 0
    assert played.results()["Greet"]["text"] == "MOIN"
    assert played.results()["Show"]["msg"] == "NIOM"
    assert played.results()["Wave"]["msg"] == "waved"
    assert played.of("runner_on_ok")[0]["resolved_role"] == "acme.tools.greeter"
    assert not [p for p in (played.directory / "project").iterdir() if p.name != "playbook.yaml"]


async def test_included_role_and_variable_precedence(stage: Stage) -> None:
    played = await stage.play(
        stage.tasks(
            """
            - name: Include
              ansible.builtin.include_role: {name: acme.tools.greeter}
              vars: {greeter_word: task}
            - name: Override
              ansible.builtin.set_fact: {given: from the play}
            - name: Given
              ansible.builtin.debug: {var: given}
            """
        ),
        extra_vars={"given": "from outside"},
    )

    assert played.results()["Greet"]["text"] == "TASK"
    assert played.results()["Given"]["given"] == "from outside"


@pytest.mark.parametrize("gather", [True, False])
async def test_gathering_facts(stage: Stage, gather: bool) -> None:
    role = stage.folder / "roles/facts"
    stage.write(
        """
        - name: Facts
          ansible.builtin.debug: {msg: "{{ ansible_facts.get('system', 'none') }}"}
        """,
        "roles/facts/tasks/main.yml",
    )
    played = await stage.play(RoleTarget("facts", role, gather_facts=gather))

    assert played.results()["Facts"]["msg"] == ("Linux" if gather else "none")
    assert ("Gathering Facts" in played.results()) == gather
    if gather:
        assert "ansible_env" not in played.results()["Gathering Facts"]["ansible_facts"]
        assert list((played.artifacts / "fact_cache").glob("*localhost"))


async def test_no_log_is_censored(stage: Stage) -> None:
    played = await stage.play(
        stage.tasks(
            """
            - name: Hidden
              ansible.builtin.command: {cmd: echo s3cr3t}
              no_log: true
            - name: Hidden item
              ansible.builtin.debug: {msg: s3cr3t}
              no_log: true
              loop: [1]
            - name: Hidden items
              ansible.builtin.command: {cmd: "echo {{ item }}"}
              no_log: true
              throttle: 1
              loop: [s3cr3t]
              register: seen
            - name: Hidden facts
              ansible.builtin.set_fact: {seen_again: "{{ seen }}"}
              no_log: true
            - name: Hidden and skipped
              ansible.builtin.debug: {msg: s3cr3t}
              no_log: true
              when: seen_again.results[0].stdout == 's3cr3t' and false
            - name: Hidden option
              acme.tools.echo: {text: x, secret: s3cr3t}
            """
        )
    )

    assert played.result.rc == 0
    assert "s3cr3t" not in played.result.stdout + json.dumps(played.events)
    for path in played.artifacts.rglob("*"):
        assert not path.is_file() or "s3cr3t" not in path.read_text()
    assert "censored" in played.results()["Hidden"]


FAILING = {
    "an action": 'ansible.builtin.fail: {msg: "{{ word }}"}',
    "items": 'ansible.builtin.fail: {msg: "{{ item }}"}\nloop: ["{{ word }}"]',
    "one item of several": """
        ansible.builtin.assert: {that: item.ok, fail_msg: "{{ item.word }}"}
        loop: [{ok: true, word: "{{ word }}"}, {ok: false, word: "{{ word }}"}]
        loop_control: {label: "{{ item.word }}"}
        """,
    "a module": 'ansible.builtin.command: {cmd: "false {{ word }}"}',
    "a crash": 'acme.tools.crash:\nenvironment: {WORD: "{{ word }}"}',
    "a condition": 'ansible.builtin.command: {cmd: "echo {{ word }}"}\nfailed_when: true',
    "a template": """
        ansible.builtin.debug: {msg: "{{ {}[word] }}"}
        """,
    "a condition that fails": """
        ansible.builtin.command: {cmd: "echo {{ word }}"}
        changed_when: "{}[word]"
        """,
    "retries": """
        ansible.builtin.command: {cmd: "echo {{ word }}"}
        until: false
        retries: 1
        delay: 0
        """,
    "a file": 'ansible.builtin.include_vars: {file: "{{ word }}"}',
}


@pytest.mark.parametrize("throttle", [0, 1], ids=["here", "in a worker"])
@pytest.mark.parametrize("failing", FAILING)
async def test_why_a_hidden_task_failed_is_hidden_too(
    warm: Stage, failing: str, throttle: int
) -> None:
    """Ansible from 2.19 on tells it, and so does the engine that starts Ansible as it is."""
    task = textwrap.indent(textwrap.dedent(FAILING[failing]).strip(), "  ")
    hidden = (
        f"- name: Hidden\n{task}\n  no_log: true\n  throttle: {throttle}\n  ignore_errors: true\n"
    )
    told = "- name: Told\n  ansible.builtin.fail: {msg: plain words}\n"
    played = await warm.play(warm.tasks(hidden + told), extra_vars={"word": "s3cr3t"})

    assert played.result.rc == 2
    assert [data["task"] for data in played.of("runner_on_failed")] == ["Hidden", "Told"]
    assert "plain words" in played.result.stdout
    assert "s3cr3t" not in played.result.stdout + json.dumps(played.events)
    for path in played.artifacts.rglob("*"):
        assert not path.is_file() or "s3cr3t" not in path.read_text()


async def test_unsafe_strings_are_never_templates(stage: Stage) -> None:
    template = "{{ lookup('pipe', 'echo injected') }}"
    played = await stage.play(
        stage.tasks(
            """
            - name: Both
              ansible.builtin.debug: {msg: "{{ wrapped.inner }} {{ plain }}"}
            - name: Through a module
              acme.tools.echo: {text: "{{ wrapped.inner }}"}
            """
        ),
        data={"wrapped": {"inner": template}},
        extra_vars={"plain": "{{ 1 + 1 }}"},
    )

    assert f"{template} 2" == played.results()["Both"]["msg"]
    assert template.upper() == played.results()["Through a module"]["text"]


async def test_requeue_after_leaves_the_play_intact(stage: Stage) -> None:
    played = await stage.play(
        stage.tasks(
            """
            - name: Later
              acme.tools.requeue_after: {time: 15s}
            - name: Next
              ansible.builtin.debug:
            """
        )
    )

    assert played.result.rc == 0
    later = played.of("runner_on_ok")[0]
    assert (later["task_action"], later["res"]["period"]) == ("acme.tools.requeue_after", "15s")
    assert "Next" in played.results()


async def test_modules_see_their_surroundings(stage: Stage, python: str) -> None:
    played = await stage.play(
        stage.tasks(
            """
            - name: Echo
              acme.tools.echo: {text: a}
              environment: {ACME: from the task}
            - name: Again
              acme.tools.echo: {text: b}
            - name: Checked
              acme.tools.echo: {text: c}
              check_mode: true
            """
        )
    )

    first, second = played.results()["Echo"], played.results()["Again"]
    assert (first["variable"], second["variable"]) == ("from the task", "inherited")
    assert (str(stage.folder), python) == (first["cwd"], first["executable"])
    assert first["pid"] != second["pid"]
    assert first["scratch"]
    assert first["warnings"] == ["echo warns"]
    assert not played.results()["Checked"]["changed"]
    assert "[WARNING]: echo warns" in played.result.stdout


async def test_modules_that_misbehave(stage: Stage) -> None:
    played = await stage.play(
        stage.tasks(
            """
            - name: Crash
              acme.tools.crash:
              ignore_errors: true
            - name: Die
              acme.tools.die:
              ignore_errors: true
            - name: Silent
              acme.tools.noisy: {silent: true}
              ignore_errors: true
            - name: Noisy
              acme.tools.noisy:
            """
        )
    )

    assert played.result.rc == 0
    results = played.results()
    assert "boom in the module" in json.dumps(results["Crash"])
    assert len(played.of("runner_on_failed")) == 3
    assert "noise on stdout" in results["Silent"]["module_stdout"]
    assert results["Noisy"]["answer"] == 42


async def test_actions_cannot_mess_up_the_play(stage: Stage) -> None:
    played = await stage.play(
        stage.tasks(
            """
            - name: First
              acme.tools.mess:
            - name: Second
              acme.tools.mess:
            - name: Facts
              ansible.builtin.debug: {msg: "{{ ansible_facts.leaked is defined }}"}
            - name: Variables
              ansible.builtin.debug: {var: given}
            - name: Templates
              ansible.builtin.debug: {msg: "{{ given.update({'more': 1}) }}"}
            - name: Still
              ansible.builtin.debug: {var: given}
            """
        ),
        extra_vars={"given": {"deep": {"kept": 1}}},
    )

    first, second = played.results()["First"], played.results()["Second"]
    assert (first["cwd"], "") == (second["cwd"], second["acme"])
    assert str(played.directory / "project") == first["cwd"]
    assert str(played.results()["Facts"]["msg"]) == "False"
    given = {"deep": {"kept": 1}}
    assert given == played.results()["Variables"]["given"] == played.results()["Still"]["given"]
    assert played.result.rc == 0


async def test_modules_and_module_utilities_of_a_role(stage: Stage) -> None:
    role = stage.folder / "roles"
    role.mkdir()
    (role / "old").symlink_to(ROLES / "old")
    played = await stage.play(RoleTarget("old", role / "old", gather_facts=False))

    results = played.results()
    assert results["Use a module of the role"]["who"] == "plain"
    helped = results["Use a module of the role that uses module utilities of the role"]
    assert helped["who"] == "helped by the role"


async def test_several_hosts_and_serial(stage: Stage) -> None:
    hosts = stage.write("a ansible_connection=local\nb ansible_connection=local\n", "hosts")
    path = stage.write(
        """
        - hosts: all
          gather_facts: false
          serial: 1
          tasks:
            - name: Who
              ansible.builtin.debug: {var: inventory_hostname}
        """
    )
    played = await stage.play(path, inventory=hosts)

    assert played.result.rc == 0
    assert [d["host"] for d in played.of("runner_on_ok")] == ["a", "b"]
    assert len({d["uuid"] for d in played.of("playbook_on_play_start")}) == 2
    assert played.stats["ok"] == {"a": 1, "b": 1}


async def test_delegation_async_and_become(stage: Stage) -> None:
    played = await stage.play(
        stage.tasks(
            """
            - name: Delegated
              ansible.builtin.command: {cmd: echo here}
              delegate_to: localhost
            - name: Asynchronous
              ansible.builtin.command: {cmd: echo later}
              async: 20
              poll: 1
            - name: Become
              ansible.builtin.command: {cmd: echo as somebody}
              become: true
              become_method: acme_is_missing
              ignore_errors: true
            - name: After
              ansible.builtin.debug: {msg: still here}
            """
        )
    )

    results = played.results()
    assert (results["Delegated"]["stdout"], results["Asynchronous"]["stdout"]) == ("here", "later")
    assert "acme_is_missing" in json.dumps(results["Become"])
    assert results["After"]["msg"] == "still here"
    assert played.of("runner_on_async_ok")


async def test_end_play_and_no_hosts(stage: Stage) -> None:
    ended = await stage.play(
        stage.tasks("- ansible.builtin.meta: end_play\n- ansible.builtin.debug:")
    )
    nobody = await stage.play(
        stage.write("- hosts: nobody\n  tasks: [{ansible.builtin.debug: }]\n", "nobody.yml")
    )

    assert (ended.result.rc, ended.names[-1]) == (0, "playbook_on_stats")
    assert (nobody.result.rc, nobody.names[-1]) == (0, "playbook_on_stats")
    assert "playbook_on_no_hosts_matched" in nobody.names


async def test_command_line_and_verbosity(stage: Stage) -> None:
    path = stage.tasks(
        """
        - name: Tagged
          ansible.builtin.debug: {var: more}
          tags: [wanted]
        - name: Untagged
          ansible.builtin.debug:
        """
    )
    played = await stage.play(
        path, command_line="--tags wanted -e more=extra", verbosity=2, extra_vars={"other": 1}
    )

    assert played.results() == {"Tagged": played.results()["Tagged"]}
    assert played.results()["Tagged"]["more"] == "extra"
    assert "task path:" in played.result.stdout
    assert "verbose" in played.names


def encrypt(file: Path, password: Path) -> None:
    vault = Path(sys.executable).with_name("ansible-vault")
    command = [vault, "encrypt", "--vault-password-file", password, file]
    subprocess.run(command, check=True, capture_output=True)


async def test_vaulted_variables(stage: Stage) -> None:
    password = stage.write("sesame\n", "password")
    vaulted = stage.folder / "vaulted.yml"
    vaulted.write_text("treasure: gold\n")
    await asyncio.to_thread(encrypt, vaulted, password)
    played = await stage.play(
        stage.tasks(
            "- name: Open\n  ansible.builtin.debug: {var: treasure}", "vars_files: [vaulted.yml]"
        ),
        command_line=f"--vault-password-file {password}",
    )

    assert played.results()["Open"]["treasure"] == "gold"


async def test_actions_of_ansible_itself(stage: Stage) -> None:
    stage.write("word: included\n", "included.yml")
    stage.write("- ansible.builtin.debug:\n", "more.yml")
    stage.write("#!/bin/sh\necho from the script\n", "script.sh")
    played = await stage.play(
        stage.tasks(
            """
            - ansible.builtin.pause: {seconds: 1}
            - ansible.builtin.include_vars: {file: included.yml}
            - ansible.builtin.include_tasks: more.yml
            - ansible.builtin.set_stats: {data: {counted: 1}}
            - ansible.builtin.group_by: {key: "grouped_{{ word }}"}
            - ansible.builtin.stat: {path: "{{ playbook_dir }}/more.yml"}
              register: found
            - ansible.builtin.slurp: {src: "{{ playbook_dir }}/more.yml"}
            - ansible.builtin.lineinfile:
                {path: "{{ playbook_dir }}/lines", line: a, create: true, mode: "0600"}
            - ansible.builtin.script: {cmd: script.sh}
              register: scripted
            - ansible.builtin.raw: echo raw
            - ansible.builtin.wait_for: {timeout: 1}
            - ansible.builtin.assert:
                that:
                  - scripted.stdout_lines == ['from the script']
                  - found.stat.exists
                  - word == 'included'
                  - "'grouped_included' in group_names"
                quiet: true
            - name: Added
              ansible.builtin.add_host: {name: later, ansible_connection: local}
            - name: After
              ansible.builtin.debug: {msg: "{{ groups.all | sort | join(' ') }}"}
            """
        )
    )

    assert (played.result.rc, played.result.error) == (0, "")
    assert played.results()["After"]["msg"] == "later localhost"
    assert played.stats["artifact_data"] == {"counted": 1}


ADDING = """
- hosts: localhost
  gather_facts: false
  tasks:
    - name: Add
      ansible.builtin.add_host:
        {{name: "{{{{ item }}}}", groups: [some], ansible_connection: local, said: "{{{{ word }}}}"}}
      throttle: {throttle}
      loop: [one, two, one]
    - name: Group
      ansible.builtin.group_by: {{key: "of_{{{{ word }}}}", parents: [grouped]}}
      throttle: {throttle}
- hosts: some
  gather_facts: false
  tasks:
    - name: Group each
      ansible.builtin.group_by: {{key: "name_{{{{ inventory_hostname }}}}"}}
    - name: Know
      ansible.builtin.debug: {{msg: "{{{{ said }}}} {{{{ groups | to_json }}}}"}}
      run_once: true
"""


@pytest.mark.parametrize("throttle", [0, 1], ids=["here", "in a worker"])
async def test_tasks_add_hosts_and_groups(stage: Stage, throttle: int) -> None:
    """One after another, and two workers at a time."""
    path = stage.write(ADDING.format(throttle=throttle))
    played = await stage.play(path, extra_vars={"word": "said"}, timeout=60)

    assert (played.result.rc, played.result.error) == (0, "")
    added = played.results()["Add"]["results"]
    assert [one["add_host"]["host_name"] for one in added] == ["one", "two", "one"]
    said, groups = played.results()["Know"]["msg"].rsplit(" {", 1)
    found = json.loads("{" + groups)
    assert said == "said"
    assert found["some"] == ["one", "two"]
    assert found["grouped"] == found["of_said"] == ["localhost"]
    assert [found[f"name_{host}"] for host in ("one", "two")] == [["one"], ["two"]]


@pytest.mark.skipif(VERSION < (2, 21), reason="up to 2.20 it ends the play")
@pytest.mark.parametrize("throttle", [0, 1], ids=["here", "in a worker"])
async def test_a_group_that_cannot_be_added_fails_its_task(stage: Stage, throttle: int) -> None:
    add = "ansible.builtin.group_by: {key: grouped, parents: [grouped]}"
    tasks = f"- name: Add\n  {add}\n  throttle: {throttle}\n  ignore_errors: true\n"
    played = await stage.play(stage.tasks(f"{tasks}- name: Next\n  ansible.builtin.debug:\n"))

    assert (played.result.rc, played.result.error) == (0, "")
    assert "group to itself" in played.results()["Add"]["msg"]
    assert "Next" in played.results()


@pytest.mark.skipif(VERSION < (2, 21), reason="up to 2.20 a result has one name")
@pytest.mark.parametrize("throttle", [0, 1], ids=["here", "in a worker"])
async def test_parts_of_a_result_are_registered(stage: Stage, throttle: int) -> None:
    task = f"""
        - name: Ask
          ansible.builtin.command: {{cmd: "echo {{{{ item }}}}"}}
          loop: [one, two, three]
          loop_control: {{break_when: last.stdout == 'two'}}
          throttle: {throttle}
          register:
            last: _task.result
            all: _task.loop_result.results | map(attribute='stdout') | list
        - name: Know
          ansible.builtin.debug: {{msg: "{{{{ [last.rc, all] }}}}"}}
        """
    played = await stage.play(stage.tasks(task))

    assert (played.result.rc, played.result.error) == (0, "")
    assert played.results()["Know"]["msg"] == [0, ["one", "two"]]


async def test_a_process_that_has_added_hosts_plays_again(kept: Stage) -> None:
    add = "ansible.builtin.add_host: {name: 'host-{{ word }}'}"
    group = "ansible.builtin.group_by: {key: 'of_{{ word }}'}"
    know = "ansible.builtin.debug: {msg: '{{ groups | sort }}'}"
    tasks = [f"- {add}", f"  throttle: 1\n- {group}", f"  throttle: 1\n- name: Know\n  {know}"]
    role = kept.role({"tasks/main.yml": "\n".join(tasks)})
    runs = await kept.play_kept(role, {"word": "a"}, {"word": "b"})

    found = [played.results()["Know"]["msg"] for played in runs]
    assert found == [["all", "of_a", "ungrouped"], ["all", "of_b", "ungrouped"]]


@pytest.mark.parametrize("strategy", ["free", "host_pinned", "linear"])
async def test_strategies_of_a_play(stage: Stage, strategy: str) -> None:
    path = stage.tasks(
        "- {name: One, ansible.builtin.debug: }\n- {name: Two, acme.tools.echo: }",
        f"strategy: {strategy}",
    )
    played = await stage.play(path)

    assert played.result.rc == 0
    assert list(played.results()) == ["One", "Two"]


STRATEGY = """
from ansible.plugins.strategy.{base} import StrategyModule as Base

DOCUMENTATION = "name: own"


class StrategyModule(Base):
    def _queue_task(self, host, task, task_vars, play_context):
        task_vars["said"] = "by the strategy"
        {call}(host, task, task_vars, play_context)
"""


@pytest.mark.parametrize(
    ("base", "call"),
    [
        ("free", "super()._queue_task"),
        ("linear", "super()._queue_task"),
        ("linear", "super(Base, self)._queue_task"),
    ],
)
async def test_strategies_of_a_project(stage: Stage, base: str, call: str) -> None:
    """Whatever way it takes to the base class, which has a process made for the task."""
    stage.write(STRATEGY.format(base=base, call=call), "strategy_plugins/own.py")
    path = stage.tasks(
        """
        - {name: One, ansible.builtin.debug: {msg: "{{ said }}"}}
        - {name: Two, acme.tools.echo: {text: "{{ said }}"}, loop: [1, 2]}
        - {name: Three, ansible.builtin.include_tasks: more.yml}
        - {name: Five, ansible.builtin.meta: noop}
        """,
        "strategy: own",
    )
    stage.write("- {name: Four, ansible.builtin.debug: }", "more.yml")
    played = await stage.play(path, timeout=30)

    assert (played.result.status, played.result.rc) == ("successful", 0), played.result.stdout
    results = played.results()
    assert list(results) == ["One", "Two", "Three", "Four"]
    assert results["One"]["msg"] == "by the strategy"


async def test_tasks_that_are_left_behind_go_on(stage: Stage) -> None:
    done = stage.folder / "done"
    path = stage.tasks(
        f"""
        - name: Fire and forget
          ansible.builtin.shell: {{cmd: "sleep 2; mktemp && touch {done}"}}
          async: 30
          poll: 0
        """
    )
    played = await stage.play(path)

    assert played.result.rc == 0
    for _ in range(200):
        if done.exists():
            break
        await asyncio.sleep(0.05)
    assert done.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes root without sudo")
async def test_become_the_same_user(stage: Stage) -> None:
    played = await stage.play(
        stage.tasks(
            """
            - name: Become
              acme.tools.echo: {text: root}
              become: true
            - name: Not
              acme.tools.echo: {text: root}
            """
        )
    )

    results = played.results()
    assert [results[name]["text"] for name in ("Become", "Not")] == ["ROOT", "ROOT"]
    assert [results[name]["warm"] for name in ("Become", "Not")] == [False, stage.kind == "warm"]
