# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action behind M(matrixorigin.matrixone.requeue_after); documented in plugins/modules."""

from __future__ import annotations

import re
from typing import Any

from ansible.plugins.action import ActionBase

_DURATION = re.compile(r"(?=\d)(\d+h)?(\d+m)?(\d+s)?")


class ActionModule(ActionBase):
    """Ask for another pass over the resource; whoever plays the role acts on it."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the requested period, e.g. ``15s`` or ``1m30s``."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        spec = {"time": {"type": "str", "required": True}}
        _validation, arguments = self.validate_argument_spec(argument_spec=spec)
        period = str(arguments["time"])
        if not _DURATION.fullmatch(period):
            result.update(failed=True, msg=f"invalid time input: {period!r}, use e.g. 15s or 1m30s")
            return result
        result.update(changed=False, period=period)
        return result
