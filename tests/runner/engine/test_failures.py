# SPDX-License-Identifier: Apache-2.0
"""Runs that cannot be played, are ended, or die."""

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
import structlog.testing

from ansible_operator import metrics
from ansible_operator.engine import RoleTarget, RunStatus, make_engine
from ansible_operator.engine.forking.processes import ProcessTree
from ansible_operator.errors import EngineError
from ansible_operator.loop.reconciling.play_result import PlayResult
from tests.runner.engine.conftest import Stage

pytestmark = pytest.mark.asyncio(loop_scope="session")


def sleepers(mark: str) -> list[int]:
    """Processes whose command line holds a mark."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if mark in (entry / "cmdline").read_text():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


async def until(holds: Callable[[], object], seconds: float) -> bool:
    """Whether something holds in time."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(0.05)
    return True


async def gone(mark: str) -> bool:
    """Whether no such process is left (a killed one needs a moment)."""
    return await until(lambda: not sleepers(mark), 3)


async def test_missing_role_is_told(stage: Stage) -> None:
    path = stage.write("- hosts: localhost\n  gather_facts: false\n  roles: [is_missing]\n")
    played = await stage.play(path)

    assert played.result.status is RunStatus.FAILED
    assert played.result.rc in (1, 4)
    assert "the role 'is_missing' was not found" in played.result.error.lower()
    assert "playbook_on_stats" not in played.names


@pytest.mark.parametrize(
    ("task", "told"),
    [
        ("include_tasks: nothere.yml", "nothere.yml"),
        ("include_role: {name: is_missing}", "is_missing"),
        ("include_vars: nothere.yml", "nothere.yml"),
        ("include: other.yml", "include"),
        ("no.such.module: {}", "no.such.module"),
        ("fail: {msg: hidden}\n  no_log: true", "hidden"),
    ],
)
async def test_what_a_task_lacks_is_told(stage: Stage, task: str, told: str) -> None:
    """In the status: by the message of the result, its reason, or the error of the run."""
    played = await stage.play(stage.tasks(f"- {task}"))

    found = PlayResult()
    for event in played.events:
        found.take(cast("Any", event))
    found.finish(played.result)
    assert len(found.failures) == 1
    assert told in found.failures[0]
    assert "unknown playbook failure" not in found.failures[0]


async def test_syntax_error_is_told(stage: Stage) -> None:
    path = stage.write("- hosts: localhost\n  tasks:\n    - debug: {msg: a\n")
    played = await stage.play(path)

    assert played.result.status is RunStatus.FAILED
    assert "YAML" in played.result.error
    assert "play.yml" in played.result.error


async def test_undefined_variable_at_parse_time_is_told(stage: Stage) -> None:
    path = stage.tasks("- ansible.builtin.import_tasks: '{{ nowhere }}.yml'")
    played = await stage.play(path)

    assert played.result.status is RunStatus.FAILED
    assert "nowhere" in played.result.error


async def test_unreadable_playbook_is_an_engine_error(stage: Stage) -> None:
    with pytest.raises(EngineError, match=r"missing\.yml|run directory"):
        await stage.play(stage.folder / "missing.yml")


async def test_timeout_ends_all_children(stage: Stage) -> None:
    mark = f"6{time.monotonic_ns() % 100_000_000}.25"
    path = stage.tasks(
        f"""
        - name: Detached
          ansible.builtin.shell: {{cmd: "setsid -f sleep {mark}"}}
        - name: Hang
          ansible.builtin.shell: {{cmd: "trap '' TERM; sleep {mark}; sleep {mark}"}}
        """
    )
    # The package needs seconds for two tasks on a busy machine.
    timeout = 4 if stage.kind == "warm" else 20
    started = time.monotonic()
    played = await stage.play(path, timeout=timeout)

    assert (played.result.status, played.result.rc) == (RunStatus.TIMEOUT, 254)
    assert f"timeout of {timeout} s" in played.result.error
    assert "TASK [Hang]" in played.result.stdout
    assert time.monotonic() - started < timeout + 8
    assert await gone(mark)
    assert (played.artifacts / "status").read_text() == "timeout"


