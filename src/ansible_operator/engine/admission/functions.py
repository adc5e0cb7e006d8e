# SPDX-License-Identifier: Apache-2.0
"""Calls admission functions in processes that have them loaded."""

import asyncio
import json
from collections.abc import Iterable
from typing import Any, Self

import msgspec

from ansible_operator.engine.admission.interface import AdmissionError, Answer, Call, Function
from ansible_operator.engine.forking.frames import Kind
from ansible_operator.engine.forking.pool import Pool, ProcessDiedError
from ansible_operator.engine.forking.supervisor import Supervisor
from ansible_operator.engine.forking.template_process import Program
from ansible_operator.errors import EngineError

_ATTEMPTS = 2
"""A process that dies may have been killed by others: the question goes to another one."""
_NAME = "the process of the admission functions"


class FunctionPool:
    """Calls the functions of all watches.

    Args:
        functions: all that may be called.
        size: processes, that is calls at the same time; further ones wait.
    """

    def __init__(self, functions: Iterable[Function], *, size: int) -> None:
        arguments = [_argument(function) for function in functions]
        self._supervisor = Supervisor(
            Program("ansible_operator.engine.admission.process", arguments, _NAME)
        )
        self._slots = asyncio.Semaphore(size)
        self._processes = Pool(self._supervisor, uses=None, ready=size)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Load the functions and fork the processes.

        Raises:
            EngineError: a function cannot be found or loaded.
        """
        await self._supervisor.start()
        await self._processes.fill()

    async def stop(self) -> None:
        """End all processes; bounded."""
        await self._processes.close()
        await self._supervisor.stop()

    async def call(self, call: Call, deadline: float) -> Answer:
        """Ask the functions.

        Args:
            call: the question.
            deadline: seconds in which there must be an answer.

        Raises:
            AdmissionError: there is none that can be used.
        """
        names = ", ".join(function.name for function in call.functions)
        try:
            async with asyncio.timeout(deadline), self._slots:
                body = await self._processes.ask(Kind.JOB, _question(call), attempts=_ATTEMPTS)
        except TimeoutError:
            text = f"admission functions {names} did not answer in {deadline:.1f} s"
            raise AdmissionError(text, "timeout") from None
        except ProcessDiedError as error:
            text = f"the process of admission functions {names} {error}"
            raise AdmissionError(text, "died") from None
        except EngineError as error:
            raise AdmissionError(str(error), "unavailable") from error
        try:
            answer: dict[str, Any] = msgspec.json.decode(body)
        except (ValueError, RecursionError) as error:
            text = f"the answer of admission functions {names} cannot be read: {error}"
            raise AdmissionError(text, "exception") from error
        if "failed" in answer:
            raise AdmissionError(answer["failed"], "exception")
        return Answer(answer["object"], tuple(answer["errors"]), tuple(answer["warnings"]))


def _question(call: Call) -> bytes:
    return msgspec.json.encode(
        {
            "phase": call.phase,
            "functions": [function.key for function in call.functions],
            "object": call.object,
            "request": call.request,
        }
    )


def _argument(function: Function) -> str:
    """How a function is named on the command line of its process."""
    qualified = f"{function.collection}.{function.name}"
    is_short = bool(function.collection) and "." not in function.name
    names = [qualified, function.name] if is_short else [function.name]
    folder = str(function.folder)
    return json.dumps({"key": function.key, "names": names, "folder": folder})
