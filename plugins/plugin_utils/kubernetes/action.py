# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What all actions of this collection share: arguments, a session, errors that read well."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from ...module_utils.clients.kubernetes.connection import OPTIONS, resolve_options
from ...module_utils.clients.kubernetes.errors import ApiError, KubeError, Outdated
from ...module_utils.clients.kubernetes.session import Session, open_session
from ..controller_action import ControllerAction


def failed(error: KubeError) -> dict[str, Any]:
    """Return the result of a task that an error has ended.

    It is ``outdated`` if another one has changed an object meanwhile: then nothing is wrong, and
    another pass decides by what is there now.
    """
    result = {"failed": True, "msg": str(error)}
    if isinstance(error, Outdated):
        result["outdated"] = True
    if isinstance(error, ApiError):
        result.update(status=error.status, reason=error.reason, fields=error.fields)
    return result


class KubeAction(ControllerAction):
    """An action that runs on the controller and talks to an API server.

    Attributes:
        SPEC: argument spec of the action; the connection options are added to it.
        RULES: further rules of the validation, such as ``required_one_of``.
    """

    SPEC: ClassVar[dict[str, Any]] = {}
    RULES: ClassVar[dict[str, Any]] = {}

    def run(self, tmp: None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Validate the arguments, act, and turn errors into a failed result."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        arguments = self.validated({**OPTIONS, **self.SPEC}, **self.RULES)
        try:
            session = open_session(resolve_options(arguments, self._environment()))
            result.update(self.act(session, arguments))
        except KubeError as error:
            result.update(failed(error))
        return result

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

    def _environment(self) -> dict[str, str]:
        """Return the process environment with the task's ``environment:`` on top."""
        environment = dict(os.environ)
        for entry in self._task.environment or ():
            extra = self._templar.template(entry)
            if isinstance(extra, Mapping):
                environment.update({str(name): str(value) for name, value in extra.items()})
        return environment
