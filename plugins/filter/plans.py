# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters of the roles: what to observe, what to do, what to say, what to take away."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

from ansible.errors import AnsibleFilterError

from ..module_utils.api import names
from ..module_utils.api.errors import RenderingError
from ..module_utils.api.plain import plain
from ..module_utils.api.timestamps import timestamp_now
from ..module_utils.cluster.everything import find_references, render_everything
from ..module_utils.cluster.planning import credential, makes_credential, plan_cluster
from ..module_utils.early.planning import growth as claim_growth
from ..module_utils.early.planning import plan_early
from ..module_utils.early.removal import removal_of_early
from ..module_utils.early.reports import farewell, report_on_early
from ..module_utils.workload.planning import plan_set
from ..module_utils.workload.plans import empty_plan
from ..module_utils.workload.references import references
from ..module_utils.workload.removal import (
    drains_of_cluster,
    emptied,
    removal_of_cluster,
    removal_of_leftovers,
    removal_of_set,
)
from ..module_utils.workload.reports import beginning, deleting, report_on
from ..module_utils.workload.roll import is_rolling
from ..module_utils.workload.volumes import growth

_PASSWORD_BYTES = 24


def references_of(resource: Any, siblings: Any = None) -> Any:
    """Return what to observe for a resource; see planning.references."""
    return references(plain(resource), plain(siblings or []))


def growth_of(resource: Any, observed: Any) -> Any:
    """Return what is to be done about the volumes of a set; see planning.volumes."""
    seen = plain(observed)
    return growth(plain(resource), seen.get("workload"), seen.get("claims") or [])


def plan_for(
    resource: Any,
    observed: Any,
    start_script: Any = "",
    siblings: Any = None,
    stores: Any = None,
    volumes: Any = None,
) -> Any:
    """Return what a pass does; see planning.sets and planning.cluster."""
    done = {"round": plain(stores or {}), "volumes": plain(volumes or {}), "now": timestamp_now()}
    wanted, seen = plain(resource), {**plain(observed), **done}
    if wanted["kind"] == names.CLUSTER:
        return plan_cluster(wanted, seen)
    if wanted["kind"] == names.EARLY:
        return plan_early(wanted, seen, datetime.now(timezone.utc))
    known = find_references(wanted, plain(siblings)) if siblings else None
    return plan_set(wanted, seen, plain(start_script), known)


def report_for(
    resource: Any,
    plan: Any = None,
    observed: Any = None,
    applied: Any = None,
    failure: Any = "",
    stores: Any = None,
    roll: Any = None,
) -> Any:
    """Return status, events and what is awaited at the end of a pass; see planning.reports."""
    decided = plain(plan) if plan else empty_plan()
    seen = {**plain(observed or {}), "round": plain(stores or {}), "roll": plain(roll or {})}
    subject = plain(resource)
    if subject["kind"] == names.EARLY:
        return report_on_early(subject, decided, seen, plain(applied or {}), plain(failure))
    return report_on(subject, decided, seen, plain(applied or {}), plain(failure), timestamp_now())


def rolling_of(plan: Any, observed: Any, applied: Any = None) -> Any:
    """Tell whether Pods of a StatefulSet are to be replaced; see planning.rolling."""
    if plan["paused"] or plan["invalid"] or plan["held"]:
        return False
    seen = plain(observed)
    workload = (plain(applied or {}).get("objects") or {}).get(plan["workload"])
    live = workload or seen.get("workload")
    return is_rolling(live, seen.get("pods") or [], plan["partition"])


def beginning_of(resource: Any) -> Any:
    """Return the status for the start of work on a new generation."""
    return beginning(plain(resource))


def deleting_of(resource: Any) -> Any:
    """Return the status of a resource that is going away."""
    return deleting(plain(resource), [])


def claim_growth_of(resource: Any, observed: Any) -> Any:
    """Return the claims of a MatrixoneCluster that must grow, as patches."""
    return claim_growth(plain(resource), plain(observed))


def farewell_to(resource: Any, results: Any, failure: Any = "") -> Any:
    """Return status and events of a MatrixoneCluster that is being taken away."""
    return farewell(plain(resource), plain(list(results)), plain(failure))


def emptied_of(resource: Any) -> Any:
    """Return a CNSet that goes as if no compute nodes were wanted of it; see planning.removal."""
    return emptied(plain(resource))


def drains_of(resource: Any) -> Any:
    """Return how the compute nodes of a cluster drain at its end; see planning.removal."""
    return drains_of_cluster(plain(resource))


def removal_for(resource: Any, observed: Any = None) -> Any:
    """Return the steps that take a resource away; see planning.removal."""
    wanted = plain(resource)
    if wanted["kind"] == names.EARLY:
        return removal_of_early(wanted, plain(observed or {}))
    if wanted["kind"] == names.CLUSTER:
        return removal_of_cluster(wanted)
    return removal_of_set(wanted, plain(observed or {}).get("claims") or [])


def credential_for(resource: Any, observed: Any) -> Any:
    """Return the Secret to create for a cluster without a credential, with a random password."""
    wanted = plain(resource)
    if observed.get("credential") is not None or not makes_credential(wanted):
        return []
    return [credential(wanted, secrets.token_urlsafe(_PASSWORD_BYTES))]


def leftovers_of(resource: Any, plan: Any) -> Any:
    """Return the steps that take away sets which a cluster no longer asks for."""
    return removal_of_leftovers(plain(resource), plain(plan)["objects"])


def rendered_from(resource: Any, start_scripts: Any) -> Any:
    """Return every object that a resource leads to, children's children included."""
    try:
        return render_everything(plain(resource), start_scripts=plain(start_scripts))
    except RenderingError as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    """The filters of this file by name."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters."""
        return {
            "references": references_of,
            "drains": drains_of,
            "emptied": emptied_of,
            "growth": growth_of,
            "plan": plan_for,
            "report": report_for,
            "rolling": rolling_of,
            "beginning": beginning_of,
            "deleting": deleting_of,
            "removal": removal_for,
            "claim_growth": claim_growth_of,
            "farewell": farewell_to,
            "credential": credential_for,
            "leftovers": leftovers_of,
            "rendered": rendered_from,
        }
