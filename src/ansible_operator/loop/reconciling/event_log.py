# SPDX-License-Identifier: Apache-2.0
"""Prints the progress of a play."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ansible_operator.engine.interface import JobEvent
from ansible_operator.logs import get_logger
from ansible_operator.loop.settings import EventLogLevel

_LOG = get_logger("logging_event_handler")
_QUIET_ACTIONS = frozenset({"debug", "set_fact"})
_TITLE = f"\n{'-' * 27} Ansible Task StdOut {'-' * 31}\n"
_RULE = "-" * 79


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


@dataclass(frozen=True, slots=True, kw_only=True)
class EventLog:
    """The log of one run.

    Attributes:
        raw: print the output of tasks as it is instead of log lines.
        write: where blocks of play output go, standard output by default.
    """

    level: EventLogLevel
    name: str
    namespace: str
    gvk: str
    job: str
    raw: bool = False
    write: Callable[[str], None] = field(default=_print)

    def take(self, event: JobEvent) -> None:
        """Log one event."""
        if self.level is EventLogLevel.NOTHING:
            return
        if self.level is EventLogLevel.EVERYTHING:
            self._everything(event)
            return
        data: Mapping[str, Any] = event.get("event_data") or {}
        if self.raw:
            if data.get("task") and event.get("stdout"):
                self.write(str(event["stdout"]))
            return
        self._task(event, data)

    def _everything(self, event: JobEvent) -> None:
        _LOG.info("", **self._keys(event), EventData=event.get("event_data"))
        self._block(event)

    def _task(self, event: JobEvent, data: Mapping[str, Any]) -> None:
        kind = event.get("event")
        action = str(data.get("task_action") or "").rpartition(".")[2]
        keys = self._keys(event)
        if kind == "playbook_on_task_start" and action not in _QUIET_ACTIONS:
            _LOG.info("[playbook task start]", **keys, **{"EventData.Name": data.get("name")})
            self._block(event)
        elif kind == "runner_on_ok" and action == "debug":
            arguments = {"EventData.TaskArgs": data.get("task_args")}
            _LOG.info("[playbook debug]", **keys, **arguments)
            self._block(event)
        elif kind == "runner_item_on_ok":
            self._block(event)
        elif kind == "runner_on_failed":
            failed = {
                "EventData.Task": data.get("task"),
                "EventData.TaskArgs": data.get("task_args"),
            }
            if data.get("task_path"):
                failed["EventData.FailedTaskPath"] = data["task_path"]
            _LOG.error("[playbook task failed]", **keys, **failed)
            self._block(event)

    def _keys(self, event: JobEvent) -> dict[str, Any]:
        return {
            "name": self.name,
            "namespace": self.namespace,
            "gvk": self.gvk,
            "event_type": event.get("event"),
            "job": self.job,
        }

    def _block(self, event: JobEvent) -> None:
        text = str(event.get("stdout") or "").strip()
        if not text:
            return
        task = (event.get("event_data") or {}).get("task", "")
        head = (
            ""
            if event.get("event") == "playbook_on_task_start"
            else f" TASK [{task}] {'*' * 32} \n"
        )
        self.write(f"{_TITLE}{head}{text}\n{_RULE}")

    def recap(self, text: str) -> None:
        """The recap after a run."""
        if self.level is not EventLogLevel.NOTHING and text:
            self._framed("Ansible Task Status Event StdOut", text)

    def debug(self, text: str) -> None:
        """The complete output of a run, for ``ANSIBLE_DEBUG_LOGS``."""
        self._framed("Ansible Debug Result", text)

    def _framed(self, title: str, text: str) -> None:
        head = f"{title} ({self.gvk}, {self.name}/{self.namespace})"
        self.write(f"----- {head:>70} -----\n\n{text.strip()}\n\n----------")
