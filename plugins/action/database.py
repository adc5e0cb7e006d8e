# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action behind M(matrixorigin.matrixone.database); see plugins/modules."""

from __future__ import annotations

from typing import Any, ClassVar

from ..module_utils.api.errors import InvalidSpec
from ..module_utils.clients.kubernetes.applying import Writer
from ..module_utils.clients.kubernetes.errors import KubeError
from ..module_utils.clients.kubernetes.session import Session
from ..module_utils.database.reconciler import Reconciler
from ..plugin_utils.kubernetes.action import KubeAction

Json = dict[str, Any]


class ActionModule(KubeAction):
    """Create or drop the database of a Database."""

    SPEC: ClassVar[dict[str, Any]] = {
        "resource": {"type": "dict", "required": True},
        "cluster": {"type": "dict", "required": True},
        "service": {"type": "str", "required": True},
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        "timeout": {"type": "float", "default": 10.0},
    }

    def act(self, session: Session, arguments: Json) -> Json:
        """Ask the database; what it refuses, or that it does not answer, is no failure."""
        resource = arguments["resource"]
        if self.dry_run:
            return {"changed": False, "database": {}}
        reconciler = Reconciler(
            writer=Writer(session, owner=resource),
            resource=resource,
            cluster=arguments["cluster"],
            service=arguments["service"],
            seconds=arguments["timeout"],
        )
        try:
            is_absent = arguments["state"] == "absent"
            done = reconciler.drop() if is_absent else reconciler.keep()
        except InvalidSpec as error:
            raise KubeError(str(error)) from error
        return {"changed": done.created or done.dropped, "database": done.as_variable()}
