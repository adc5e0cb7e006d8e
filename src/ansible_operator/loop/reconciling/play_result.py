# SPDX-License-Identifier: Apache-2.0
"""The result of a run, from its events."""

import datetime
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ansible_operator.engine.interface import JobEvent, RunResult, RunStatus
from ansible_operator.loop.reconciling.conditions import AnsibleResult, completion_time
from ansible_operator.watches import InvalidDuration, parse_duration

UNKNOWN_FAILURE = "unknown playbook failure"
LONGEST_MESSAGE = 16 * 1024
"""Characters of a message in a status; a whole play's output would not fit an object."""
_NO_MESSAGE = re.compile(r"(?:(?:Task|Action|Module) failed: )*Unknown error\.")
"""What ansible-core has from 2.21 on as the message of a failure that came without one."""


@dataclass(slots=True)
class PlayResult:
    """Collects a run's events; :meth:`finish` decides between success and failure.

    Attributes:
        requeue_after: seconds until the next run that the play requested; None if it did not.
        failures: messages of what failed in the end; empty for a success.
        result: the recap of ``localhost``.
        recap: text of the play recap.
        started: when the run began; None if that was not measured.
        seconds: how long it took.
        failed_task: name of the task that failed last, and was not rescued; empty if none did.
    """

    requeue_after: float | None = None
    failures: list[str] = field(default_factory=list)
    result: AnsibleResult = field(default_factory=AnsibleResult)
    recap: str = ""
    started: datetime.datetime | None = None
    seconds: float = 0.0
    failed_task: str = ""
    _messages: dict[str, list[str]] = field(default_factory=dict)
    _unreachable: dict[str, str] = field(default_factory=dict)
    _last_failed: str = ""
    _stats: JobEvent | None = None

    def take(self, event: JobEvent) -> None:
        """Process one event, in the order of the run."""
        kind, data = event.get("event"), event.get("event_data") or {}
        result = data.get("res") or {}
        if kind == "runner_on_failed" and not data.get("ignore_errors"):
            self._messages.setdefault(data.get("host", ""), []).append(_message(result))
            self._last_failed = str(data.get("task") or "")
        elif kind == "runner_on_unreachable":
            self._unreachable[data.get("host", "")] = _message(result)
            self._last_failed = str(data.get("task") or "")
        elif kind == "runner_on_ok" and _short_name(data) == "requeue_after":
            self._take_period(result)
        elif kind == "playbook_on_stats":
            self._stats = event
            self.recap = str(event.get("stdout") or "")

    def _take_period(self, result: Mapping[str, Any]) -> None:
        if "period" not in result:
            return
        try:
            self.requeue_after = parse_duration(str(result["period"]))
        except InvalidDuration as error:
            self._messages.setdefault("", []).append(f"requeue_after: {error}")

    def finish(self, run: RunResult) -> None:
        """Decide between success and failure once the run has ended."""
        if self._stats is None:
            self.failures = [_without_stats(run)]
            return
        data = self._stats.get("event_data") or {}
        self.result = AnsibleResult(
            ok=_count(data, "ok"),
            changed=_count(data, "changed"),
            skipped=_count(data, "skipped"),
            failures=_count(data, "failures"),
            completion=completion_time(str(self._stats.get("created") or "")),
        )
        self.failures = [_shortened(text) for text in self._final_failures(data)]
        self.failed_task = self._last_failed if self.failures else ""
        if run.status in {RunStatus.TIMEOUT, RunStatus.CANCELED}:
            self.failures.append(_without_stats(run))

    def _final_failures(self, data: Mapping[str, Any]) -> list[str]:
        """Messages of failures that no ``rescue`` has caught.

        The recap counts those per host; of a host's failed tasks the last ones are theirs,
        because a play continues only after a rescued one.
        """
        found = list(self._messages.get("", []))
        for host, count in (data.get("failures") or {}).items():
            messages = self._messages.get(host, [])[-count:] if count else []
            found += messages or [UNKNOWN_FAILURE] * bool(count)
        for host, count in (data.get("dark") or {}).items():
            if count:
                found.append(self._unreachable.get(host, f"{host} is unreachable"))
        return found


def _count(data: Mapping[str, Any], name: str) -> int:
    return int((data.get(name) or {}).get("localhost", 0))


def _short_name(data: Mapping[str, Any]) -> str:
    return str(data.get("task_action") or "").rpartition(".")[2]


def _message(result: Mapping[str, Any]) -> str:
    """The text of a failure; of what is missing, ``reason`` or ``message`` of the result tells.

    A result with ``no_log`` has nothing but ``censored``, which says so.
    """
    found = [result.get(key) for key in ("msg", "reason", "message", "censored")]
    texts = [text for text in found if isinstance(text, str)]
    telling = (text for text in texts if not _NO_MESSAGE.fullmatch(text))
    return next(telling, texts[0] if texts else UNKNOWN_FAILURE)


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST_MESSAGE else f"{text[:LONGEST_MESSAGE]}..."


def _without_stats(run: RunResult) -> str:
    if run.error:
        return _shortened(run.error)
    if run.status is RunStatus.TIMEOUT:
        return "the run was ended at its time limit"
    if run.status is RunStatus.CANCELED:
        return "the run was canceled"
    lines = run.stdout.strip().splitlines()[-10:]
    tail = "\n".join(lines)
    return _shortened(f"the play ended with code {run.rc} before its recap: {tail}".rstrip(": "))
