# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action behind M(matrixorigin.matrixone.metric_user); see plugins/modules/metric_user.py."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, ClassVar

from ..module_utils.clients.kubernetes.applying import Writer
from ..module_utils.clients.kubernetes.errors import KubeError
from ..module_utils.clients.kubernetes.session import Session
from ..module_utils.clients.sql import SqlError, accepts, run
from ..module_utils.cluster import metric_user, metric_user_status
from ..module_utils.cluster.logins import entrance, find_secret, root_login
from ..module_utils.cluster.passwords import broken_rule, login_problem, random_password
from ..module_utils.cluster.root_credential import login_of
from ..plugin_utils.kubernetes.action import KubeAction

Json = dict[str, Any]


class ActionModule(KubeAction):
    """Create the SQL user that may read the metrics tables, with the password of its Secret."""

    SPEC: ClassVar[dict[str, Any]] = {
        "resource": {"type": "dict", "required": True},
        "service": {"type": "str", "required": True},
        "timeout": {"type": "float", "default": 10.0},
    }

    def act(self, session: Session, arguments: Json) -> Json:
        """Do what this version of the Secret needs; an unreachable database is no failure."""
        resource = arguments["resource"]
        writer = Writer(session, dry_run=self.dry_run, owner=resource)
        name = metric_user.secret_name(resource["metadata"]["name"])
        live = find_secret(writer, resource, name)
        if live is None:
            desired = metric_user.secret(resource, random_password())
            live = dict(writer.create_once(desired).after or desired)
        version = str(live["metadata"].get("resourceVersion") or "")
        metrics = {"secretRef": {"name": name}, "secretVersion": version, "initialized": True}
        before = (resource.get("status") or {}).get("clusterMetrics") or {}
        done = bool(version) and before.get("secretVersion") == version
        if done and before.get("initialized"):
            return {"changed": False, "metrics": metrics, "made": False}
        problem = "" if self.dry_run else _made(writer, arguments, live)
        if problem:
            now = time.time()
            metrics = metric_user_status.failed(before, metrics, problem, now)
            retry = metric_user_status.retry(metrics, now)
            return {"changed": False, "metrics": metrics, "made": False, "retry": retry}
        return {"changed": True, "metrics": metrics, "made": True}


def _made(writer: Writer, arguments: Json, secret: Json) -> str:
    """Create the user, or change its password; return what went wrong."""
    resource = arguments["resource"]
    try:
        password = login_of(secret).password
        if not password:
            return "its Secret has no password"
        root = entrance(writer, resource, arguments["service"], root_login(writer, resource))
        seconds = arguments["timeout"]
        run(root, metric_user.statements(password), seconds, is_final=broken_rule)
        user = replace(root, user=metric_user.USER, password=password)
        if not accepts(user, seconds, is_final=login_problem):
            run(root, [metric_user.change(password)], seconds, is_final=broken_rule)
    except SqlError as error:
        why = broken_rule(error.words) or login_problem(error.words)
        return f"{error}: {why}" if why else str(error)
    except (KubeError, ValueError) as error:
        return str(error)
    return ""
