# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action behind M(matrixorigin.matrixone.fence); documented in plugins/modules/fence.py."""

from __future__ import annotations

from typing import Any, ClassVar

from ..module_utils.clients.kubernetes.applying import Writer
from ..module_utils.clients.kubernetes.errors import KubeError
from ..module_utils.clients.kubernetes.session import Session
from ..module_utils.cluster.fence_writer import end_sessions, select_pods
from ..plugin_utils.kubernetes.action import KubeAction

Json = dict[str, Any]


class ActionModule(KubeAction):
    """Keep clients off a cluster that is fenced, or let them come again."""

    SPEC: ClassVar[dict[str, Any]] = {
        "resource": {"type": "dict", "required": True},
        "fence": {"type": "dict", "required": True},
        "timeout": {"type": "float", "default": 6.0},
    }

    def act(self, session: Session, arguments: Json) -> Json:
        """Change the Services, then end sessions; what cannot be done is a result, no failure."""
        resource, asked = arguments["resource"], arguments["fence"]
        writer, closed = Writer(session, dry_run=self.dry_run), bool(asked["wanted"])
        changed = ended = 0
        problem = ""
        try:
            changed = select_pods(writer, resource, asked["services"], closed=closed)
            if asked["endsSessions"] and not self.dry_run:
                ended, problem = end_sessions(writer, resource, arguments["timeout"])
        except (KubeError, ValueError) as error:
            problem = str(error)
        result = {"ended": ended, "problem": problem}
        return {"changed": bool(changed or ended), "fence": result}
