# SPDX-License-Identifier: Apache-2.0
"""Objects that say what a folder is being used for, so that a killed task can go on.

They are written before the first byte, and name the task: the same task goes on, every other one
is refused.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from ...module_utils.backup.tasks import Reason
from ...module_utils.clients.objectstore import interface
from ...module_utils.clients.objectstore.errors import Absent
from ...module_utils.clients.objectstore.interface import ObjectStore
from .errors import TaskFailed

ATTEMPT: Final = "matrixone-backup.attempt.json"
"""In the folder of a backup that is being made."""
RESTORE: Final = "matrixone-restore.json"
"""In a shared storage that a backup is or was copied to; it stays."""
_LARGEST: Final = 4096


class State(StrEnum):
    """How far the task that wrote a marker is."""

    RUNNING = "Running"
    DONE = "Done"


@dataclass(frozen=True, slots=True)
class Marker:
    """What a marker says.

    Attributes:
        task: id of the task.
        state: how far it is.
        backup: id of the backup that is restored; empty in a backup.
    """

    task: str
    state: State
    backup: str = ""


def write(store: ObjectStore, key: str, marker: Marker) -> None:
    """Write a marker, over an older one."""
    text = json.dumps({"task": marker.task, "state": marker.state, "backup": marker.backup})
    store.write(key, [text.encode()], len(text.encode()))


def read(store: ObjectStore, key: str) -> Marker | None:
    """Return a marker; None when there is none.

    Raises:
        TaskFailed: TargetNotEmpty: an object of that name is none of ours.
    """
    try:
        document = json.loads(interface.read_small(store, key, _LARGEST))
        return Marker(
            str(document["task"]), State(document["state"]), str(document.get("backup", ""))
        )
    except Absent:
        return None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise TaskFailed(
            Reason.TARGET_NOT_EMPTY, f"{key} in {store.name} is not what this program writes"
        ) from error
