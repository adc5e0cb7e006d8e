# SPDX-License-Identifier: Apache-2.0
"""The warm engine tells what ansible-runner tells: event by event, key by key."""

import re
from pathlib import Path
from typing import Any

import pytest

from ansible_operator.engine import Engine, make_engine
from tests.runner.engine.conftest import Played, Stage

pytestmark = pytest.mark.asyncio(loop_scope="session")

PLAY = """
- hosts: localhost
  gather_facts: false
  handlers:
    - name: Handle
      ansible.builtin.debug: {msg: handled}
  tasks:
    - name: Plain
      ansible.builtin.debug: {msg: "{{ word }}"}
    - name: Changes
      ansible.builtin.command: {cmd: echo hi}
      notify: Handle
    - name: Loops
      ansible.builtin.debug: {msg: "{{ item }}"}
      loop: [1, 2]
    - name: Skips
      ansible.builtin.debug:
      when: false
    - name: Ignores
      ansible.builtin.fail: {msg: no}
      ignore_errors: true
    - name: Hides
      ansible.builtin.debug: {msg: secret}
      no_log: true
    - name: Hides items
      ansible.builtin.debug: {msg: secret}
      no_log: true
      loop: [1]
    - name: Differs
      ansible.builtin.copy: {content: "{{ word }}", dest: "{{ playbook_dir }}/copied", mode: "0600"}
      diff: true
    - name: Copies a template
      ansible.builtin.template:
        src: "{{ playbook_dir }}/text.j2"
        dest: "{{ playbook_dir }}/templated"
        mode: "0600"
    - name: Warns
      acme.tools.echo: {text: a}
    - name: Includes
      ansible.builtin.include_role: {name: acme.tools.greeter}
    - name: Uses the crash
      acme.tools.crash:
      ignore_errors: true
    - block:
        - name: Fails
          ansible.builtin.command: {cmd: "false"}
      rescue:
        - name: Rescues
          ansible.builtin.debug: {msg: rescued}
    - name: Fails at last
      ansible.builtin.fail: {msg: the end}
"""
VOLATILE = {
    *("uuid", "pid", "created", "runner_ident", "parent_uuid", "task_uuid", "play_uuid"),
    *("playbook_uuid", "start", "end", "duration", "delta", "cwd", "scratch", "src", "md5sum"),
    *(
        "exception",
        "warm",
        "module_stderr",
        "_original_basename",
        "stdout",
        "start_line",
        "end_line",
        "counter",
    ),
}


def plain(value: Any) -> Any:
    """A value without what differs from run to run."""
    if isinstance(value, dict):
        return {k: "..." if k in VOLATILE else plain(v) for k, v in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


def text(played: Played) -> list[str]:
    """The lines of the output without colours (which keep some empty lines) and times."""
    output = re.sub(r"\x1b\[[0-9;]*m|\r", "", played.result.stdout)
    output = re.sub(r'"(delta|start|end)": "[^"]*"', "", output)
    # A traceback names the file that was executed.
    output = re.sub(r'"(module_stderr|exception)": "(?:[^"\\]|\\.)*"', "", output)
    output = re.sub(r"/\S*/ansible-(?:local|tmp)-\w+/\S+", "", output)
    return [line.rstrip() for line in output.splitlines() if line.strip()]


async def test_same_events_and_output(
    warm_engine: Engine, tmp_path_factory: pytest.TempPathFactory
) -> None:
    reference = make_engine("ansible-runner")
    await reference.start()
    folder = tmp_path_factory.mktemp("same")
    (folder / "play.yml").write_text(PLAY)
    (folder / "text.j2").write_text("{{ word }}\n")
    played = []
    for kind, engine in (("ansible-runner", reference), ("warm", warm_engine)):
        for name in ("copied", "templated"):
            (folder / name).unlink(missing_ok=True)
        stage = Stage(engine, kind, folder)
        played.append(await stage.play(Path(folder / "play.yml"), extra_vars={"word": "w"}))

    theirs, ours = played
    assert theirs.result.rc == ours.result.rc == 2
    assert theirs.names == ours.names
    for their, our in zip(theirs.events, ours.events, strict=True):
        assert plain(their) == plain(our)
    assert text(theirs) == text(ours)
    await reference.stop()
