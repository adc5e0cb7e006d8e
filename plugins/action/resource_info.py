# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action behind M(matrixorigin.matrixone.resource_info).

It is documented in plugins/modules/resource_info.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from ..module_utils.api import names
from ..module_utils.clients.kubernetes.differences import without_payload
from ..module_utils.clients.kubernetes.errors import BadManifest, NotFound
from ..module_utils.clients.kubernetes.kinds import collection_path, not_served
from ..module_utils.clients.kubernetes.lists import listed
from ..module_utils.clients.kubernetes.session import Session
from ..module_utils.kinds import KINDS
from ..module_utils.reporting.resource_info import resource_info
from ..plugin_utils.kubernetes.action import KubeAction

Json = dict[str, Any]

_PAGE = "500"  # objects


class ActionModule(KubeAction):
    """Read resources of one kind, and change nothing."""

    SPEC: ClassVar[Json] = {
        "kind": {"type": "str", "required": True, "choices": sorted(KINDS)},
        "name": {"type": "str"},
        "namespace": {"type": "str", "default": "default"},
        "all_namespaces": {"type": "bool", "default": False},
        "label_selectors": {"type": "list", "elements": "str", "default": []},
    }

    def act(self, session: Session, arguments: Json) -> Json:
        """Return the resources, by namespace and name."""
        found = map(resource_info, _found(session, arguments))
        resources = sorted(found, key=lambda one: (one["namespace"], one["name"]))
        return {"changed": False, "resources": resources}


def _found(session: Session, arguments: Mapping[str, Any]) -> list[Json]:
    """Return the resources that are asked for.

    One of a name is listed, too: of a list, the API server's 404 says that it lacks the kind.

    Raises:
        BadManifest: the namespace is empty.
        NotFound: the cluster does not serve the kind.
        ApiError: the server refuses.
    """
    kind, name = arguments["kind"], arguments["name"]
    if not arguments["namespace"]:
        raise BadManifest("namespace is empty; all_namespaces reads those of all")
    namespace = None if arguments["all_namespaces"] else arguments["namespace"]
    version = names.EARLY_API_VERSION if kind == names.EARLY else names.API_VERSION
    path = collection_path(session, version, kind, namespace)
    try:
        items = listed(session, path, attempt=f"list {kind}s", query=_query(arguments))
    except NotFound as error:
        raise not_served(version, kind) from error
    typed = {"apiVersion": version, "kind": kind}
    return [
        without_payload({**typed, **item})
        for item in items
        if name is None or item["metadata"]["name"] == name
    ]


def _query(arguments: Mapping[str, Any]) -> dict[str, str]:
    query = {"limit": _PAGE}
    if arguments["name"] is not None:
        query["fieldSelector"] = f"metadata.name={arguments['name']}"
    if arguments["label_selectors"]:
        query["labelSelector"] = ",".join(arguments["label_selectors"])
    return query
