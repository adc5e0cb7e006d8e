# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the actions about backups share: they work on the controller, without Kubernetes."""

from __future__ import annotations

import tempfile
import time
from abc import abstractmethod
from pathlib import Path
from typing import Any, ClassVar

from ...module_utils.api.errors import InvalidSpec
from ...module_utils.backup.errors import BackupError
from ...module_utils.backup.program.errors import TaskFailed, as_failure
from ...module_utils.backup.program.progress import Progress
from ...module_utils.backup.task import tasks
from ...module_utils.backup.task.tasks import Amount, Step
from ...module_utils.clients.objectstore.errors import StoreError
from ...module_utils.location.errors import InvalidLocation
from ...module_utils.ownership.errors import OwnershipError
from ..controller_action import ControllerAction

SETTINGS: dict[str, Any] = {
    "timeout": {"type": "int", "default": tasks.DEADLINE_SECONDS},
    "parallelism": {"type": "int", "default": tasks.PARALLELISM},
}
"""Options of those that read or write many files."""


class BackupAction(ControllerAction):
    """An action that carries out a task of the backup program in this process.

    Attributes:
        SPEC: its argument spec.
        RULES: further rules of it, such as ``required_if``.
    """

    SPEC: ClassVar[dict[str, Any]] = {}
    RULES: ClassVar[dict[str, Any]] = {}

    def run(self, tmp: None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Validate the arguments, act, and turn errors into a failed result."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        arguments = self.validated(self.SPEC, **self.RULES)
        try:
            with tempfile.TemporaryDirectory(prefix="matrixone-backup-") as folder:
                result.update(self.act(arguments, Path(folder)))
        except InvalidSpec as error:
            result.update(failed=True, msg=str(error), reason=tasks.Reason.INVALID_TASK.value)
        except (
            TaskFailed, StoreError, BackupError, InvalidLocation, OwnershipError,
        ) as error:  # fmt: skip
            result.update(_failed(as_failure(error)))
        return result

    @abstractmethod
    def act(self, arguments: dict[str, Any], folder: Path) -> dict[str, Any]:
        """Do what the action is for.

        Args:
            arguments: validated, as plain types.
            folder: for secrets; nobody else can read it, and it is deleted afterwards.

        Returns:
            The task's result; ``changed`` is always in it.

        Raises:
            InvalidSpec: an argument cannot be used.
            TaskFailed, StoreError: it could not be done.
        """

    def progress(self, seconds: int) -> Progress:
        """Return what counts, shows each step to whoever watches the play, and ends in time."""
        shown: list[Step] = []

        def show(step: Step, _done: Amount, total: Amount) -> None:
            if step not in shown[-1:]:
                shown.append(step)
                amount = f": {total.files} files, {total.bytes} bytes" if total.files else ""
                self.say(f"{step}{amount}")

        return Progress(show, time.monotonic() + seconds)


def _failed(failure: TaskFailed) -> dict[str, Any]:
    """Return the result of a task that an error has ended."""
    return {
        "failed": True,
        "msg": f"{failure.reason.value}: {failure}",
        "reason": failure.reason.value,
        "retryable": failure.retryable,
    }
