# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action behind M(matrixorigin.matrixone.cn_claim_set); see plugins/modules/cn_claim_set.py."""

from __future__ import annotations

from typing import Any, ClassVar

from ..module_utils.clients.kubernetes.session import Session
from ..module_utils.pool.claim_set_reconciler import run_claim_set
from ..module_utils.workload.plans import is_paused
from ..plugin_utils.kubernetes.action import KubeAction

Json = dict[str, Any]


class ActionModule(KubeAction):
    """Create and delete the claims of a CNClaimSet."""

    SPEC: ClassVar[dict[str, Any]] = {"resource": {"type": "dict", "required": True}}

    def act(self, session: Session, arguments: Json) -> Json:
        """Run one pass."""
        resource = arguments["resource"]
        if self.dry_run or is_paused(resource):
            return {"changed": False, "claims": {}}
        found = run_claim_set(session, resource)
        return {"changed": bool(found["done"]), "claims": found}
