# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action behind M(matrixorigin.matrixone.apply); documented in plugins/modules/apply.py."""

from __future__ import annotations

from typing import Any, ClassVar

from ..module_utils.clients.kubernetes.applying import Writer
from ..module_utils.clients.kubernetes.editing import FIELD_MANAGER
from ..module_utils.clients.kubernetes.errors import KubeError
from ..module_utils.clients.kubernetes.session import Session
from ..module_utils.passes.carrying_out import carry_out
from ..module_utils.passes.selections import KINDS, SELECTION
from ..plugin_utils.kubernetes.action import KubeAction
from ..plugin_utils.kubernetes.results import Changes

Json = dict[str, Any]


class ActionModule(KubeAction):
    """Bring a list of objects to what it says, in one session."""

    SPEC: ClassVar[dict[str, Any]] = {
        "objects": {"type": "list", "elements": "dict", "default": []},
        "create_only": {"type": "list", "elements": "str", "default": []},
        "recreate": {"type": "list", "elements": "str", "default": []},
        "recreate_timeout": {"type": "int", "default": 300},
        "adopt_from": {"type": "list", "elements": "str", "default": []},
        "patches": {"type": "list", "elements": "dict", "default": []},
        "delete": {"type": "list", "elements": "dict", "default": []},
        "prune": {"type": "dict", "options": {**SELECTION, "unless_used_by": KINDS}},
        "owner": {"type": "dict"},
        "identified_by": {"type": "list", "elements": "str", "default": []},
        "field_manager": {"type": "str", "default": FIELD_MANAGER},
        "force": {"type": "bool", "default": True},
    }

    def act(self, session: Session, arguments: Json) -> Json:
        """Apply the objects, patch, delete and prune."""
        writer = Writer(
            session=session,
            field_manager=arguments["field_manager"],
            force=arguments["force"],
            dry_run=self.dry_run,
            owner=arguments["owner"],
            identified_by=arguments["identified_by"],
        )
        changes = Changes()
        try:
            changes.add(carry_out(writer, arguments))
        except KubeError as error:
            return changes.failed(error)
        return changes.result(diff=self._task.diff)
