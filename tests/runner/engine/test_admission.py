# SPDX-License-Identifier: Apache-2.0
"""Admission functions in their processes: found, called, bounded, replaced."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from ansible_operator.engine.admission import AdmissionError, Answer, Call, Function, Phase
from ansible_operator.engine.admission.functions import FunctionPool
from ansible_operator.engine.forking.processes import ProcessTree
from ansible_operator.errors import EngineError

ROLE = Path(__file__).parents[2] / "runner/operator/admission/roles/sized"
SIZED, MOODY = (Function(name, "", ROLE) for name in ("sized", "moody"))
BOUNCER = Function("acme.tools.bouncer", "", ROLE)
SHORT = Function("bouncer", "acme.tools", ROLE)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pool(environment: None) -> AsyncIterator[FunctionPool]:
    """Two workers for all functions."""
    async with FunctionPool([SIZED, MOODY, BOUNCER, SHORT], size=2) as pool:
        yield pool


pytestmark = pytest.mark.asyncio(loop_scope="module")


def call(*functions: Function, phase: Phase = Phase.VALIDATE, old: Any = None, **spec: Any) -> Call:
    obj = {"apiVersion": "test/v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": spec}
    request = {"operation": "UPDATE" if old else "CREATE", "old": old}
    return Call(phase, functions, obj, request)


async def test_defaults_are_filled_in(pool: FunctionPool) -> None:
    said = await pool.call(call(SIZED, phase=Phase.DEFAULT, colour="red"), 5)
    assert said.object is not None
    assert said.object["spec"] == {"size": 3, "colour": "red"}
    assert said.errors == ()


async def test_mistakes_and_warnings_are_told(pool: FunctionPool) -> None:
    said = await pool.call(call(SIZED, MOODY, size=0, mood="echo", text="hm"), 5)
    assert said.errors == ({"field": "spec.size", "message": "must be positive"},)
    assert said.warnings == ("hm",)
    assert said.object is None
    smaller = await pool.call(call(SIZED, size=1, old={"spec": {"size": 2}}), 5)
    assert [error["reason"] for error in smaller.errors] == ["FieldValueForbidden"]
    assert smaller.warnings == ("spec.size: a single one is not redundant",)


@pytest.mark.parametrize("function", [BOUNCER, SHORT], ids=["qualified", "short"])
async def test_functions_of_collections(pool: FunctionPool, function: Function) -> None:
    """By qualified name, or by its short name for a role of the same collection."""
    said = await pool.call(call(function, guest="nobody"), 5)
    assert said.errors == ({"field": "spec.guest", "message": "nobody is not on the list"},)


async def test_values_are_data(pool: FunctionPool) -> None:
    text = "{{ lookup('pipe', 'id') }} {% raw %} ${HOME}"
    assert (await pool.call(call(MOODY, mood="echo", text=text), 5)).warnings == (text,)


@pytest.mark.parametrize(
    ("mood", "message"),
    [
        ("raise", r"admission function moody: raised ValueError: a bad mood \(.*sizes.py:\d+\)"),
        ("exit", "raised SystemExit: 3"),
        ("number", "returned int, not a mapping of errors, object, warnings"),
        ("unknown", "returned dict, not a mapping of errors, object, warnings"),
        ("error", "neither a text nor a mapping of field and message"),
        ("texts", "errors are str, not a list"),
    ],
)
async def test_functions_that_break_the_contract(
    pool: FunctionPool, mood: str, message: str
) -> None:
    with pytest.raises(AdmissionError, match=message) as failed:
        await pool.call(call(MOODY, mood=mood), 5)
    assert failed.value.reason == "exception"


@pytest.mark.parametrize(("mood", "message"), [("kind", "another kind"), ("set", "is not JSON")])
async def test_objects_that_cannot_be_stored(pool: FunctionPool, mood: str, message: str) -> None:
    with pytest.raises(AdmissionError, match=message):
        await pool.call(call(MOODY, phase=Phase.DEFAULT, mood=mood), 5)


@pytest.mark.parametrize("mood", ["sleep", "spin"])
async def test_slow_functions_are_ended(pool: FunctionPool, mood: str) -> None:
    """Their deadline holds, nothing of them stays, and the next one is answered at once."""
    begin = time.monotonic()
    slow = [pool.call(call(MOODY, mood=mood), 0.5) for _ in range(3)]
    ended = await asyncio.gather(*slow, return_exceptions=True)
    assert time.monotonic() - begin < 2
    assert {getattr(error, "reason", error) for error in ended} == {"timeout"}
    assert (await pool.call(call(SIZED, size=2), 5)) == Answer()
    async with asyncio.timeout(5):
        while len(await _workers(pool)) > 2:  # noqa: ASYNC110 - processes end without an event
            await asyncio.sleep(0.05)


async def test_a_function_that_ends_its_process(pool: FunctionPool) -> None:
    with pytest.raises(AdmissionError, match="exited with 7") as failed:
        await pool.call(call(MOODY, mood="die"), 5)
    assert failed.value.reason == "died"
    assert (await pool.call(call(SIZED, size=2), 5)) == Answer()


async def test_killed_processes_are_replaced_unnoticed(pool: FunctionPool) -> None:
    for process in await _workers(pool):
        os.kill(process.pid, signal.SIGKILL)
    assert (await pool.call(call(SIZED, size=2), 5)) == Answer()
    parent = (await pool._supervisor.template())._process.pid
    os.kill(parent, signal.SIGKILL)
    await asyncio.sleep(0.2)
    assert (await pool.call(call(SIZED, size=2), 10)) == Answer()
    assert (await pool._supervisor.template())._process.pid != parent


async def test_killed_processes_are_replaced_before_anybody_noticed(pool: FunctionPool) -> None:
    """All that are idle are dead, and nothing has told the pool so."""
    pids = [process.pid for process in await _workers(pool)]
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    assert (await pool.call(call(SIZED, size=2), 5)) == Answer()


@pytest.mark.parametrize(("kills", "reason"), [(1, ""), (2, ""), (3, "died")])
async def test_a_review_whose_process_is_killed_goes_to_another(
    pool: FunctionPool, tmp_path: Path, kills: int, reason: str
) -> None:
    """Within its deadline, and not for ever: it may be the review that kills them."""
    file = tmp_path / "pid"
    review = asyncio.create_task(pool.call(call(MOODY, mood="nap", file=str(file)), 20))
    for _ in range(kills):
        os.kill(await asyncio.to_thread(_wait_for_pid_in, file), signal.SIGKILL)
    await asyncio.wait([review])
    error = review.exception()
    assert getattr(error, "reason", "") == reason
    assert reason or review.result() == Answer()


async def test_many_at_once(pool: FunctionPool) -> None:
    answers = await asyncio.gather(*(pool.call(call(SIZED, size=n), 10) for n in range(200)))
    assert [bool(answer.errors) for answer in answers] == [True, *[False] * 199]
    tries = 0
    while len(await _workers(pool)) > 2:
        tries += 1
        assert tries < 50, "forks that are not needed do not end"


async def test_who_gives_up_leaves_nothing_running(pool: FunctionPool) -> None:
    asking = asyncio.create_task(pool.call(call(MOODY, mood="sleep"), 30))
    await asyncio.sleep(0.2)
    asking.cancel()
    await asyncio.wait([asking])
    assert asking.cancelled()
    assert (await pool.call(call(SIZED, size=2), 5)) == Answer()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nowhere", "there is no filter plugin nowhere: it is searched for in the collections of"),
        ("acme.tools.nowhere", "there is no filter plugin acme.tools.nowhere"),
        ("contextual", "the filter contextual needs the context of a template"),
    ],
)
async def test_functions_that_cannot_be_used(environment: None, name: str, message: str) -> None:
    pool = FunctionPool([Function(name, "", ROLE)], size=1)
    with pytest.raises(EngineError, match=message):
        await pool.start()
    await pool.stop()


async def _workers(pool: FunctionPool) -> list[Any]:
    """The live forks, once those that were given up are gone."""
    await asyncio.sleep(0.2)
    template = await pool._supervisor.template()
    return ProcessTree(template._process.pid).descendants()


def _wait_for_pid_in(file: Path) -> int:
    """The process that naps; the file is removed for the next one."""
    while not (file.exists() and file.read_text()):
        time.sleep(0.02)
    pid = int(file.read_text())
    file.unlink()
    return pid
