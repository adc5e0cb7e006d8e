# SPDX-License-Identifier: Apache-2.0
"""What is particular to a LogSet."""

from __future__ import annotations

from typing import Final

from ..api import names
from ..api.seen import as_seen
from ..api.types import Manifest, Resource
from ..workload.component import (
    Component,
    Reference,
    SetJudge,
    SetPass,
    SetRenderer,
    SetReporter,
    SetStart,
)
from ..workload.observed import SetObserved
from ..workload.plans import Plan, named
from ..workload.references import by_name, config_map, of_set
from ..workload.removal import Removal
from . import bootstrap, bucket, evictions, status
from .admission import (
    deletion_warnings,
    locality_warnings,
    mistakes_of_logset,
    retention_warnings,
    size_warnings,
)
from .claims import marks
from .deleted_claims import require_kept
from .earlier_data import LOOK_AGAIN, awaits_deletion, require_same_storage
from .removal import as_found, as_part, owner_references, removal_of_log_set
from .rendering import gossip_name, render_logset
from .scaling import require_size
from .stores_result import LogStoresResult


def _render(start: SetStart) -> list[Manifest]:
    return render_logset(start.resource, start_script=start.script)


def _render_observed(start: SetStart) -> Plan:
    """Render a LogSet by what was decided about its stores earlier."""
    resource, observed = start.resource, start.observed
    live, claims = observed.live, observed.claims
    require_same_storage(resource, observed.workload, claims)
    decisions = bootstrap.decided(resource, live, observed.bootstrap, claims)
    patches = []
    if live is not None and live["metadata"].get("uid"):
        patches = marks(live, claims, decisions)
    known = {**resource, "status": (live or resource).get("status")}
    require_size(known, observed.workload, decisions, claims)
    require_kept(live or resource, observed.workload, claims)
    latest = LogStoresResult.of(observed.stores).incarnations
    decisions["incarnations"] = latest or decisions["incarnations"]
    record = bootstrap.record(resource, live, decisions)
    objects = render_logset(resource, start_script=start.script, observed=decisions)
    objects = [_as_seen(one, observed.gossip) for one in objects]
    return Plan(
        objects=evictions.with_limit(objects, known, observed),
        records=[*([record] if record else []), *bucket.records(resource, observed)],
        create_only=[f"ConfigMap/{_bootstrap_name(resource)}"],
        patches=patches,
    )


def _as_seen(manifest: Manifest, gossip: Manifest | None) -> Manifest:
    """Give stores their incarnations only in place of those that were read.

    One that has lost its volume must not start under the name of before because another operator
    stood still since it read that.
    """
    if gossip is None or named(manifest) != named(gossip):
        return manifest
    return {**manifest, "metadata": {**manifest["metadata"], **as_seen(gossip)}}


def _references(resource: Resource) -> dict[str, Reference]:
    """Return who founded the log service, what its stores are given, their volumes, its bucket."""
    gossip = {**resource["metadata"], "name": gossip_name(resource["metadata"]["name"])}
    return {
        **bucket.references(resource),
        "bootstrap": config_map(resource, _bootstrap_name(resource)),
        "gossip": by_name("v1", "ConfigMap", gossip),
        "claims": of_set(resource, "v1", "PersistentVolumeClaim"),
        **owner_references(resource),
    }


def _removal(resource: Resource, observed: SetObserved) -> list[Removal]:
    """Return the step that deletes a LogSet, and the one that releases the path in the bucket."""
    part = as_found(as_part(resource, observed.cluster), observed)
    return [removal_of_log_set(part, observed), *bucket.release(part, observed)]


def _requeue(seen: SetPass, otherwise: str) -> str:
    if seen.plan.paused:
        return otherwise
    if not seen.plan.invalid:
        otherwise = bucket.requeue(seen.resource, seen.observed, otherwise)
    elif awaits_deletion(seen.resource, seen.observed.workload, seen.observed.claims):
        otherwise = LOOK_AGAIN
    stores = status.result_of(seen.observed)
    return status.requeue(seen.resource, seen.pods, stores, otherwise, seen.now)


def _bootstrap_name(resource: Resource) -> str:
    return f"{names.base_name(names.LOG_SET, resource['metadata']['name'])}-bootstrap"


LOG_SERVICE: Final = Component(
    kind=names.LOG_SET,
    period="15s",
    data_volume="volume",
    has_stores=True,
    stores=LogStoresResult,
    renderer=SetRenderer(
        render=_render,
        render_observed=_render_observed,
        references=_references,
        hold=bucket.lack,
        removal=_removal,
    ),
    judge=SetJudge(
        mistakes=mistakes_of_logset,
        warnings=[locality_warnings, size_warnings],
        warnings_of_change=[retention_warnings],
        deletion_warnings=[deletion_warnings],
    ),
    reporter=SetReporter(findings=status.findings, status=status.status_fields, requeue=_requeue),
)
