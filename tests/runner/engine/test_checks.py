# SPDX-License-Identifier: Apache-2.0
"""Checks that say whether a run would change anything: asked, bounded, replaced."""

import asyncio
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from ansible_operator.engine import CheckRequest, make_engine
from ansible_operator.errors import EngineError
from tests.runner.engine.conftest import ROLES, Stage, is_running, until

pytestmark = pytest.mark.asyncio(loop_scope="session")
CALM = "acme.tools.calm"


def check(mood: str = "", timeout: float = 20.0, **spec: Any) -> CheckRequest:
    obj = {"apiVersion": "test/v1", "kind": "Thing", "spec": {"mood": mood, **spec}}
    return CheckRequest(CALM, obj, Path("/of/this/run"), timeout)


async def pid_of_check(warm: Stage) -> int:
    file = warm.folder / "pid"
    assert await warm.engine.is_up_to_date(check("pid", file=str(file)))
    return int(file.read_text())


async def test_an_engine_without_checks_finds_nothing_up_to_date(stage: Stage) -> None:
    assert await stage.engine.is_up_to_date(check()) is (True if stage.kind == "warm" else None)


@pytest.mark.parametrize(
    ("mood", "spec", "up_to_date"),
    [
        ("", {}, True),
        ("upset", {}, False),
        ("print", {}, True),
        ("kubeconfig", {"file": "/of/this/run"}, True),
        ("data", {"text": "{{ 1 + 1 }}"}, True),
    ],
)
async def test_answers(warm: Stage, mood: str, spec: dict[str, Any], up_to_date: bool) -> None:
    assert await warm.engine.is_up_to_date(check(mood, **spec)) is up_to_date


@pytest.mark.parametrize(
    ("mood", "message"),
    [
        ("raise", rf"the check {CALM} raised ValueError: a bad mood \(.*calm.py:\d+\)"),
        ("exit", "raised SystemExit: 3"),
        ("text", "returned str, not true or false"),
        ("die", f"the process of the check {CALM} exited with 7"),
    ],
)
async def test_no_answer(warm: Stage, mood: str, message: str) -> None:
    with pytest.raises(EngineError, match=message):
        await warm.engine.is_up_to_date(check(mood))
    assert await warm.engine.is_up_to_date(check())


@pytest.mark.parametrize("mood", ["sleep", "stubborn"])
async def test_slow_checks_are_ended(warm: Stage, mood: str) -> None:
    before = await pid_of_check(warm)
    begin = time.monotonic()
    with pytest.raises(EngineError, match=f"the check {CALM} did not answer in 0.5 s"):
        await warm.engine.is_up_to_date(check(mood, timeout=0.5))
    assert time.monotonic() - begin < 5
    await until(lambda: not is_running(before))
    assert await warm.engine.is_up_to_date(check())


async def test_who_stops_waiting_ends_the_check(warm: Stage) -> None:
    pid = await pid_of_check(warm)
    task = asyncio.create_task(warm.engine.is_up_to_date(check("sleep")))
    await asyncio.sleep(0.3)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until(lambda: not is_running(pid))


async def test_a_process_serves_many_checks_and_no_play(warm: Stage) -> None:
    pid = await pid_of_check(warm)
    assert await pid_of_check(warm) == pid
    played = await warm.play(warm.tasks("- ansible.builtin.debug: {msg: hi}"))
    assert played.events[0]["pid"] not in {pid, os.getpid()}
    assert await pid_of_check(warm) == pid != os.getpid()


async def test_a_killed_process_is_replaced_unnoticed(warm: Stage) -> None:
    pid = await pid_of_check(warm)
    os.kill(pid, signal.SIGKILL)
    assert await warm.engine.is_up_to_date(check())
    assert await pid_of_check(warm) != pid


async def test_more_checks_than_processes(warm: Stage) -> None:
    answers = [warm.engine.is_up_to_date(check("" if n % 2 else "upset")) for n in range(20)]
    assert await asyncio.gather(*answers) == [bool(n % 2) for n in range(20)]


async def test_an_unknown_name_is_told_at_the_start(environment: None) -> None:
    engine = make_engine("warm", preload=[ROLES / "greeter"], checks=["acme.tools.clam"])
    with pytest.raises(
        EngineError, match=r"cannot start: there is no test plugin acme\.tools\.clam"
    ):
        await engine.start()
    await engine.stop()
