# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action behind M(matrixorigin.matrixone.check); documented in plugins/modules/check.py."""

from __future__ import annotations

from typing import Any, ClassVar

from ..module_utils.clients.kubernetes.applying import Writer
from ..module_utils.clients.kubernetes.errors import NotFound
from ..module_utils.clients.kubernetes.session import Session
from ..module_utils.precheck.health_check import is_as_reported
from ..module_utils.precheck.up_to_date import is_up_to_date
from ..plugin_utils.kubernetes.action import KubeAction
from ..plugin_utils.manifests.schemas import told, unknown_fields_of

Json = dict[str, Any]


class ActionModule(KubeAction):
    """Check whether there is anything to do for a resource at all, and that no operator does it."""

    SPEC: ClassVar[dict[str, Any]] = {
        "resource": {"type": "dict", "required": True},
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        "start_script": {"type": "str", "default": ""},
        "observe_health": {"type": "bool", "default": True},
    }

    def act(self, session: Session, arguments: Json) -> Json:
        """Decide as a pass would, change nothing."""
        resource, state = arguments["resource"], arguments["state"]
        if not resource["metadata"].get("uid"):
            return _played(session, resource, state)
        if state == "absent":
            return {"changed": False, "up_to_date": False}
        up_to_date = is_up_to_date(session, resource, arguments["start_script"])
        if up_to_date and arguments["observe_health"]:
            up_to_date = is_as_reported(session, resource)
        return {"changed": False, "up_to_date": up_to_date}


def _played(session: Session, resource: Json, state: str) -> Json:
    """Refuse a resource of a playbook that is in the cluster as well, or has unknown fields.

    Its operator would revert what is changed, and bring up an empty database in place of one that
    is deleted. And no API server looks at its fields: a misspelt one would lose what it says.
    """
    result: Json = {"changed": False, "up_to_date": False}
    if unknown := unknown_fields_of(resource):
        return {**result, "failed": True, "msg": told(resource, unknown)}
    if not _is_in_cluster(session, resource):
        return result
    kind, name = resource["kind"], resource["metadata"]["name"]
    verb = "delete" if state == "absent" else "change"
    refusal = (
        f"{kind} {name}: metadata.name: a {kind} of this name is in the cluster and belongs to its "
        f"operator; {verb} that resource instead of playing this one"
    )
    return {**result, "failed": True, "msg": refusal}


def _is_in_cluster(session: Session, resource: Json) -> bool:
    try:
        return Writer(session).get(resource) is not None
    except NotFound:
        return False