async def test_cancelling_ends_all_children(stage: Stage) -> None:
    mark = f"7{time.monotonic_ns() % 100_000_000}.25"
    path = stage.tasks(f"- ansible.builtin.command: {{cmd: sleep {mark}}}")
    task = asyncio.create_task(stage.play(path, ident="canceled"))
    assert await until(lambda: sleepers(mark), 30)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert await gone(mark)
    status = stage.folder / "run/artifacts/canceled/status"
    assert status.read_text() == "canceled"


async def test_a_task_has_its_own_timeout(stage: Stage) -> None:
    mark = f"8{time.monotonic_ns() % 100_000_000}.25"
    path = stage.tasks(
        f"""
        - name: Slow
          ansible.builtin.command: {{cmd: sleep {mark}}}
          timeout: 1
          ignore_errors: true
        - name: After
          ansible.builtin.debug: {{msg: went on}}
        """
    )
    played = await stage.play(path)

    assert played.result.rc == 0
    # 2.18 words it differently from its successors.
    told = played.results()["Slow"]["msg"]
    assert "Timed out after 1 second" in told or "expected time frame (1)" in told
    assert played.results()["After"]["msg"] == "went on"
    if stage.kind == "warm":
        assert await gone(mark)
    for pid in sleepers(mark):
        # Ansible itself leaves the program of a task that timed out.
        os.kill(pid, signal.SIGKILL)


async def test_failing_event_handler_ends_the_run(stage: Stage) -> None:
    mark = f"9{time.monotonic_ns() % 100_000_000}.25"

    def fail(event: dict) -> None:
        if event["event"] == "runner_on_start":
            raise RuntimeError("the handler is broken")

    path = stage.tasks(f"- ansible.builtin.command: {{cmd: sleep {mark}}}")
    with pytest.raises(RuntimeError, match="handler is broken"):
        await stage.play(path, on_event=fail)
    # What was left alone would start the command a little later.
    await asyncio.sleep(2)
    assert not sleepers(mark)


async def test_action_that_exits_ends_the_play(warm: Stage) -> None:
    path = warm.tasks("- acme.tools.mess: {exit: true}")
    played = await warm.play(path)

    assert played.result.status is RunStatus.FAILED
    assert "ended its process" in played.result.error


async def test_dead_run_is_told(warm: Stage) -> None:
    pids: list[int] = []

    def kill(event: dict) -> None:
        if event["event"] == "runner_on_start":
            pids.append(event["pid"])
            asyncio.get_running_loop().call_later(1, os.kill, event["pid"], 9)

    mark = f"4{time.monotonic_ns() % 100_000_000}.25"
    path = warm.tasks(f"- ansible.builtin.command: {{cmd: sleep {mark}}}")
    played = await warm.play(path, on_event=kill)

    assert played.result.status is RunStatus.FAILED
    assert "SIGKILL" in played.result.error
    assert not ProcessTree(pids[0]).refresh()
    assert await gone(mark)


DEAF = """
import os, signal, time
from ansible.plugins.action import ActionBase

class ActionModule(ActionBase):
    def run(self, tmp=None, task_vars=None):
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        end = time.monotonic() + 30
        while time.monotonic() < end:
            time.sleep(1)
        return {}
"""
SLOW_TASKS = {
    "a program": "ansible.builtin.command: {cmd: sleep 30}",
    "an action in a worker": "{deaf: {}, throttle: 1}",
    "a module of a worker": "{ansible.builtin.wait_for: {timeout: 30}, throttle: 1}",
}


@pytest.mark.parametrize("task", SLOW_TASKS)
async def test_a_dead_run_is_told_at_once_whatever_its_task_does(warm: Stage, task: str) -> None:
    """The process of a task has the socket of the run, and may live on for as long as it works."""
    killed: list[float] = []

    def kill(pid: int) -> None:
        killed.append(time.monotonic())
        os.kill(pid, 9)

    def on_event(event: dict) -> None:
        if event["event"] == "runner_on_start":
            asyncio.get_running_loop().call_later(1, kill, event["pid"])

    warm.write(DEAF, "action_plugins/deaf.py")
    played = await warm.play(warm.tasks(f"- {SLOW_TASKS[task]}"), on_event=on_event)
    assert time.monotonic() - killed[0] < 10
    assert played.result.status is RunStatus.FAILED
    assert "SIGKILL" in played.result.error


