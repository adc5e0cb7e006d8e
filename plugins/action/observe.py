# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action behind M(matrixorigin.matrixone.observe); documented in plugins/modules/observe.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from ..module_utils.clients.kube.applying import Writer
from ..module_utils.clients.kube.differences import without_payload
from ..module_utils.clients.kube.errors import BadManifest, NotFound
from ..module_utils.clients.kube.selecting import Selection
from ..module_utils.clients.kube.session import Session
from ..plugin_utils.kube_action import KubeAction


class ActionModule(KubeAction):
    """Fetch objects by name or by label; what does not exist is null or an empty list."""

    SPEC: ClassVar[dict[str, Any]] = {"references": {"type": "dict", "required": True}}

    def act(self, session: Session, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the objects under the labels of the references."""
        found = {
            label: _fetch(session, label, reference)
            for label, reference in arguments["references"].items()
        }
        return {"changed": False, "objects": found}


def _fetch(session: Session, label: str, reference: Mapping[str, Any]) -> Any:
    """Fetch one reference: an object, or a list when it selects by labels.

    Raises:
        BadManifest: the reference names neither an object nor labels.
    """
    if reference.get("name"):
        manifest = {
            "apiVersion": reference.get("api_version"),
            "kind": reference.get("kind"),
            "metadata": {"name": reference["name"], "namespace": reference.get("namespace")},
        }
        try:
            found = Writer(session).get(manifest)
        except NotFound:
            return None
        return found and _shown(found, reference)
    if "labels" not in reference:
        raise BadManifest(f"reference {label}: name or labels is needed")
    selection = Selection(
        api_version=reference.get("api_version") or "",
        kind=reference.get("kind") or "",
        namespace=reference.get("namespace"),
        labels=reference["labels"],
        owner_uid=reference.get("owner_uid") or "",
    )
    return [_shown(found, reference) for found in selection.list(session)]


def _shown(found: Mapping[str, Any], reference: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what a task's result must not hold; ConfigMap data only if it is asked for."""
    shown = without_payload(found)
    if found.get("kind") == "ConfigMap" and reference.get("data") and "data" in found:
        shown["data"] = found["data"]
    return shown
