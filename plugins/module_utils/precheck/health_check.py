# SPDX-License-Identifier: Apache-2.0
"""Whether a set is as its status says: the question behind a pass, and between two of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from ..api import names
from ..api.errors import RenderingError
from ..clients.kubernetes.session import Session
from ..clients.matrixone import Deadline, MatrixOneError
from ..compute.health_check import observe_compute_nodes
from ..kinds import kind_of
from ..logservice.deleted_claims import deleted_claims
from ..logservice.health_check import observe_log_stores
from ..passes.observing import fetch
from ..pool.health_check import is_heard
from ..proxy.health_check import observe_proxies
from ..reporting.conditions import find, holds
from ..reporting.health import Health
from ..reporting.reasons import ConditionType, Reason
from ..reporting.storage import is_storage_as_reported
from ..transaction.health_check import observe_transaction_nodes
from ..workload.plans import is_paused

Json = Mapping[str, Any]
Observer = Callable[[Session, Json, Sequence[Json], Deadline, float], Health]

PROBE_SECONDS: Final = 4.0
"""Longest time for the question between two passes; a pass confirms what it finds."""
_NO_ANSWER: Final = "HAKeeper does not answer: it has no leader, or no log store can be reached"
_OBSERVERS: Final[Mapping[str, Observer]] = {
    names.LOG_SET: observe_log_stores,
    names.DN_SET: observe_transaction_nodes,
    names.CN_SET: observe_compute_nodes,
    names.PROXY_SET: observe_proxies,
}


def observe_health(
    session: Session, resource: Json, pods: Sequence[Json], seconds: float
) -> Health:
    """Ask the processes of a set, or HAKeeper about them, for a sign of life.

    Args:
        session: connection to the API server.
        resource: a resource of any kind; only those whose Pods can be asked have a health.
        pods: the Pods of the set.
        seconds: how long all questions together may take.
    """
    observer = _OBSERVERS.get(resource["kind"])
    if observer is None or not pods:
        return Health()
    try:
        return observer(session, resource, pods, Deadline.after(seconds), time.time())
    except MatrixOneError:
        # The same words each time: what exactly failed depends on which log store was asked first.
        return Health(unknown=_NO_ANSWER)
    except RenderingError:
        # What is wrong with the spec is reported by the plan.
        return Health()


def is_as_reported(session: Session, resource: Json) -> bool:
    """Tell whether a set that is reported to serve still gives signs of life; or a pool.

    Sets that are not reported to serve have passes of their own until they do.

    Args:
        session: connection to the API server.
        resource: with its status.
    """
    if is_paused(resource):
        return True
    if resource["kind"] == names.CN_POOL:
        return is_heard(session, resource, PROBE_SECONDS)
    if resource["kind"] not in _OBSERVERS:
        return True
    if not holds(resource, ConditionType.READY) or not (resource.get("spec") or {}).get("replicas"):
        return True
    references = kind_of(dict(resource)).references(dict(resource))
    if resource["kind"] == names.LOG_SET and not _are_claims_as_reported(
        resource, fetch(session, "claims", references["claims"])
    ):
        return False
    pods = fetch(session, "pods", references["pods"])
    found = observe_health(session, resource, pods, PROBE_SECONDS)
    return found.is_good and is_storage_as_reported(resource, found.storage, found.credential)


def _are_claims_as_reported(resource: Json, claims: Sequence[Json]) -> bool:
    """Tell whether no claim is being deleted, or that is reported; no event tells of it."""
    is_reported = find(resource, ConditionType.DEGRADED).get("reason") == Reason.VOLUME_DELETED
    return is_reported == bool(deleted_claims(dict(resource), None, claims))
