# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters of the roles: what to observe, what to do, what to report, what to delete."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError

from ..module_utils.admission.pod_security import Level, level_of
from ..module_utils.api.errors import RenderingError
from ..module_utils.api.plain import plain
from ..module_utils.api.timestamps import timestamp_now
from ..module_utils.backup.task.jobs import IMAGE_VARIABLE
from ..module_utils.clients.kubernetes.kinds import describe
from ..module_utils.cluster import fencing
from ..module_utils.cluster.parts import PARTS
from ..module_utils.cluster.passwords import random_password
from ..module_utils.cluster.planning import credential, makes_credential
from ..module_utils.cluster.removal import drains_of_cluster, removal_of_leftovers
from ..module_utils.compute.removal import scaled_to_zero
from ..module_utils.early.observed import EarlyObserved
from ..module_utils.early.reports import terminating_report
from ..module_utils.early.storage import growth as claim_growth
from ..module_utils.kinds import kind_of, render_everything, rendered_kind
from ..module_utils.logservice.left_stores import claims_after_play
from ..module_utils.passes.own_namespace import own_namespace
from ..module_utils.reporting.applied import Applied
from ..module_utils.reporting.report import beginning, deleting, held_by_fence
from ..module_utils.workload.kind import PassEnd, Play
from ..module_utils.workload.reading import read_observed
from ..module_utils.workload.references import find_references
from ..module_utils.workload.roll import is_rolling
from ..module_utils.workload.set_kind import growth_of_set
from ..plugin_utils.manifests.schemas import refuse_unknown_fields


def references_of(resource: Any, siblings: Any = None) -> Any:
    """Return what to observe for a resource, by label."""
    subject = plain(resource)
    return kind_of(subject).references(subject, Play(siblings=plain(siblings or [])))


def growth_of(resource: Any, observed: Any) -> Any:
    """Return what is to be done about the volumes of a set."""
    subject = plain(resource)
    return plain(growth_of_set(PARTS[subject["kind"]], subject, plain(observed)))


def left_claims_of(resource: Any, observed: Any) -> Any:
    """Return the claims of log stores that a playbook has let leave."""
    seen = read_observed(plain(observed))
    found = claims_after_play(plain(resource), seen.workload, seen.claims)
    return [
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": one["metadata"]}
        for one in found
    ]


def plan_for(
    resource: Any,
    observed: Any,
    start_script: Any = "",
    siblings: Any = None,
    stores: Any = None,
    volumes: Any = None,
    *,
    now: Any = "",
) -> Any:
    """Return what a pass does."""
    moment = plain(now) or timestamp_now()
    done = {"results": plain(stores or {}), "volumes": plain(volumes or {}), "now": moment}
    subject, seen = plain(resource), {**plain(observed), **done}
    operator = own_namespace(os.environ)
    image = os.environ.get(IMAGE_VARIABLE, "").strip()
    play = Play(plain(start_script), plain(siblings or []), _pod_security(), operator, image)
    return plain(kind_of(subject).plan(subject, seen, play).variables())


def _pod_security() -> Level:
    try:
        return level_of(os.environ)
    except ValueError as error:
        raise AnsibleFilterError(str(error)) from error


def report_for(
    resource: Any,
    plan: Any = None,
    observed: Any = None,
    applied: Any = None,
    failure: Any = "",
    stores: Any = None,
    roll: Any = None,
) -> Any:
    """Return status, events and what is waited for at the end of a pass."""
    seen = {**plain(observed or {}), "results": plain(stores or {}), "roll": plain(roll or {})}
    subject = plain(resource)
    kind = kind_of(subject)
    decided = kind.plan_type.read(plain(plan or {}))
    done = Applied.read(plain(applied or {}))
    end = PassEnd(subject, decided, seen, done, plain(failure))
    return plain(kind.reporter.report(end))


