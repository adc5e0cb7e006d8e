# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action behind M(matrixorigin.matrixone.metric_user); see plugins/modules/metric_user.py."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Mapping
from typing import Any, ClassVar

from ..module_utils.clients.kube.applying import Writer
from ..module_utils.clients.kube.errors import KubeError
from ..module_utils.clients.kube.session import Session
from ..module_utils.clients.sql import Entrance, SqlError, run
from ..module_utils.planning import metric_user
from ..module_utils.rendering import credential_secret, names
from ..plugin_utils.kube_action import KubeAction

Json = dict[str, Any]
_PASSWORD_BYTES = 24


class ActionModule(KubeAction):
    """Make the SQL user that may read the metrics tables; give it the password of its Secret."""

    SPEC: ClassVar[dict[str, Any]] = {
        "resource": {"type": "dict", "required": True},
        "service": {"type": "str", "required": True},
        "timeout": {"type": "float", "default": 10.0},
    }

    def act(self, session: Session, arguments: Json) -> Json:
        """Do what has not been done for this very Secret; a database that is away is no failure."""
        resource = arguments["resource"]
        writer = Writer(session, dry_run=self.dry_run, owner=resource)
        name = metric_user.secret_name(resource["metadata"]["name"])
        live = writer.get(_secret(resource, name))
        if live is None:
            wanted = metric_user.secret(resource, secrets.token_urlsafe(_PASSWORD_BYTES))
            live = dict(writer.create_once(wanted).after or wanted)
        version = str(live["metadata"].get("resourceVersion") or "")
        told = {"secretRef": {"name": name}, "secretVersion": version, "initialized": True}
        before = (resource.get("status") or {}).get("clusterMetrics") or {}
        done = bool(version) and before.get("secretVersion") == version
        if done and before.get("initialized"):
            return {"changed": False, "metrics": told, "made": False}
        problem = "" if self.dry_run else _made(writer, arguments, _value(live, "password"))
        if problem:
            told = {**told, "initialized": False, "message": problem}
        return {"changed": not problem, "metrics": told, "made": not problem}


def _secret(resource: Mapping[str, Any], name: str) -> Json:
    place = {"namespace": resource["metadata"]["namespace"], "name": name}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": place}


def _value(secret: Mapping[str, Any], key: str) -> str:
    return base64.b64decode((secret.get("data") or {}).get(key) or "").decode()


def _made(writer: Writer, arguments: Json, password: str) -> str:
    """Make the user, or change its password; return what went wrong."""
    if not password:
        return "its Secret has no password"
    try:
        entrance = _entrance(writer, arguments)
        run(entrance, metric_user.statements(password), arguments["timeout"])
    except (KubeError, SqlError, ValueError) as error:
        return str(error)
    return ""


def _entrance(writer: Writer, arguments: Json) -> Entrance:
    """Return where SQL is answered, by address: names are known in the cluster only."""
    resource = arguments["resource"]
    place = {"namespace": resource["metadata"]["namespace"], "name": arguments["service"]}
    service = writer.get({"apiVersion": "v1", "kind": "Service", "metadata": place})
    root = writer.get(_secret(resource, credential_secret(resource)))
    if service is None or root is None:
        missing = "Service " + arguments["service"] if service is None else "the root credential"
        raise ValueError(f"{missing} does not exist")
    return Entrance(
        host=service["spec"]["clusterIP"],
        port=names.PORT_SQL,
        user=_value(root, "username"),
        password=_value(root, "password"),
    )
