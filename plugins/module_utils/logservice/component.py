# SPDX-License-Identifier: Apache-2.0
"""What is particular to a LogSet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..admission.shapes import Mistake
from ..admission.storage import shared_storage_mistakes
from ..api import names
from ..api.types import Manifest, References, Resource
from ..reporting.set_facts import Findings
from ..workload.component import Component, Reference, Rendered, SetPass
from ..workload.observed import SetObserved
from ..workload.references import config_map, of_set
from ..workload.removal import Removal
from . import bootstrap, bucket, status
from .admission import (
    deletion_warnings,
    locality_warnings,
    retention_warnings,
    size_warnings,
)
from .claims import marks
from .removal import removal_of_log_set
from .rendering import render_logset
from .scaling import require_size


class LogService(Component):
    """Log stores."""

    kind = names.LOG_SET
    period = "15s"
    data_volume = "volume"
    has_stores = True

    def render(self, resource: Resource, script: str, references: References) -> list[Manifest]:
        """Return every object of a LogSet."""
        del references
        return render_logset(resource, start_script=script)

    def render_observed(
        self, resource: Resource, observed: SetObserved, script: str, references: References
    ) -> Rendered:
        """Return what a LogSet leads to, by what was decided about its stores earlier."""
        del references
        live, claims = observed.live, observed.claims
        decisions = bootstrap.decided(resource, live, observed.bootstrap, claims)
        patches = []
        if live is not None and live["metadata"].get("uid"):
            patches = marks(live, claims, decisions)
        known = {**resource, "status": (live or resource).get("status")}
        require_size(known, observed.workload, decisions, claims)
        latest = observed.stores.get("incarnations")
        decisions["incarnations"] = latest or decisions["incarnations"]
        record = bootstrap.record(resource, live, decisions)
        return Rendered(
            render_logset(resource, start_script=script, observed=decisions),
            records=[*([record] if record else []), *bucket.records(resource, observed)],
            create_only=[f"ConfigMap/{_bootstrap_name(resource)}"],
            patches=patches,
        )

    def mistakes(self, path: str, spec: Mapping[str, Any]) -> Iterator[Mistake]:
        """Yield what is wrong with a spec beyond its schema."""
        yield from super().mistakes(path, spec)
        storage, overlay = spec.get("sharedStorage"), spec.get("overlay") or {}
        yield from shared_storage_mistakes(f"{path}.sharedStorage", storage, overlay)

    def references(self, resource: Resource) -> dict[str, Reference]:
        """Return who founded the log service, the volumes of its stores, and its bucket."""
        return {
            **bucket.references(resource),
            "bootstrap": config_map(resource, _bootstrap_name(resource)),
            "claims": of_set(resource, "v1", "PersistentVolumeClaim"),
        }

    def hold(self, resource: Resource, observed: SetObserved) -> str:
        """Return whether the path in the bucket belongs to another LogSet, or not yet to this."""
        return bucket.lack(resource, observed)

    def findings(self, seen: SetPass) -> Findings:
        """Return what HAKeeper reports of log stores, and what is done about them."""
        return status.findings(seen.stores, seen.rollout)

    def status(self, seen: SetPass, findings: Findings) -> dict[str, Any]:
        """Return the log shards, and where the log service is found."""
        del findings
        return status.status_fields(seen)

    def requeue(self, seen: SetPass, otherwise: str) -> str:
        """Return when to check again."""
        if seen.plan.paused:
            return otherwise
        if not seen.plan.invalid:
            otherwise = bucket.requeue(seen.resource, seen.observed, otherwise)
        return status.requeue(seen.resource, seen.pods, seen.stores, otherwise, seen.now)

    def removal(self, resource: Resource, observed: SetObserved) -> Removal:
        """Return how a LogSet is deleted."""
        return removal_of_log_set(resource, observed)

    def afterwards(self, resource: Resource, observed: SetObserved) -> list[Removal]:
        """Return the step that releases the path in the bucket."""
        return bucket.release(resource, observed)

    def warnings(self, path: str, spec: Mapping[str, Any]) -> Iterator[str]:
        """Yield what a user should know about a valid LogSet."""
        yield from locality_warnings(path, spec)
        yield from size_warnings(path, spec)

    def warnings_of_change(
        self, path: str, spec: Mapping[str, Any], before: Mapping[str, Any]
    ) -> Iterator[str]:
        """Yield what becomes of data at the end."""
        yield from retention_warnings(path, spec, before)

    def deletion_warnings(self, path: str, spec: Mapping[str, Any]) -> Iterator[str]:
        """Yield what is lost by the deletion of a log service."""
        yield from deletion_warnings(path, spec)


def _bootstrap_name(resource: Resource) -> str:
    return f"{names.base_name(names.LOG_SET, resource['metadata']['name'])}-bootstrap"
