# SPDX-License-Identifier: Apache-2.0
"""Asks checks whether runs are needed, in processes that do nothing else."""

import asyncio
from typing import Any

import msgspec

from ansible_operator.engine import rundir
from ansible_operator.engine.interface import CheckRequest
from ansible_operator.engine.processes import end_tree
from ansible_operator.engine.warm import wire
from ansible_operator.engine.warm.workers import Worker, Workers
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
                said = await _answer(worker, check)
        except TimeoutError:
            await _end(worker)
            text = f"the check {check.function} did not answer in {check.timeout:g} s"
            raise EngineError(text) from None
        except BaseException:
            await asyncio.shield(_end(worker))
            raise
        if said is None:
            worker.close()
            if worker.has_waited:
                return await self.ask(check)
            how = await worker.fork.how_it_ended(_EXIT_DEADLINE)
            raise EngineError(f"the process of the check {check.function} {how}")
        self._keep(worker)
        if "failed" in said:
            raise EngineError(said["failed"])
        return bool(said["settled"])

    def _keep(self, worker: Worker) -> None:
        if self._workers.keeps(worker):
            worker.runs += 1
            self._workers.give_back(worker)
        else:
            worker.close()

    async def close(self) -> None:
        """Dismiss all processes that wait."""
        await self._workers.close()


async def _answer(worker: Worker, check: CheckRequest) -> dict[str, Any] | None:
    """What a process says; None when it has ended."""
    question = {
        "function": check.function,
        "object": check.object,
        "environment": rundir.kubeconfig_variables(check.kubeconfig),
    }
    try:
        worker.writer.write(wire.frame(wire.Kind.CHECK, msgspec.json.encode(question)))
        _, length = wire.HEADER.unpack(await worker.reader.readexactly(wire.HEADER.size))
        said: dict[str, Any] = msgspec.json.decode(await worker.reader.readexactly(length))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    return said


async def _end(worker: Worker) -> None:
    await end_tree(worker.fork.tree, grace=0)
    worker.close()
