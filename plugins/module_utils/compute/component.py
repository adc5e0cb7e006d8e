# SPDX-License-Identifier: Apache-2.0
"""What is particular to a CNSet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..admission.shapes import Mistake
from ..admission.storage import disk_cache_warnings
from ..api import names
from ..api.types import Manifest, References, Resource
from ..reporting.events import Occurrence
from ..reporting.set_facts import Findings
from ..workload.component import Component, SetPass
from ..workload.observed import SetObserved
from . import status
from .admission import mistakes_of_cnset
from .bootstrap import hold
from .rendering import render_cnset


class ComputeNodes(Component):
    """Compute nodes."""

    kind = names.CN_SET
    client_port = names.PORT_SQL

    def render(self, resource: Resource, script: str, references: References) -> list[Manifest]:
        """Return every object of a CNSet."""
        return render_cnset(resource, start_script=script, references=references)

    def hold(self, resource: Resource, observed: SetObserved) -> str:
        """Return what changes of compute nodes wait for."""
        return hold(resource, observed)

    def findings(self, seen: SetPass) -> Findings:
        """Return which nodes drain, and whether HAKeeper could be reached."""
        return status.findings(seen)

    def status(self, seen: SetPass, findings: Findings) -> dict[str, Any]:
        """Return the stores, and where SQL is answered."""
        return {**super().status(seen, findings), **status.status_fields(seen)}

    def events(self, seen: SetPass) -> list[Occurrence]:
        """Return the events of drains."""
        if seen.plan.paused:
            return []
        ending = status.ending(seen.resource, seen.pods, seen.now)
        return status.drain_events(seen.resource, seen.stores, ending)

    def requeue(self, seen: SetPass, otherwise: str) -> str:
        """Return when to check again."""
        return otherwise if seen.plan.paused else status.requeue(seen.stores, otherwise)

    def mistakes(self, path: str, spec: Mapping[str, Any]) -> Iterator[Mistake]:
        """Yield what is wrong with a spec beyond its schema."""
        yield from mistakes_of_cnset(path, spec)

    def warnings(self, path: str, spec: Mapping[str, Any]) -> Iterator[str]:
        """Yield what a user should know about a valid spec."""
        yield from disk_cache_warnings(path, spec)
