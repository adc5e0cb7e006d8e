# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action behind M(matrixorigin.matrixone.check); documented in plugins/modules/check.py."""

from __future__ import annotations

from typing import Any, ClassVar

from ..module_utils.clients.kubernetes.session import Session
from ..plugin_utils.checking.check import is_up_to_date
from ..plugin_utils.checking.health import is_as_reported
from ..plugin_utils.kubernetes.action import KubeAction


class ActionModule(KubeAction):
    """Check whether there is anything to do for a resource at all."""

    SPEC: ClassVar[dict[str, Any]] = {
        "resource": {"type": "dict", "required": True},
        "start_script": {"type": "str", "default": ""},
        "observe_health": {"type": "bool", "default": True},
    }

    def act(self, session: Session, arguments: dict[str, Any]) -> dict[str, Any]:
        """Decide as a pass would, change nothing."""
        resource, script = arguments["resource"], arguments["start_script"]
        up_to_date = is_up_to_date(session, resource, script)
        if up_to_date and arguments["observe_health"]:
            up_to_date = is_as_reported(session, resource)
        return {"changed": False, "up_to_date": up_to_date}
