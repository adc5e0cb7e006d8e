# SPDX-License-Identifier: Apache-2.0
"""Play the roles of the collection in this process: their own tasks, filters and actions.

It understands what these roles use. A keyword that it does not know is an error of the harness, so
that none is left out in silence. An exception that no action of the collection raises on purpose
is a fault of the product: Ansible would report a traceback in the status.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Mapping
from functools import cache
from types import SimpleNamespace
from typing import Any

import yaml
from ansible.errors import AnsibleError
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.errors import (
    RenderingError,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.kubernetes.errors import (  # noqa: E501
    KubeError,
)
from ansible_collections.matrixorigin.matrixone.plugins.plugin_utils.kubernetes.action import failed

from faults import ROOT
from faults.simulation.objects import copied
from faults.simulation.templates import Data, Scope, evaluate, holds

Json = dict[str, Any]
_OURS = "matrixorigin.matrixone."
_BUILT_IN = "ansible.builtin."
_KNOWN = frozenset(
    {
        "name", "when", "vars", "register", "loop", "loop_control", "failed_when", "until",
        "retries", "delay", "block", "rescue", "no_log",
    }
)  # fmt: skip


class TaskFailed(Exception):
    """A task has failed; a rescue may follow."""

    def __init__(self, result: Json) -> None:
        super().__init__(str(result.get("msg")))
        self.result = result


class Crash(BaseException):
    """Code of the collection raised what it does not raise on purpose; no rescue hides that."""


class _EndRole(Exception):
    pass


class Player:
    """Plays one role for one resource.

    Args:
        session: what stands for the connection to the API server.

    Attributes:
        period: when the role asked to be played again; empty if it did not.
        metrics: that it has shown.
    """

    def __init__(self, session: Any) -> None:
        self._session = session
        self.period = ""
        self.metrics: list[Json] = []
        self._scope = Scope({})

    def play(self, role: str, variables: Mapping[str, Any]) -> None:
        """Play a role with extra variables, which are data.

        Raises:
            TaskFailed: the role has failed.
        """
        self._scope = Scope({name: Data(value) for name, value in variables.items()})
        self._role(role, "main.yml")

    def _role(self, name: str, file: str) -> None:
        role = name.removeprefix(_OURS)
        folder = ROOT / "roles" / role
        self._scope.defaults.update(_document(str(folder / "defaults" / "main.yml")) or {})
        if (folder / "vars" / "main.yml").exists():
            self._scope.role_vars.update(_document(str(folder / "vars" / "main.yml")) or {})
        self._scope.roles.append(role)
        try:
            self._file(role, file)
        except _EndRole:
            return
        finally:
            self._scope.roles.pop()

    def _file(self, role: str, file: str) -> None:
        for task in _document(str(ROOT / "roles" / role / "tasks" / file)) or []:
            self._task(task)

    def _task(self, task: Json) -> None:
        with_variables = "vars" in task
        if with_variables:
            self._scope.frames.append(task["vars"])
        try:
            if "loop" in task:
                self._loop(task)
            else:
                self._once(task)
        finally:
            if with_variables:
                self._scope.frames.pop()

    def _loop(self, task: Json) -> None:
        name = (task.get("loop_control") or {}).get("loop_var", "item")
        results = []
        for element in list(evaluate(task["loop"], self._scope)):
            self._scope.frames.append({name: Data(element)})
            try:
                results.append(self._once(task))
            finally:
                self._scope.frames.pop()
        if "register" in task:
            self._register(task, {"results": results, "changed": False})

    def _once(self, task: Json) -> Json:
        if "when" in task and not self._guarded(task, lambda: holds(task["when"], self._scope)):
            skipped = {"skipped": True, "changed": False}
            self._register(task, skipped)
            return skipped
        if "block" in task:
            self._block(task)
            return {}
        result = self._attempts(task)
        if "failed_when" in task:
            self._register(task, result)
            rule = task["failed_when"]
            result = {**result, "failed": bool(rule) and holds(rule, self._scope)}
        self._register(task, result)
        if result.get("failed"):
            raise TaskFailed(result)
        return result

    def _block(self, task: Json) -> None:
        try:
            for one in task["block"]:
                self._task(one)
        except TaskFailed as error:
            if "rescue" not in task:
                raise
            self._scope.facts["ansible_failed_result"] = Data(error.result)
            for one in task["rescue"]:
                self._task(one)

    def _attempts(self, task: Json) -> Json:
        result: Json = self._guarded(task, lambda: self._act(task))
        if "until" not in task:
            return result
        for _ in range(int(evaluate(task.get("retries", 3), self._scope))):
            self._register(task, result)
            if self._guarded(task, lambda: holds(task["until"], self._scope)):
                return result
            time.sleep(float(task.get("delay", 5)))
            result = self._guarded(task, lambda: self._act(task))
        return {**result, "failed": True, "msg": "it did not come true in time"}

    def _register(self, task: Json, result: Json) -> None:
        if "register" in task:
            self._scope.facts[task["register"]] = Data(result)

    def _guarded(self, task: Json, work: Callable[[], Any]) -> Any:
        try:
            return work()
        except (TaskFailed, _EndRole):
            raise
        except (AnsibleError, RenderingError) as error:
            return {"failed": True, "msg": str(error), "changed": False}
        except Exception as error:
            raise Crash(f"task {task.get('name')!r}: {type(error).__name__}: {error}") from error

    def _act(self, task: Json) -> Json:
        [module] = set(task) - _KNOWN
        arguments = task[module] or {}
        if module.startswith(_BUILT_IN):
            return self._built_in(module.removeprefix(_BUILT_IN), arguments)
        return self._ours(module.removeprefix(_OURS), evaluate(arguments, self._scope))

    def _built_in(self, module: str, arguments: Any) -> Json:
        if module == "meta":
            raise _EndRole
        given = evaluate(arguments, self._scope)
        if module == "set_fact":
            self._scope.facts.update({name: Data(value) for name, value in given.items()})
        elif module == "fail":
            raise TaskFailed({"failed": True, "msg": given["msg"], "changed": False})
        elif module in {"include_tasks", "import_tasks"}:
            self._file(self._scope.roles[-1], given if isinstance(given, str) else given["file"])
        elif module in {"include_role", "import_role"}:
            self._role(given["name"], given.get("tasks_from", "main.yml"))
        else:
            raise NotImplementedError(module)
        return {"changed": False}

    def _ours(self, name: str, arguments: Json) -> Json:
        if name == "metrics":
            self.metrics += copied(arguments["metrics"])
            return {"changed": False}
        if name == "requeue_after":
            self.period = str(arguments["time"])
            return {"changed": False, "period": self.period}
        action = _action(name)
        complete = _completed(action.SPEC, copied(arguments))
        try:
            result: Json = action.act(self._session, complete)
        except KubeError as error:
            return failed(error)
        return result


@cache
def _document(file: str) -> Any:
    with open(file, encoding="utf-8") as text:  # noqa: PTH123 - the key of the cache is a text
        return yaml.safe_load(text)


@cache
def _action(name: str) -> Any:
    module = importlib.import_module(
        f"ansible_collections.matrixorigin.matrixone.plugins.action.{name}"
    )
    action = object.__new__(module.ActionModule)
    action._task = SimpleNamespace(diff=False, check_mode=False, args={}, environment=None)
    action.say = lambda _message: None
    return action


def _completed(spec: Mapping[str, Any], given: Json) -> Json:
    """Return arguments with defaults and types, as Ansible's validation makes them.

    Raises:
        AnsibleError: one is missing, unknown or of another type.
    """
    unknown = set(given) - set(spec)
    if unknown:
        raise AnsibleError(f"unsupported arguments: {', '.join(sorted(unknown))}")
    complete: Json = {}
    for name, rule in spec.items():
        value = given.get(name, rule.get("default"))
        if value is None and rule.get("required"):
            raise AnsibleError(f"missing argument: {name}")
        complete[name] = value if value is None else _typed(name, rule, value)
    return complete


def _typed(name: str, rule: Mapping[str, Any], value: Any) -> Any:
    kind = rule.get("type", "str")
    if kind in {"int", "float"}:
        return (int if kind == "int" else float)(value)
    if kind == "str":
        return str(value)
    if kind in {"dict", "list"} and not isinstance(value, dict if kind == "dict" else list):
        raise AnsibleError(f"argument {name} is no {kind}")
    if kind == "dict" and "options" in rule:
        return _completed(rule["options"], value)
    if kind == "list" and "options" in rule:
        return [_completed(rule["options"], element) for element in value]
    return value