async def test_template_that_dies_is_replaced(warm: Stage) -> None:
    path = warm.tasks("- name: Say\n  ansible.builtin.debug: {msg: a}")
    slow = warm.write(
        "- hosts: localhost\n  gather_facts: false\n  tasks: [{command: {cmd: sleep 1}}]\n",
        "slow.yml",
    )
    in_flight = asyncio.create_task(warm.play(slow, directory=warm.folder / "slow"))
    await asyncio.sleep(0.3)
    supervisor = warm.engine._supervisor
    template = await supervisor.template()
    os.kill(template._process.pid, 9)
    after = await warm.play(path)

    assert after.result.rc == 0
    assert (await in_flight).result.status in (RunStatus.SUCCESSFUL, RunStatus.FAILED)
    assert await supervisor.template() is not template


async def test_role_of_its_directory_name(stage: Stage) -> None:
    stage.write(
        "- name: Name\n  ansible.builtin.debug: {var: role_name}\n", "roles/plain/tasks/main.yml"
    )
    target = RoleTarget("plain", stage.folder / "roles/plain", gather_facts=False)
    played = await stage.play(target)

    assert played.results()["Name"]["role_name"] == "plain"


async def test_runs_end_with_a_killed_operator(warm: Stage) -> None:
    mark = f"5{time.monotonic_ns() % 100_000_000}.25"
    path = warm.tasks(f"- ansible.builtin.command: {{cmd: sleep {mark}}}")
    operator = warm.write(
        f"""
        import asyncio
        from pathlib import Path
        from ansible_operator.engine import PlaybookTarget, RunRequest, make_engine

        async def main():
            engine = make_engine("warm")
            await engine.start()
            target = PlaybookTarget(Path("{path}"))
            request = RunRequest(
                ident="1", directory=Path("{warm.folder}/run"), target=target
            )
            await engine.run(request, print)

        asyncio.run(main())
        """,
        "killed_operator.py",
    )
    temporary = warm.write("", "tmp/marker").parent
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(operator),
        stdout=asyncio.subprocess.DEVNULL,
        env=os.environ | {"TMPDIR": str(temporary)},
    )
    for _ in range(400):
        if sleepers(mark):
            break
        await asyncio.sleep(0.05)
    assert sleepers(mark)
    process.kill()
    await process.wait()

    assert await gone(mark)
    assert await gone(str(temporary))
    assert names_in(temporary) == ["marker"]


BACKWARDS = """
class FilterModule:
    def filters(self):
        return {"join": lambda words, between="": between.join(reversed(list(words)))}
"""


