# SPDX-License-Identifier: Apache-2.0
"""Where the HAKeeper of a set is, by Pods or by what the set says of an external one; ask it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..api import names
from ..api.pod_addresses import log_addresses
from ..api.pods import live_pods
from ..clients.kubernetes.selecting import Selection
from ..clients.kubernetes.session import Session
from ..clients.matrixone import ClusterDetails, Deadline, HAKeeper
from ..workload.references import by_name
from .observing import fetch

Json = dict[str, Any]


def members(session: Session, log_set: Mapping[str, Any] | None) -> list[Json]:
    """Return the Pods of a log service and of the transaction nodes beside it."""
    if log_set is None:
        return []
    namespace = log_set["metadata"]["namespace"]
    found = pods_of(session, namespace, {names.LABEL_NAMESPACE: namespace})
    return [pod for pod in found if _belongs(pod, log_set["metadata"]["name"])]


def of_dependency(session: Session, resource: Mapping[str, Any]) -> list[str]:
    """Return where HAKeeper may be, by what a set depends on."""
    return addresses_of(resource, members_of_dependency(session, resource))


def addresses_of(resource: Mapping[str, Any], members: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return where HAKeeper may be: an external one, or the log stores among some Pods."""
    return log_addresses(live_pods(members)) if _log_set_of(resource) else external(resource)


def _log_set_of(resource: Mapping[str, Any]) -> dict[str, Any]:
    """Return name and namespace of the LogSet that a set depends on; empty if it is external."""
    target = ((resource.get("deps") or {}).get("logSet") or {}).get("metadata") or {}
    return dict(target) if target.get("name") else {}


def members_of_dependency(session: Session, resource: Mapping[str, Any]) -> list[Json]:
    """Return the Pods of the log service that a set depends on, and of the transaction nodes.

    A LogSet of another namespace that does not list that of the set is as good as missing.
    """
    target = _log_set_of(resource)
    if not target:
        return []
    own = resource["metadata"]["namespace"]
    if target.get("namespace", own) == own:
        return members(session, {"metadata": {"namespace": own, **target}})
    return members(session, log_set_of_dependency(session, resource))


def log_set_of_dependency(session: Session, resource: Mapping[str, Any]) -> Json | None:
    """Return the LogSet that a set depends on; None where it is missing, or external."""
    target = _log_set_of(resource)
    if not target:
        return None
    own = resource["metadata"]["namespace"]
    reference = by_name(names.API_VERSION, names.LOG_SET, {"namespace": own, **target})
    found: Json | None = fetch(session, "logSet", {**reference, "allowed_to": own})
    return found


def _belongs(pod: Mapping[str, Any], log_set: str) -> bool:
    """Tell whether a Pod is of this log service; transaction nodes are told apart by address."""
    labels = pod["metadata"].get("labels") or {}
    if labels.get(names.LABEL_COMPONENT) == names.LOG_SET:
        return bool(labels.get(names.LABEL_INSTANCE) == log_set)
    return bool(labels.get(names.LABEL_COMPONENT) == names.DN_SET)


def pods_of(session: Session, namespace: str, labels: Mapping[str, str]) -> list[Json]:
    """Return the Pods with some labels."""
    return Selection("v1", "Pod", namespace, labels).list(session)


def external(resource: Mapping[str, Any]) -> list[str]:
    """Return the addresses of HAKeeper that a set names because its log service is elsewhere."""
    found = (resource.get("deps") or {}).get("externalLogSet") or {}
    endpoint = str(found.get("haKeeperEndpoint") or "")
    return [address.strip() for address in endpoint.split(",") if address.strip()]


def ask_details(addresses: Sequence[str], deadline: Deadline) -> ClusterDetails:
    """Ask HAKeeper for all stores that it knows.

    Args:
        addresses: where it may be.
        deadline: when it must have answered.

    Raises:
        MatrixOneError: it does not answer.
    """
    with HAKeeper(discovery=addresses, addresses=addresses) as hakeeper:
        return hakeeper.cluster_details(deadline)