def rolling_of(plan: Any, observed: Any, applied: Any = None) -> Any:
    """Return whether Pods of a StatefulSet are to be replaced."""
    if plan["paused"] or plan["invalid"] or plan["held"]:
        return False
    seen = read_observed(plain(observed))
    applied_now = Applied.read(plain(applied or {})).objects.get(plan["workload"])
    return is_rolling(applied_now or seen.workload, seen.pods, plan["partition"])


def metrics_of(resource: Any, status: Any = None) -> Any:
    """Return what a resource shows as metrics, or what takes them away."""
    subject = plain(resource)
    return plain(kind_of(subject).metrics(subject, plain(status)))


def beginning_of(resource: Any) -> Any:
    """Return the status for the start of work on a new generation."""
    return beginning(plain(resource))


def deleting_of(resource: Any) -> Any:
    """Return the status of a resource that is being deleted."""
    return deleting(plain(resource))


def fence_marks_of(resource: Any, observed: Any) -> Any:
    """Return the patches that fence the components of a cluster with it, or no longer."""
    return plain(fencing.decide(plain(resource), plain(observed)).marks)


def held_by_fence_of(resource: Any) -> Any:
    """Return why a resource is not deleted; empty for one that is not fenced."""
    return held_by_fence(plain(resource))


def claim_growth_of(resource: Any, observed: Any) -> Any:
    """Return the claims of a MatrixoneCluster that must grow, as patches."""
    return claim_growth(plain(resource), EarlyObserved.read(plain(observed)))


def terminating_of(resource: Any, results: Any, failure: Any = "") -> Any:
    """Return status and events of a MatrixoneCluster that is being deleted."""
    return terminating_report(plain(resource), plain(list(results)), plain(failure))


def scaled_to_zero_of(resource: Any) -> Any:
    """Return a CNSet that is deleted as if its spec asked for no compute nodes."""
    return scaled_to_zero(plain(resource))


def drains_of(resource: Any) -> Any:
    """Return how the compute nodes of a cluster drain at its end."""
    return plain(drains_of_cluster(plain(resource)))


def removal_for(resource: Any, observed: Any = None) -> Any:
    """Return the steps that delete a resource."""
    subject = plain(resource)
    return plain(kind_of(subject).removal(subject, plain(observed or {})))


def credential_for(resource: Any, observed: Any) -> Any:
    """Return the Secret to create for a cluster without a credential, with a random password."""
    subject = plain(resource)
    if observed.get("credential") is not None or not makes_credential(subject):
        return []
    return [credential(subject, random_password())]


def leftovers_of(resource: Any, plan: Any) -> Any:
    """Return the steps that delete sets which a cluster no longer asks for."""
    return plain(removal_of_leftovers(plain(resource), plain(plan)["objects"]))


def rendered_from(given: Any, start_scripts: Any) -> Any:
    """Return every object that one or several resources lead to, children's children included."""
    resources = plain(given) if isinstance(given, list) else [plain(given)]
    scripts = plain(start_scripts)
    return [
        manifest for resource in resources for manifest in _rendered(resource, scripts, resources)
    ]


def _rendered(resource: Any, scripts: Any, siblings: Any) -> Any:
    try:
        rendered_kind(resource)
        refuse_unknown_fields(resource)
        references = find_references(resource, siblings)
        return render_everything(resource, start_scripts=scripts, references=references)
    except RenderingError as error:
        raise AnsibleFilterError(f"{describe(resource)}: {error}") from error


class FilterModule:
    """The filters of this file by name."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters."""
        return {
            "references": references_of,
            "drains": drains_of,
            "scaled_to_zero": scaled_to_zero_of,
            "growth": growth_of,
            "left_claims": left_claims_of,
            "plan": plan_for,
            "report": report_for,
            "rolling": rolling_of,
            "metrics": metrics_of,
            "beginning": beginning_of,
            "deleting": deleting_of,
            "held_by_fence": held_by_fence_of,
            "fence_marks": fence_marks_of,
            "removal": removal_for,
            "claim_growth": claim_growth_of,
            "removal_report": terminating_of,
            "credential": credential_for,
            "leftovers": leftovers_of,
            "rendered": rendered_from,
        }
