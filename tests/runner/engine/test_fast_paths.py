# SPDX-License-Identifier: Apache-2.0
"""What the warm engine does itself, what it leaves to Ansible, what to ansible-runner."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from ansible_operator.engine import PlaybookTarget, RoleTarget, RunRequest, make_engine
from ansible_operator.engine.warm.job import why_not_served
from tests.runner.engine.conftest import Played, Stage

async_ = pytest.mark.asyncio(loop_scope="session")


def pid_of(played: Played) -> int:
    return int(played.events[0]["pid"])


@async_
async def test_tasks_run_in_the_process_of_the_play(warm: Stage) -> None:
    played = await warm.play(
        warm.tasks(
            """
            - name: Here
              acme.tools.mess:
            - name: Asynchronous elsewhere
              ansible.builtin.command: {cmd: "true"}
              async: 10
              poll: 1
            - name: Here again
              acme.tools.mess:
            """
        )
    )

    here, again = played.results()["Here"], played.results()["Here again"]
    assert here["pid"] == again["pid"] == pid_of(played)


@async_
@pytest.mark.parametrize(
    "keyword",
    [
        "throttle: 1",
        "vars: {ansible_become: false}",
        "vars: {ansible_connection: ssh, ansible_port: 1}",
        "delegate_to: other",
    ],
)
async def test_other_tasks_get_a_worker(warm: Stage, keyword: str) -> None:
    hosts = warm.write(
        "localhost ansible_connection=local\n[elsewhere]\nother ansible_connection=local\n", "hosts"
    )
    played = await warm.play(
        warm.tasks(f"- name: There\n  acme.tools.mess:\n  {keyword}"), inventory=hosts
    )

    assert played.result.rc == 0
    assert played.results()["There"]["pid"] != pid_of(played)


@async_
async def test_two_hosts_get_workers(warm: Stage) -> None:
    hosts = warm.write("a ansible_connection=local\nb ansible_connection=local\n", "hosts")
    path = warm.write(
        "- hosts: all\n  gather_facts: false\n  tasks: [{name: There, acme.tools.mess: }]\n"
    )
    played = await warm.play(path, inventory=hosts)

    pids = [data["res"]["pid"] for data in played.of("runner_on_ok")]
    assert len({*pids, pid_of(played)}) == 3


@async_
async def test_a_play_with_a_worker_follows_one_without(warm: Stage) -> None:
    """Plays of a playbook share the queue of results, which a thread reads for workers alone."""
    path = warm.write(
        """
        - hosts: localhost
          gather_facts: false
          tasks: [{name: Here, ansible.builtin.debug: {msg: a}}]
        - hosts: localhost
          gather_facts: false
          tasks:
            - {name: There, ansible.builtin.command: {cmd: echo b}, throttle: 1}
            - {name: Here again, ansible.builtin.debug: {msg: c}}
        """
    )
    played = await warm.play(path, timeout=20)

    assert played.result.rc == 0, played.result
    assert list(played.results()) == ["Here", "There", "Here again"]


@async_
async def test_modules_run_in_a_fork_or_as_ever(warm: Stage) -> None:
    other = warm.write(f'#!/bin/sh\nexec {sys.executable} "$@"\n', "other-python")
    other.chmod(0o755)
    played = await warm.play(
        warm.tasks(
            f"""
            - name: Fork
              acme.tools.echo:
            - name: Other interpreter
              acme.tools.echo:
              vars: {{ansible_python_interpreter: {other}}}
            - name: Worker with a fork
              acme.tools.echo:
              throttle: 1
            """
        )
    )

    warmth = {name: result["warm"] for name, result in played.results().items()}
    assert warmth == {"Fork": True, "Other interpreter": False, "Worker with a fork": True}


@async_
@pytest.mark.parametrize("strategy", ["linear", "free"])
async def test_the_end_of_a_role_is_noted_without_its_variables(warm: Stage, strategy: str) -> None:
    warm.write("- {name: Once, acme.tools.mess: }\n", "roles/once/tasks/main.yml")
    path = warm.write(
        f"""
        - hosts: localhost
          gather_facts: false
          strategy: {strategy}
          vars: {{limit: 1}}
          tasks:
            - ansible.builtin.import_role: {{name: once, allow_duplicates: false}}
              throttle: "{{{{ limit }}}}"
            - ansible.builtin.import_role: {{name: once, allow_duplicates: false}}
              throttle: "{{{{ limit }}}}"
        """
    )
    played = await warm.play(path)

    assert played.result.rc == 0
    assert len(played.of("runner_on_ok")) == 1


@async_
async def test_a_module_cannot_keep_the_run_open(warm: Stage) -> None:
    played = await warm.play(
        warm.tasks(
            """
            - name: Leaves a process behind
              ansible.builtin.shell: {cmd: "sleep 3 >/dev/null 2>&1 & echo started"}
            """
        ),
        timeout=2.5,
    )

    assert played.result.rc == 0


@async_
async def test_what_cannot_be_served_goes_through_the_package(warm: Stage) -> None:
    path = warm.tasks("- name: Say\n  ansible.builtin.debug: {msg: a}")
    listed = await warm.play(path, command_line="--list-tasks")
    library = await warm.play(path, environment={"ANSIBLE_LIBRARY": str(warm.folder)})

    assert "Say\tTAGS: []" in listed.result.stdout
    assert library.results()["Say"]["msg"] == "a"
    command = json.loads((library.artifacts / "command").read_text())
    assert command["env"]["ANSIBLE_LIBRARY"] == str(warm.folder)
    assert (library.artifacts / "runner_output").exists()


def request(**options: Any) -> RunRequest:
    target = PlaybookTarget(Path("/play.yml"))
    return RunRequest(ident="1", directory=Path("/run"), target=target, **options)


@pytest.mark.parametrize(
    "command_line",
    [
        "",
        "-vvv",
        "-e a=b -e@file --extra-vars 'c=d e=f'",
        "--vault-password-file /vault/password --vault-id=dev@file",
        "--tags one,two --skip-tags=three -l localhost -f 3",
        "-CD --check --diff -b --become-user root",
    ],
)
def test_served_arguments(command_line: str) -> None:
    assert why_not_served(request(command_line=command_line)) == ""


@pytest.mark.parametrize(
    ("command_line", "reason"),
    [
        ("--ask-vault-pass", "--ask-vault-pass"),
        ("-K", "-K"),
        ("-bK", "-b"),
        ("--syntax-check", "--syntax-check"),
        ("--list-hosts", "--list-hosts"),
        ("-M /modules", "-M"),
        ("'", "cannot be split"),
    ],
)
def test_arguments_that_are_not_served(command_line: str, reason: str) -> None:
    assert reason in why_not_served(request(command_line=command_line))


def test_variables_that_are_not_served(monkeypatch: pytest.MonkeyPatch) -> None:
    served = {"K8S_AUTH_KUBECONFIG": "/k", "ANSIBLE_ROLES_PATH": "/r", "ANSIBLE_VERBOSITY": "2"}
    assert why_not_served(request(environment=served)) == ""
    for name in ("ANSIBLE_CONFIG", "ANSIBLE_COLLECTIONS_PATH", "ANSIBLE_FILTER_PLUGINS"):
        assert name in why_not_served(request(environment={name: "/x"}))
        monkeypatch.setenv(name, "/x")
        assert why_not_served(request(environment={name: "/x"})) == ""


@async_
async def test_a_role_is_read_ahead_and_again_when_it_has_changed(tmp_path: Path) -> None:
    tasks = tmp_path / "roles/outer/tasks/main.yml"
    used = tmp_path / "roles/used/tasks/main.yml"
    for file, text in (
        (tasks, "- ansible.builtin.import_role:\n    name: used\n" * 2),
        (used, "- {name: Say, ansible.builtin.debug: {msg: '{{ 1 + 1 }}'}, when: one is true}\n"),
    ):
        file.parent.mkdir(parents=True)
        file.write_text(text)
    engine = make_engine("warm", preload=[tmp_path / "roles/outer"])
    await engine.start()
    try:
        stage = Stage(engine, "warm", tmp_path)
        role = RoleTarget("outer", tmp_path / "roles/outer", gather_facts=False)
        before = await stage.play(role, extra_vars={"one": True})
        used.write_text(used.read_text().replace("1 + 1", "1 + 12"))
        after = await stage.play(role, extra_vars={"one": True})
    finally:
        await engine.stop()

    said = [
        [int(data["res"]["msg"]) for data in played.of("runner_on_ok")]
        for played in (before, after)
    ]
    assert said == [[2, 2], [13, 13]]
