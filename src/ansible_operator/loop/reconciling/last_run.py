# SPDX-License-Identifier: Apache-2.0
"""``status.lastRun``: how the last run of an object went, in fields that kubectl can show."""

from typing import Any

from ansible_operator.loop.reconciling.play_result import PlayResult
from ansible_operator.watches import format_duration

SUCCEEDED, FAILED = "Succeeded", "Failed"


def last_run(outcome: PlayResult) -> dict[str, Any]:
    """The value of ``status.lastRun``, for a merge patch: what is None is removed."""
    started = outcome.started
    return {
        "result": FAILED if outcome.failures else SUCCEEDED,
        "startTime": started.strftime("%Y-%m-%dT%H:%M:%SZ") if started else None,
        "duration": format_duration(round(outcome.seconds, 3)),
        "changed": outcome.result.changed,
        "failedTask": outcome.failed_task or None,
    }
