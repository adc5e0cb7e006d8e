# SPDX-License-Identifier: Apache-2.0
"""What is particular to a DNSet."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from ..admission.storage import disk_cache_warnings
from ..api import names
from ..api.errors import InvalidSpec
from ..api.types import Manifest, Resource
from ..reporting.reasons import Reason
from ..reporting.set_facts import Findings
from ..workload import nodes
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
from ..workload.plans import Plan
from ..workload.references import config_map, of_set
from . import data_version
from .admission import mistakes_of_dnset
from .rendering import render_dnset
from .stores_result import TNStoresResult

_UNSERVED = "2s"
"""A transaction node gets its shard within seconds, and compute nodes wait for that."""


def _render(start: SetStart, shards: str = "") -> list[Manifest]:
    return render_dnset(
        start.resource,
        start_script=start.script,
        references=start.dependencies,
        shards=shards,
    )


def _render_observed(start: SetStart) -> Plan:
    """Render a DNSet with the shards that its nodes serve.

    Raises:
        InvalidSpec: It cannot be rendered, or must not run on the data of a newer version.
    """
    observed = start.observed
    _check_version(start.resource, observed)
    shards = TNStoresResult.of(observed.stores).shards or _kept(observed)
    return Plan(objects=_render(start, shards))


def _references(resource: Resource) -> dict[str, Reference]:
    """Return the volumes, and which shards the nodes served so far."""
    base = names.base_name(names.DN_SET, resource["metadata"]["name"])
    return {
        "claims": of_set(resource, "v1", "PersistentVolumeClaim"),
        "shards": config_map(resource, names.shards_name(base)),
    }


def _findings(seen: SetPass) -> Findings:
    """Return which nodes have no shard yet, and which may not be replaced."""
    stores = TNStoresResult.of(seen.observed.stores)
    return Findings(
        failure=(Reason.FAILOVER_BLOCKED, stores.blocked) if stores.blocked else None,
        unserved=f"{', '.join(stores.unserved)} to take up its shard" if stores.unserved else "",
    )


def _status(seen: SetPass) -> dict[str, Any]:
    """Return which version has written the data."""
    written = data_version.data_version(seen.resource, seen.pods)
    return {data_version.FIELD: str(written) if written else None}


def _requeue(seen: SetPass, otherwise: str) -> str:
    """Return when to check again: when a Pod may be stuck, or a shard may have been taken."""
    stores = TNStoresResult.of(seen.observed.stores)
    if stores.unserved:
        return _UNSERVED
    if not otherwise or stores.blocked:
        return otherwise
    moment = datetime.fromisoformat(seen.now).timestamp()
    return nodes.requeue(seen.pods, moment, otherwise)


def _check_version(resource: Resource, observed: SetObserved) -> None:
    """Refuse a version that cannot read what a Pod has written since the last report.

    Raises:
        InvalidSpec: It names the field.
    """
    spec = resource["spec"]
    written = data_version.data_version(resource, observed.pods)
    if found := data_version.refusal(spec, written):
        raise InvalidSpec(f"spec.{data_version.naming_field(spec)}", found)


def _kept(observed: SetObserved) -> str:
    """Return the shards that the nodes served when HAKeeper was asked last."""
    return str(((observed.shards or {}).get("data") or {}).get(names.SHARDS_FILE) or "")


TRANSACTION_NODES: Final = Component(
    kind=names.DN_SET,
    data_volume="cacheVolume",
    has_stores=True,
    stores=TNStoresResult,
    renderer=SetRenderer(render=_render, render_observed=_render_observed, references=_references),
    judge=SetJudge(
        mistakes=mistakes_of_dnset,
        data_mistakes=data_version.data_mistakes,
        warnings=[disk_cache_warnings],
    ),
    reporter=SetReporter(findings=_findings, status=_status, requeue=_requeue),
)
