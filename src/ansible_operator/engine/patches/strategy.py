# SPDX-License-Identifier: Apache-2.0
"""Tasks without a process each: the ``linear`` strategy for plays on one local host.

Stock Ansible forks a worker for every task, which sends the result through a pipe to a thread.
Here the task is executed in the process of the play, by the worker's own code, and its result
passes the same steps (serialized and back, so that nothing is shared with the variables). What
may need a process of its own takes the stock path: several hosts, become, asynchronous tasks,
other connections, delegation elsewhere, throttling, the debugger.
"""

import copy
import io
import os
import sys
import threading
from collections.abc import Callable
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

from ansible import constants, context
from ansible.errors import AnsibleError
from ansible.executor.task_queue_manager import FinalQueue
from ansible.plugins import loader as plugin_loader
from ansible.plugins.strategy import StrategyBase, StrategySentinel
from ansible.template import Templar

from ansible_operator.engine.patches import inventory_requests
from ansible_operator.engine.patches.copies import isolated
from ansible_operator.engine.patches.versions import (
    HAS_UNIFIED_RESULTS,
    strategy_module,
    task_context,
    worker_of,
)

_LOCAL = ("local", "ansible.builtin.local", "ansible.legacy.local")
_read_results = strategy_module().results_thread_main


def install() -> None:
    """Make ``linear`` execute tasks in the process of the play where that is safe."""
    linear = plugin_loader.strategy_loader.get("ansible.builtin.linear", class_only=True)
    stock = StrategyBase._queue_task

    def queue_for_worker(
        self: Any, host: Any, task: Any, task_vars: Any, play_context: Any
    ) -> None:
        self._results_thread.need()
        stock(self, host, task, task_vars, play_context)

    def queue_task(self: Any, host: Any, task: Any, task_vars: Any, play_context: Any) -> None:
        if is_simple(self, task, task_vars):
            _execute_here(self, host, task, task_vars, play_context)
        else:
            queue_for_worker(self, host, task, task_vars, play_context)

    # A strategy of a project may call the base class in its own way.
    StrategyBase._queue_task = queue_for_worker
    linear._queue_task = queue_task
    _ReaderThread.deferring = queue_task
    names = vars(strategy_module())
    names["threading"] = SimpleNamespace(**vars(threading) | {"Thread": _ReaderThread})
    inventory_requests.install()


def is_simple(strategy: Any, task: Any, task_vars: Any) -> bool:
    """Whether a task can be executed in the process of the play."""
    if len(strategy._hosts_cache_all) != 1 or strategy._step or strategy.debugger_active:
        return False
    if task.async_val or task.throttle or task.become or task.debugger:
        return False
    if task_vars.get("ansible_become") is not None or task.delegate_to:
        return _delegates_here(task) and task_vars.get("ansible_become") is None
    connection = task_vars.get("ansible_connection", task.connection)
    if isinstance(connection, str) and "{{" in connection:
        connection = Templar(loader=strategy._loader, variables=task_vars).template(connection)
    return connection in _LOCAL


def _delegates_here(task: Any) -> bool:
    return task.delegate_to in constants.LOCALHOST


class _InlineQueue(FinalQueue):
    """Hands what a worker sends over at once, in the same process."""

    def __init__(self, strategy: Any) -> None:
        self._strategy = strategy

    def put(self, obj: Any) -> None:
        """Do with the message what the results thread does with it."""
        message = ForkingPickler.loads(ForkingPickler.dumps(obj))
        _read_results(_OneMessage(self._strategy, message))


class _OneMessage:
    """A strategy whose queue holds one message and the end."""

    def __init__(self, strategy: Any, message: object) -> None:
        self._strategy = strategy
        self._messages = [StrategySentinel(), message]
        self._final_q = self

    def get(self) -> object:
        return self._messages.pop()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._strategy, name)


def _execute_here(strategy: Any, host: Any, task: Any, task_vars: Any, play_context: Any) -> None:
    strategy._queued_task_cache[(host.name, task._uuid)] = {
        "host": host,
        "task": task,
        "task_vars": task_vars,
        "play_context": play_context,
    }
    own_task = task.copy(exclude_parent=True, exclude_tasks=True)
    own_task._parent = task._parent
    worker = worker_of(
        {
            "_final_q": _InlineQueue(strategy),
            "_task_vars": isolated(task_vars),
            "_host": copy.copy(host),
            "_task": own_task,
            "_play_context": play_context.copy(),
            "_loader": strategy._loader,
            "_variable_manager": strategy._variable_manager,
            "_shared_loader_obj": _loaders(),
            "_cliargs": context.CLIARGS,
            "worker_id": 0,
            "_new_stdin": sys.stdin,
        }
    )
    strategy._tqm.send_callback("v2_runner_on_start", host, task)
    # The worker sends its result before the strategy waits for it.
    strategy._pending_results += 1
    _run_as_worker(worker)


def _run_as_worker(worker: Any) -> None:
    """Run the worker's code; what it changes in the process is taken back."""
    streams = sys.stdout, sys.stderr
    directory, environment = Path.cwd(), dict(os.environ)
    sys.stdout, sys.stderr = io.StringIO(), io.StringIO()
    try:
        with task_context(worker._task, worker._task_vars, worker._host.name) as scope:
            if HAS_UNIFIED_RESULTS:
                scope.inventory_rpc_client = inventory_requests.InventoryHere()
            worker._run()
    except SystemExit as error:
        raise AnsibleError(f"The task {worker._task.get_name()!r} ended its process.") from error
    finally:
        sys.stdout, sys.stderr = streams
        os.chdir(directory)
        if environment != os.environ:
            os.environ.clear()
            os.environ.update(environment)


def _loaders() -> Any:
    namespace = getattr(plugin_loader, "get_plugin_loader_namespace", None)
    return namespace() if namespace else plugin_loader


class _ReaderThread(threading.Thread):
    """The results thread of a strategy: it is started when a task needs it, not with the strategy.

    On a busy machine a thread that is started is waited for longer than a small play takes. Where
    tasks are not queued by the patched one, results may come from elsewhere: it starts at once.
    """

    deferring: ClassVar[Callable[..., None] | None] = None
    """The method that queues tasks of strategies which say themselves when the thread is needed."""

    def __init__(self, *, target: Callable[[Any], None], args: tuple[Any]) -> None:
        super().__init__(target=target, args=(inventory_requests.Results(args[0]),))
        self._is_deferred = type(args[0])._queue_task is type(self).deferring
        self._is_needed = False

    def start(self) -> None:
        """Start it, unless a task may say later that it is needed."""
        if not self._is_deferred:
            self.need()

    def need(self) -> None:
        """Start it, unless it runs."""
        if not self._is_needed:
            self._is_needed = True
            super().start()

    def join(self, timeout: float | None = None) -> None:
        """Wait for its end; read it here if the thread was not started.

        The plays of a playbook share a queue: what is left would end the thread of the next one.
        """
        if self._is_needed:
            super().join(timeout)
        else:
            self.run()
