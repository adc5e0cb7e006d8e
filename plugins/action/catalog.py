# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action behind M(matrixorigin.matrixone.catalog); documented in plugins/modules/catalog.py."""

from __future__ import annotations

from typing import Any, ClassVar

from ..module_utils.api.plain import plain
from ..module_utils.clients.kubernetes.session import Session
from ..module_utils.cluster.canary import ANSWER, canary_checks
from ..module_utils.cluster.catalog_query import ask_canary, ask_catalog
from ..module_utils.cluster.upgrading import CATALOG_KEY, questions
from ..plugin_utils.kubernetes.action import KubeAction


class ActionModule(KubeAction):
    """Ask a database that is being upgraded how far its catalog is, and its canary."""

    SPEC: ClassVar[dict[str, Any]] = {
        "resource": {"type": "dict", "required": True},
        "observed": {"type": "dict", "required": True},
        "timeout": {"type": "float", "default": 6.0},
    }

    def act(self, session: Session, arguments: dict[str, Any]) -> dict[str, Any]:
        """Ask where an upgrade needs to know it; a database that gives no answer is a result."""
        resource = plain(arguments["resource"])
        asked, seconds = questions(resource, plain(arguments["observed"])), arguments["timeout"]
        observed: dict[str, Any] = {}
        if asked.catalog:
            found = ask_catalog(session, resource, asked.catalog, seconds)
            observed[CATALOG_KEY] = found.as_result()
        if asked.canary:
            wanted = canary_checks(resource)
            problem = ask_canary(session, resource, asked.canary, wanted, seconds)
            observed[ANSWER] = {"problem": problem}
        return {"changed": False, "observed": observed}
