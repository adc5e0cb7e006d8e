# SPDX-License-Identifier: Apache-2.0
"""Hosts and groups that tasks add, without the server that ansible-core has for it from 2.21 on.

In stock Ansible a thread in the process of the play answers workers that want to add a host or a
group. Nothing ends that thread, so a process that has it could not serve another run. Here a worker
asks through the queue of its results, and is answered through its own queue; a task that is
executed in the process of the play asks nobody.
"""

import types
from multiprocessing.reduction import ForkingPickler
from typing import Any, NamedTuple

from ansible_operator.engine.patches.versions import HAS_UNIFIED_RESULTS


class _Request(NamedTuple):
    """What a worker asks for: a function of Ansible's, by its name, and its arguments."""

    worker_id: int
    function: str
    arguments: tuple[Any, ...]


class _Answer(NamedTuple):
    value: Any = None
    error: Exception | None = None


def install() -> None:
    """Keep plays from starting that server, and workers from calling it."""
    if not HAS_UNIFIED_RESULTS:
        return
    from ansible._internal._worker._inventory_rpc import InventoryRPC
    from ansible.executor import task_queue_manager

    absent = types.SimpleNamespace(shared_instance=lambda: None)
    vars(task_queue_manager)["_rpc_host"] = types.SimpleNamespace(LocalManager=absent)
    InventoryRPC.get_client = InventoryOfPlay


class InventoryHere:
    """Adds hosts and groups in the process of the play.

    A request to it would wait for the thread that executes the task.
    """

    def add_host(self, host_info: Any) -> Any:
        """Add a host; whether that changed anything."""
        return _call(_Request(0, "add_host", _passed((host_info,))))

    def add_group(self, host_name: str, group_info: Any) -> Any:
        """Put a host into a group; whether that changed anything."""
        return _call(_Request(0, "add_group", _passed((host_name, group_info))))


class InventoryOfPlay:
    """Has hosts and groups added by the process of the play, from the process of a worker."""

    def add_host(self, host_info: Any) -> Any:
        """Add a host; whether that changed anything."""
        return self._ask("add_host", host_info)

    def add_group(self, host_name: str, group_info: Any) -> Any:
        """Put a host into a group; whether that changed anything."""
        return self._ask("add_group", host_name, group_info)

    def _ask(self, function: str, *arguments: Any) -> Any:
        from ansible.executor.process.worker import current_worker

        current_worker._final_q.put(_Request(current_worker.worker_id, function, arguments))
        answer = current_worker.worker_queue._reader.recv()
        if answer.error is not None:
            raise answer.error
        return answer.value


class Results:
    """A strategy as its results thread sees it: requests in the queue are passed on to the play."""

    def __init__(self, strategy: Any) -> None:
        self._strategy = strategy
        self._final_q = self

    def get(self) -> Any:
        """The next message that is no request."""
        while isinstance(message := self._strategy._final_q.get(), _Request):
            self._strategy._rpc_queue.put(_Pending(self._strategy, message))
        return message

    def __getattr__(self, name: str) -> Any:
        return getattr(self._strategy, name)


class _Pending(NamedTuple):
    """A request that waits for the thread of the play, which calls ``dispatch``."""

    strategy: Any
    request: _Request

    def dispatch(self) -> None:
        """Answer the worker.

        A queue's own way to put would start a thread; its pipe has room for an answer.
        """
        try:
            answer = _Answer(value=_call(self.request))
        except Exception as error:  # noqa: BLE001 (the worker raises it)
            answer = _Answer(error=error)
        self.strategy._workers[self.request.worker_id].worker_queue._writer.send(answer)


def _call(request: _Request) -> Any:
    from ansible._internal._worker._inventory_rpc import InventoryRPC

    return getattr(InventoryRPC, request.function).__wrapped__(*request.arguments)


def _passed(value: Any) -> Any:
    """A value as a request hands it over: nothing is shared with the variables of the task."""
    return ForkingPickler.loads(ForkingPickler.dumps(value))
