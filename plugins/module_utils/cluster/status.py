# SPDX-License-Identifier: Apache-2.0
"""Status of a MatrixOneCluster from its children."""

from __future__ import annotations

from typing import Any

from ..api import names
from ..reporting.conditions import holds, phase, summary
from ..reporting.reasons import ConditionType
from . import connection, hibernation, maintenance
from .conditions import READY_RULES, ClusterFacts, cluster_conditions, count, is_synced
from .data_version import recorded

_READABLE = (
    ("log", names.LOG_SET),
    ("tn", names.DN_SET),
    ("cn", names.CN_SET),
    ("proxy", names.PROXY_SET),
    ("webui", names.WEB_UI),
)
_COPIED = (
    ("logService", names.LOG_SET),
    ("tn", names.DN_SET),
    ("proxy", names.PROXY_SET),
    ("webui", names.WEB_UI),
)


def cluster_status(facts: ClusterFacts) -> dict[str, Any]:
    """Return the status to write, complete but for the conditions' times."""
    conditions = cluster_conditions(facts)
    status: dict[str, Any] = {
        "observedGeneration": facts.generation,
        "conditions": conditions,
        "phase": phase(conditions).value,
        "message": summary(conditions),
        "readable": _readable(facts),
        "cnGroups": _groups(facts),
    }
    version = _version(facts)
    if version:
        status["version"] = version
    if facts.credential:
        status["credentialRef"] = {"name": facts.credential}
    for field, kind in _COPIED:
        copied = [
            child["status"] for _name, child in facts.children(kind) if child and "status" in child
        ]
        if copied:
            status[field] = copied[0]
    if kept := recorded(facts.resource.get("status")):
        status["tn"] = {**kept, **status.get("tn", {})}
    if "tn" in status and "dn" in (facts.resource.get("spec") or {}):
        status["dn"] = status["tn"]
    records = {
        "clusterMetrics": facts.metrics,
        "restore": facts.restore,
        "upgrade": facts.upgrade,
        "fence": facts.fence,
        "hibernation": hibernation.report(facts.resource, facts.hibernation, conditions),
        "maintenance": maintenance.report(
            facts.resource, facts.maintenance, is_applied=not (facts.failure or facts.held)
        ),
    }
    status.update((name, dict(record)) for name, record in records.items() if record)
    status.update(_entrance(facts))
    status.update(_connection(facts))
    return status


def _connection(facts: ClusterFacts) -> dict[str, Any]:
    """Return the Secrets for applications, and the cluster's, as service bindings look for it."""
    found = facts.connection.secrets
    present = list(connection.recorded(facts.resource) if found is None else found)
    name = names.connection_name(facts.resource["metadata"]["name"])
    status: dict[str, Any] = {"connectionSecrets": present} if present else {}
    return {**status, "binding": {"name": name}} if name in present else status


def _readable(facts: ClusterFacts) -> dict[str, str]:
    """Return ready and desired Pods per component, as the printer columns show them."""
    shown = {}
    for field, kind in _READABLE:
        counts = [count(child) for _name, child in facts.children(kind)]
        if counts:
            shown[field] = f"{sum(pair[0] for pair in counts)}/{sum(pair[1] for pair in counts)}"
    if "tn" in shown:
        shown["dn"] = shown["tn"]
    return shown


def _groups(facts: ClusterFacts) -> dict[str, Any]:
    """Return the state of the CN groups."""
    prefix = f"{facts.resource['metadata']['name']}-"
    groups = []
    for name, child in facts.children(names.CN_SET):
        status = (child or {}).get("status") or {}
        entry: dict[str, Any] = {
            "name": name,
            "group": name.removeprefix(prefix),
            "ready": holds(child, ConditionType.READY),
            "synced": is_synced(child),
        }
        for field in ("host", "port", "replicas", "readyReplicas"):
            if status.get(field) is not None:
                entry[field] = status[field]
        groups.append(entry)
    return {
        "desiredGroups": len(groups),
        "readyGroups": sum(group["ready"] for group in groups),
        "syncedGroups": sum(group["synced"] for group in groups),
        "groups": groups,
    }


def _version(facts: ClusterFacts) -> str:
    """Return the version that runs: that of a component that is still behind, if any."""
    desired = str((facts.resource.get("spec") or {}).get("version") or "")
    seen = [
        str((child.get("status") or {}).get("version") or "")
        for kind, _reason in READY_RULES
        for _name, child in facts.children(kind)
        if child
    ]
    known = [version for version in seen if version]
    behind = [version for version in known if version != desired]
    return (behind or known or [""])[0]


def _entrance(facts: ClusterFacts) -> dict[str, Any]:
    """Return where SQL is answered: the proxy if there is one, else the first CN group."""
    for kind in (names.PROXY_SET, names.CN_SET):
        for _name, child in facts.children(kind):
            status = (child or {}).get("status") or {}
            if status.get("host"):
                return {"host": status["host"], "port": status.get("port")}
            if kind == names.PROXY_SET:
                return {}
    return {}
