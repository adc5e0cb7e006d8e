# SPDX-License-Identifier: Apache-2.0
"""Asks checks whether runs are needed, in processes that do nothing else."""

import asyncio

import msgspec

from ansible_operator.engine import rundir
from ansible_operator.engine.forking import frames as wire
from ansible_operator.engine.forking.pool import Worker, Workers
from ansible_operator.engine.interface import CheckRequest
from ansible_operator.errors import EngineError

_EXIT_DEADLINE = 0.5
"""Seconds in which it is known how a process ended."""


class Checks:
    """Asks one check after the other, as many at a time as there are callers.

    Args:
        workers: processes that are asked; nothing is ever played in them.
    """

    def __init__(self, workers: Workers) -> None:
        self._workers = workers

    async def ask(self, check: CheckRequest) -> bool:
        """Ask a check.

        Raises:
            EngineError: there is no usable answer.
        """
        worker = await self._workers.take()
        try:
            async with asyncio.timeout(check.timeout):
                said = await worker.ask(wire.Kind.CHECK, _question(check))
            answer = {} if said is None else msgspec.json.decode(said)
        except TimeoutError:
            await worker.end()
            text = f"the check {check.function} did not answer in {check.timeout:g} s"
            raise EngineError(text) from None
        except BaseException:
            await asyncio.shield(worker.end())
            raise
        if said is None:
            worker.close()
            if worker.has_waited:
                return await self.ask(check)
            how = await worker.fork.how_it_ended(_EXIT_DEADLINE)
            raise EngineError(f"the process of the check {check.function} {how}")
        self._keep(worker)
        if "failed" in answer:
            raise EngineError(answer["failed"])
        return bool(answer["settled"])

    def _keep(self, worker: Worker) -> None:
        if self._workers.keeps(worker):
            worker.runs += 1
            self._workers.give_back(worker)
        else:
            worker.close()

    async def close(self) -> None:
        """Dismiss all processes that wait."""
        await self._workers.close()


def _question(check: CheckRequest) -> bytes:
    question = {
        "function": check.function,
        "object": check.object,
        "environment": rundir.kubeconfig_variables(check.kubeconfig),
    }
    return msgspec.json.encode(question)
