# SPDX-License-Identifier: Apache-2.0
"""What the status of a BackupJob or RestoreJob shows of its task's result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...api import quantities
from .state import TaskState
from .tasks import Amount, Result


def facts_of(task_state: TaskState, base: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the fields ``step``, ``progress``, ``size``, ``id``, ``atTime`` and ``base``.

    Args:
        task_state: how the task stands.
        base: of an incremental backup, its ``name`` and ``id``.
    """
    found: dict[str, Any] = {"base": dict(base)} if base else {}
    result = task_state.result
    if result is None:
        return found
    if result.step:
        found["step"] = result.step.value
    found["progress"] = _progress(result)
    if result.manifest is not None:
        found["size"] = quantities.canonical(result.manifest.size)
        found["atTime"] = result.manifest.started_at
        found["id"] = result.manifest.id
    return found


def _progress(result: Result) -> dict[str, str]:
    done, total = result.done, result.total
    known = total != Amount()
    files = f"{done.files}/{total.files}" if known else str(done.files)
    size = quantities.canonical(done.bytes)
    return {
        "files": files,
        "bytes": f"{size}/{quantities.canonical(total.bytes)}" if known else size,
    }