async def test_a_failed_self_test_has_all_runs_played_through_ansible_runner(
    warm: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here a filter of the project, not a patch, has Ansible say what it does not say otherwise."""
    warm.write(BACKWARDS, "filters/backwards.py")
    with monkeypatch.context() as patch, structlog.testing.capture_logs() as lines:
        patch.setenv("ANSIBLE_FILTER_PLUGINS", str(warm.folder / "filters"))
        engine = make_engine("warm")
        await engine.start()
        try:
            stage = Stage(engine, "warm", warm.folder)
            path = stage.tasks("- {name: Say, ansible.builtin.debug: {msg: '{{ word }}'}}")
            runs = [await stage.play(path, data={"word": word}) for word in "ab"]
            assert engine.fallback
        finally:
            await engine.stop()

    assert [played.results()["Say"]["msg"] for played in runs] == ["a", "b"]
    assert all((played.artifacts / "runner_output").exists() for played in runs)
    assert metrics.REGISTRY.get_sample_value("ansible_operator_warm_engine") == 0
    said = [line for line in lines if line["log_level"] == "error"]
    assert [line["event"] for line in said] == ["All runs are played through ansible-runner"]


SETTINGS = {
    "ANSIBLE_BECOME": "true",
    "ANSIBLE_BECOME_METHOD": "acme_is_missing",
    "ANSIBLE_NO_LOG": "true",
    "ANSIBLE_STRATEGY": "ansible.builtin.free",
    "ANSIBLE_RUN_TAGS": "acme",
    "ANSIBLE_GATHERING": "explicit",
    "ANSIBLE_ANY_ERRORS_FATAL": "true",
    "ANSIBLE_FORCE_HANDLERS": "true",
}


async def test_settings_of_a_project_do_not_fail_the_self_test(
    warm: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        for name, value in SETTINGS.items():
            patch.setenv(name, value)
        engine = make_engine("warm")
        await engine.start()
        await engine.stop()
    assert metrics.REGISTRY.get_sample_value("ansible_operator_warm_engine") == 1


@pytest.mark.parametrize("off", ["strategy", "modules", "all"])
async def test_plays_say_the_same_without_patches(
    warm: Stage, monkeypatch: pytest.MonkeyPatch, off: str
) -> None:
    names = (
        *("modules", "strategy", "role_files", "role_ends", "compiled_templates"),
        *("plugin_searches", "template_lookups", "field_copies"),
        *("loaded_plays", "read_back", "plain_data", "kubeconfigs", "discovery_cache"),
    )
    with monkeypatch.context() as patch:
        patch.setenv("ANSIBLE_OPERATOR_PATCHES_OFF", ",".join(names) if off == "all" else off)
        engine = make_engine("warm")
        await engine.start()
        try:
            stage = Stage(engine, "warm", warm.folder)
            played = await stage.play(
                stage.tasks(
                    """
                    - {name: Say, ansible.builtin.debug: {msg: "{{ word | upper }}"}}
                    - {name: Module, acme.tools.echo: {text: "{{ word }}"}}
                    - {name: Role, ansible.builtin.include_role: {name: acme.tools.greeter}}
                    """
                ),
                data={"word": "a"},
            )
        finally:
            await engine.stop()

    assert played.result.rc == 0, played.result.stdout
    assert not (played.artifacts / "runner_output").exists()
    assert played.results()["Say"]["msg"] == "A"
    assert played.results()["Module"]["text"] == "A"


CALLBACK = """
import os

from ansible.plugins.callback.default import CallbackModule as Default

DOCUMENTATION = '''
name: NAME
type: KIND
short_description: Writes down what it is told
description: A part of tests.
extends_documentation_fragment: [default_callback]
'''


class CallbackModule(Default):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "KIND"
    CALLBACK_NAME = "NAME"

    def __init__(self):
        super().__init__()
        self._tell("NAME made")

    def _tell(self, text):
        with open(os.environ["ACME_TOLD"], "a") as file:
            print(text, file=file)

    def v2_playbook_on_start(self, playbook):
        self._tell("NAME " + os.path.basename(playbook._file_name))

    def v2_runner_on_failed(self, result, ignore_errors=False):
        self._tell("NAME told of a failure")
"""


async def test_callbacks_of_a_project_are_told_of_its_plays_alone(
    warm: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = warm.folder / "told"
    for name, kind in (("acme_notes", "notification"), ("acme_prints", "stdout")):
        text = CALLBACK.replace("NAME", name).replace("KIND", kind)
        warm.write(text, f"callbacks/{name}.py")
    monkeypatch.setenv("ANSIBLE_CALLBACK_PLUGINS", str(warm.folder / "callbacks"))
    monkeypatch.setenv("ANSIBLE_STDOUT_CALLBACK", "acme_prints")
    monkeypatch.setenv("ACME_TOLD", str(told))
    engine = make_engine("warm")
    await engine.start()
    try:
        assert not told.exists()
        stage = Stage(engine, "warm", warm.folder)
        played = await stage.play(stage.tasks("- name: Say\n  ansible.builtin.debug: {msg: a}"))
    finally:
        await engine.stop()

    assert played.result.rc == 0
    names = ("acme_prints", "acme_notes")
    expected = [line for name in names for line in (f"{name} made", f"{name} play.yml")]
    assert sorted(told.read_text().splitlines()) == sorted(expected)
