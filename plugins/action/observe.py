# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action behind M(matrixorigin.matrixone.observe); documented in plugins/modules/observe.py."""

from __future__ import annotations

from typing import Any, ClassVar

from ..module_utils.clients.kubernetes.session import Session
from ..module_utils.passes.pod_diagnosis import observe
from ..plugin_utils.kubernetes.action import KubeAction


class ActionModule(KubeAction):
    """Fetch objects by name or by label; what does not exist is null or an empty list."""

    SPEC: ClassVar[dict[str, Any]] = {"references": {"type": "dict", "required": True}}

    def act(self, session: Session, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the objects under the labels of the references."""
        return {"changed": False, "objects": observe(session, arguments["references"])}
