# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What all actions of this collection share: arguments, a session, errors that read well."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ...module_utils.api.plain import plain
from ...module_utils.clients.kubernetes.connection import OPTIONS, resolve_options
from ...module_utils.clients.kubernetes.errors import ApiError, KubeError
from ...module_utils.clients.kubernetes.session import Session, open_session


def failed(error: KubeError) -> dict[str, Any]:
    """Return the result of a task that an error has ended."""
    result = {"failed": True, "msg": str(error)}
    if isinstance(error, ApiError):
        result.update(status=error.status, reason=error.reason, fields=error.fields)
    return result


class KubeAction(ActionBase):
    """An action that runs on the controller and talks to an API server.

    Attributes:
        SPEC: argument spec of the action; the connection options are added to it.
    """

    TRANSFERS_FILES = False
    _requires_connection = False
    _supports_async = False
    SPEC: ClassVar[dict[str, Any]] = {}

    def run(self, tmp: None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Validate the arguments, act, and turn errors into a failed result."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        arguments = self._arguments()
        try:
            session = open_session(resolve_options(arguments, self._environment()))
            result.update(self.act(session, arguments))
        except KubeError as error:
            result.update(failed(error))
        return result

    def _arguments(self) -> dict[str, Any]:
        """Return the validated arguments as plain types.

        They are converted first: the validation copies them, and a copy of what Ansible has
        tagged costs ten times as much.
        """
        given = self._task.args
        self._task.args = plain(given)
        try:
            spec = {**OPTIONS, **self.SPEC}
            _validation, arguments = self.validate_argument_spec(argument_spec=spec)
        finally:
            self._task.args = given
        validated: dict[str, Any] = plain(arguments)
        return validated

    @abstractmethod
    def act(self, session: Session, arguments: dict[str, Any]) -> dict[str, Any]:
        """Do what the action is for.

        Args:
            session: connected to the API server.
            arguments: validated, as plain types.

        Returns:
            The task's result; ``changed`` is always in it.

        Raises:
            KubeError: it could not be done.
        """

    @property
    def dry_run(self) -> bool:
        """Whether nothing may be changed."""
        return bool(self._task.check_mode)

    def say(self, message: str) -> None:
        """Show progress to whoever watches the play."""
        Display().display(f"  {message}")

    def _environment(self) -> dict[str, str]:
        """Return the process environment with the task's ``environment:`` on top."""
        environment = dict(os.environ)
        for entry in self._task.environment or ():
            extra = self._templar.template(entry)
            if isinstance(extra, Mapping):
                environment.update({str(name): str(value) for name, value in extra.items()})
        return environment
