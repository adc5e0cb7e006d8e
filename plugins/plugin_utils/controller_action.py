# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What all actions share that run on the controller, in Ansible's own process."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ..module_utils.api.plain import plain


class ControllerAction(ActionBase):
    """An action that runs on the controller."""

    TRANSFERS_FILES = False
    _requires_connection = False
    _supports_async = False

    def validated(self, spec: dict[str, Any], **rules: Any) -> dict[str, Any]:
        """Return the validated arguments as plain types.

        They are converted first: the validation copies them, and a copy of what Ansible has
        tagged costs ten times as much.

        Args:
            spec: argument spec.
            rules: further ones, such as ``required_if``.
        """
        given = self._task.args
        self._task.args = plain(given)
        try:
            _validation, arguments = self.validate_argument_spec(argument_spec=spec, **rules)
        finally:
            self._task.args = given
        converted: dict[str, Any] = plain(arguments)
        return converted

    @property
    def dry_run(self) -> bool:
        """Whether nothing may be changed."""
        return bool(self._task.check_mode)

    def say(self, message: str) -> None:
        """Show progress to whoever watches the play."""
        Display().display(f"  {message}")
