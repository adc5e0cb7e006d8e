# SPDX-License-Identifier: Apache-2.0
"""Asks checks whether runs are needed, in processes that do nothing else."""

import asyncio

import msgspec

from ansible_operator.engine import rundir
from ansible_operator.engine.forking.frames import Kind
from ansible_operator.engine.forking.pool import Pool, ProcessDiedError
from ansible_operator.engine.interface import CheckRequest
from ansible_operator.errors import EngineError


async def ask(processes: Pool, check: CheckRequest) -> bool:
    """Ask a check whether a run would change nothing.

    Args:
        processes: those that are asked; nothing is ever played in them.
        check: the question.

    Raises:
        EngineError: there is no usable answer.
    """
    try:
        async with asyncio.timeout(check.timeout):
            answer = msgspec.json.decode(await processes.ask(Kind.CHECK, _question(check)))
    except TimeoutError:
        text = f"the check {check.function} did not answer in {check.timeout:g} s"
        raise EngineError(text) from None
    except ProcessDiedError as error:
        raise EngineError(f"the process of the check {check.function} {error}") from None
    if "failed" in answer:
        raise EngineError(answer["failed"])
    return bool(answer["up_to_date"])


def _question(check: CheckRequest) -> bytes:
    question = {
        "function": check.function,
        "object": check.object,
        "environment": rundir.kubeconfig_variables(check.kubeconfig),
    }
    return msgspec.json.encode(question)
