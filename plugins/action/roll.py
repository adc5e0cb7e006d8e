# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action behind M(matrixorigin.matrixone.roll); see plugins/modules/roll.py."""

from __future__ import annotations

from typing import Any, ClassVar

from ..module_utils.api import names
from ..module_utils.clients.kubernetes.session import Session
from ..module_utils.logservice.replaceable_stores import next_log_stores
from ..module_utils.workload.rolling_update import take_step
from ..plugin_utils.kubernetes.action import KubeAction


class ActionModule(KubeAction):
    """Take the rolling update of a LogSet or DNSet one step further."""

    SPEC: ClassVar[dict[str, Any]] = {"resource": {"type": "dict", "required": True}}

    def act(self, session: Session, arguments: dict[str, Any]) -> dict[str, Any]:
        """Replace the Pods that may be deleted now; return at once."""
        resource, choices = arguments["resource"], {names.LOG_SET: next_log_stores}
        step = take_step(session, resource, choices, dry_run=self.dry_run)
        return {"changed": bool(step.replaced), "roll": step.as_result()}
