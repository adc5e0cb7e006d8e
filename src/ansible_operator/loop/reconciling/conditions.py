# SPDX-License-Identifier: Apache-2.0
"""The conditions that the runner writes to an object, as pure functions.

Every function takes the conditions as they are and returns new ones; foreign conditions keep
their place and all their fields. Times change as in appendix B.
"""

import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

Condition: TypeAlias = dict[str, Any]
"""``type, status, lastTransitionTime, reason, message`` and perhaps ``ansibleResult``."""

RUNNING, SUCCESSFUL, FAILURE = "Running", "Successful", "Failure"
REASON_RUNNING, REASON_SUCCESSFUL, REASON_FAILED = "Running", "Successful", "Failed"
MESSAGE_RUNNING = "Running reconciliation"
MESSAGE_AWAITING = "Awaiting next reconciliation"
MESSAGE_SUCCESSFUL = "Last reconciliation succeeded"


@dataclass(frozen=True, slots=True)
class AnsibleResult:
    """The recap of ``localhost``.

    Attributes:
        completion: creation time of the recap, as in :func:`completion_time`.
    """

    ok: int = 0
    changed: int = 0
    skipped: int = 0
    failures: int = 0
    completion: str = ""

    def to_json(self) -> dict[str, Any]:
        """The value of ``ansibleResult``."""
        return {
            "ok": self.ok,
            "changed": self.changed,
            "skipped": self.skipped,
            "failures": self.failures,
            "completion": self.completion,
        }


def completion_time(created: str) -> str:
    """An event's time with at most eight digits of fraction, none of them a trailing zero."""
    moment = created.partition("+")[0].removesuffix("Z")
    seconds, _, fraction = moment.partition(".")
    fraction = fraction[:8].rstrip("0")
    return f"{seconds}.{fraction}+00:00" if fraction else f"{seconds}+00:00"


def current(status: Any) -> list[Condition]:
    """The usable conditions of a ``status``; missing types and statuses are filled in."""
    entries = status.get("conditions") if isinstance(status, dict) else None
    return [
        {"type": RUNNING, "status": "True", **entry}
        for entry in (entries if isinstance(entries, list) else ())
        if isinstance(entry, dict) and isinstance(entry.get("type", ""), str)
    ]


def _find(conditions: Sequence[Condition], kind: str) -> Condition | None:
    return next((item for item in conditions if item["type"] == kind), None)


def _set(conditions: Sequence[Condition], new: Condition) -> list[Condition]:
    """Replace the condition of the same type, moving it to the end."""
    old = _find(conditions, new["type"])
    if old is not None:
        same = old["status"] == new["status"] and old.get("reason", "") == new["reason"]
        if same and new["type"] != FAILURE:
            return list(conditions)
        if old["status"] == new["status"] and old.get("lastTransitionTime"):
            new = {**new, "lastTransitionTime": old["lastTransitionTime"]}
    return [*(item for item in conditions if item["type"] != new["type"]), new]


@dataclass(frozen=True, slots=True)
class Transitions:
    """The four steps of a run, at the time that the clock gives."""

    clock: Callable[[], datetime.datetime] = lambda: datetime.datetime.now(datetime.UTC)

    def _new(self, kind: str, status: str, reason: str, message: str) -> Condition:
        moment = self.clock().strftime("%Y-%m-%dT%H:%M:%SZ")
        return {
            "type": kind,
            "status": status,
            "lastTransitionTime": moment,
            "reason": reason,
            "message": message,
        }

    @staticmethod
    def _lower(conditions: Sequence[Condition], kind: str) -> list[Condition]:
        """Set the status of an existing condition to False and leave its time alone."""
        old = _find(conditions, kind)
        if old is None:
            return list(conditions)
        return _set(conditions, {"reason": "", **old, "status": "False"})

    def running(self, conditions: Sequence[Condition]) -> list[Condition]:
        """A run begins."""
        lowered = self._lower(conditions, SUCCESSFUL)
        return _set(lowered, self._new(RUNNING, "True", REASON_RUNNING, MESSAGE_RUNNING))

    def succeeded(self, conditions: Sequence[Condition], result: AnsibleResult) -> list[Condition]:
        """A run has succeeded."""
        running = self._new(RUNNING, "True", REASON_SUCCESSFUL, MESSAGE_AWAITING)
        after = _set(conditions, {**running, "ansibleResult": result.to_json()})
        good = self._new(SUCCESSFUL, "True", REASON_SUCCESSFUL, MESSAGE_SUCCESSFUL)
        return _set(_set(after, good), self._new(FAILURE, "False", "", ""))

    def failed(
        self, conditions: Sequence[Condition], message: str, result: AnsibleResult
    ) -> list[Condition]:
        """A run has failed."""
        failure = self._new(FAILURE, "True", REASON_FAILED, message)
        after = self._lower(conditions, RUNNING)
        after = _set(after, {**failure, "ansibleResult": result.to_json()})
        return _set(after, self._new(SUCCESSFUL, "False", "", ""))

    def errored(self, conditions: Sequence[Condition], message: str) -> list[Condition]:
        """No run could be done."""
        after = self._lower(self._lower(conditions, RUNNING), SUCCESSFUL)
        return _set(after, self._new(FAILURE, "True", REASON_FAILED, message))
