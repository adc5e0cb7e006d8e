# SPDX-License-Identifier: Apache-2.0
"""What the status of a CNSet reports of its stores in HAKeeper; see the action ``cn_stores``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..api.timestamps import timestamp
from ..reporting.conditions import find
from ..reporting.events import Occurrence, occurrence
from ..reporting.reasons import ConditionType, Reason
from ..reporting.report import terminating
from ..reporting.set_facts import Findings
from ..workload.component import SetPass
from .drain import Step
from .pods import recorded_states
from .stores import node_entries
from .stores_result import CNStoresResult

_RESUMED = (
    "HAKeeper hears it again; the transaction node may refuse its next commit, after which this "
    "version serves on by itself, so it is not replaced"
)
_SOON = "5s"
_NOW_AND_THEN = "60s"
"""HAKeeper forgets labels and work state of a node that was silent for half a minute."""


def findings(seen: SetPass) -> Findings:
    """Return what is known of compute nodes beyond what Kubernetes reports."""
    stores = CNStoresResult.of(seen.observed.stores)
    drains = draining(stores, ending(seen.resource, seen.pods, seen.now))
    return Findings(
        activity=(Reason.DRAINING, drains) if drains else None,
        unreachable=unreachable(stores),
    )


def status_fields(seen: SetPass) -> dict[str, Any]:
    """Return the fields of the status that only a CNSet has."""
    return {
        "labelSelector": seen.label_selector,
        "stores": node_entries(seen.pods, _work_states(seen)),
    }


def _work_states(seen: SetPass) -> Mapping[str, str]:
    """Return the work states of compute nodes; the recorded ones where the action did not run."""
    stores = CNStoresResult.of(seen.observed.stores)
    return stores.states if stores.ran or seen.plan.paused else recorded_states(seen.resource)


def terminating_status(
    resource: Mapping[str, Any], pods: Iterable[Mapping[str, Any]], stores: CNStoresResult
) -> dict[str, Any]:
    """Return the status of a CNSet that is being deleted while its compute nodes drain.

    Args:
        resource: with its status so far.
        pods: its Pods.
        stores: what the action came to.
    """
    status = terminating(resource, waiting(stores), Reason.DRAINING)
    return {**status, "stores": node_entries(pods, stores.states)}


def draining(stores: CNStoresResult, ending: Mapping[str, str] | None = None) -> str:
    """Return what the drains of a set wait for; empty when none is under way.

    Args:
        stores: what the action came to.
        ending: Pods that still serve after their deletion, see `ending`; the action knows of those
            that HAKeeper knows.
    """
    under_way = {
        pod: f"{pod} until {timestamp(drain.until)} at most ({drain.message})"
        for pod, drain in stores.drains.items()
        if not drain.finished
    }
    for pod, end in (ending or {}).items():
        under_way.setdefault(pod, f"{pod} until {end} at most (its clients have not all gone)")
    return f"draining {', '.join(under_way[pod] for pod in sorted(under_way))}" if under_way else ""


def ending(
    resource: Mapping[str, Any], pods: Iterable[Mapping[str, Any]], now: str
) -> dict[str, str]:
    """Return the Pods of a set that drains which are deleted and have time left, and until when.

    Args:
        resource: a CNSet.
        pods: its Pods.
        now: the present, RFC 3339.
    """
    spec = resource.get("spec") or {}
    if not (spec.get("scalingConfig") or {}).get("storeDrainEnabled"):
        return {}
    ends = {pod["metadata"]["name"]: pod["metadata"].get("deletionTimestamp") for pod in pods}
    # A Pod on a node that is lost stays after its time.
    return {name: end for name, end in ends.items() if end and end > now}


def waiting(stores: CNStoresResult) -> str:
    """Return what the end of a set waits for that drains first; empty when nothing drains."""
    drains = draining(stores)
    return "; ".join(part for part in (drains, unreachable(stores)) if part) if drains else ""


def unreachable(stores: CNStoresResult) -> str:
    """Return why work states could not be set in HAKeeper; empty when it could."""
    if not stores.managed or stores.reached:
        return ""
    return f"work state and labels cannot be set: {stores.problem or 'no log store is running'}"


def requeue(stores: CNStoresResult, otherwise: str) -> str:
    """Return when to check again.

    Args:
        stores: what the action came to.
        otherwise: when to check again without it.
    """
    if stores.drains or (stores.reached and stores.unsettled):
        return _SOON
    if otherwise or not stores.managed:
        return otherwise
    return _NOW_AND_THEN


def resume_events(stores: CNStoresResult) -> list[Occurrence]:
    """Return an event for each compute node that is not replaced although it was not heard."""
    return [occurrence("Resumed", f"{pod}: {_RESUMED}", action="Observe") for pod in stores.resumed]


def drain_events(
    resource: Mapping[str, Any], stores: CNStoresResult, ending: Mapping[str, str]
) -> list[Occurrence]:
    """Return an event for each drain that was given up, and for the end of all that were reported.

    Args:
        resource: a CNSet with its status so far.
        stores: what the action came to.
        ending: as for `draining`.
    """
    events = [
        occurrence("DrainTimedOut", f"{pod}: {drain.message}", action="Drain", warning=True)
        for pod, drain in stores.drains.items()
        if drain.step is Step.GIVEN_UP
    ]
    reported = find(resource, ConditionType.PROGRESSING).get("reason") == Reason.DRAINING
    if reported and stores.ran and not draining(stores, ending):
        events.append(occurrence("DrainEnded", "no compute node drains any more", action="Drain"))
    return events
