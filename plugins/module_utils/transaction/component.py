# SPDX-License-Identifier: Apache-2.0
"""What is particular to a DNSet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from ..admission.shapes import Mistake
from ..admission.storage import disk_cache_warnings
from ..api import names
from ..api.errors import InvalidSpec
from ..api.types import Manifest, References, Resource
from ..reporting.reasons import Reason
from ..reporting.set_facts import Findings
from ..workload import nodes
from ..workload.component import Component, Reference, Rendered, SetPass
from ..workload.observed import SetObserved
from ..workload.references import config_map, of_set
from . import data_version
from .admission import mistakes_of_dnset
from .rendering import render_dnset

_UNSERVED = "2s"
"""A transaction node gets its shard within seconds, and compute nodes wait for that."""


class TransactionNodes(Component):
    """Transaction nodes."""

    kind = names.DN_SET
    data_volume = "cacheVolume"
    has_stores = True

    def render(self, resource: Resource, script: str, references: References) -> list[Manifest]:
        """Return every object of a DNSet."""
        return render_dnset(resource, start_script=script, references=references)

    def render_observed(
        self, resource: Resource, observed: SetObserved, script: str, references: References
    ) -> Rendered:
        """Return what a DNSet leads to, with the shards that its nodes serve.

        Raises:
            InvalidSpec: It cannot be rendered, or must not run on the data of a newer version.
        """
        _check_version(resource, observed)
        shards = str(observed.stores.get("tnShards") or _kept(observed))
        return Rendered(
            render_dnset(resource, start_script=script, references=references, shards=shards)
        )

    def status(self, seen: SetPass, findings: Findings) -> dict[str, Any]:
        """Return which version has written the data."""
        del findings
        written = data_version.data_version(seen.resource, seen.pods)
        return {data_version.FIELD: str(written) if written else None}

    def resource_mistakes(self, resource: Resource) -> Iterator[Mistake]:
        """Yield what is wrong with a DNSet on the data that its status tells of."""
        yield from data_version.data_mistakes(resource)

    def references(self, resource: Resource) -> dict[str, Reference]:
        """Return the volumes, and which shards the nodes served so far."""
        base = names.base_name(self.kind, resource["metadata"]["name"])
        return {
            "claims": of_set(resource, "v1", "PersistentVolumeClaim"),
            "shards": config_map(resource, names.shards_name(base)),
        }

    def findings(self, seen: SetPass) -> Findings:
        """Return which nodes have no shard yet, and which may not be replaced."""
        unserved, blocked = seen.stores.get("unserved") or (), seen.stores.get("blocked")
        return Findings(
            failure=(Reason.FAILOVER_BLOCKED, str(blocked)) if blocked else None,
            unserved=f"{', '.join(unserved)} to take up its shard" if unserved else "",
            empty=seen.stores.get("empty") or (),
        )

    def requeue(self, seen: SetPass, otherwise: str) -> str:
        """Return when to check again: when a Pod may be stuck, or a shard may have been taken."""
        if seen.stores.get("unserved"):
            return _UNSERVED
        if not otherwise or seen.stores.get("blocked"):
            return otherwise
        moment = datetime.fromisoformat(seen.now).timestamp()
        return nodes.requeue(seen.pods, moment, otherwise)

    def mistakes(self, path: str, spec: Mapping[str, Any]) -> Iterator[Mistake]:
        """Yield what is wrong with a spec beyond its schema."""
        yield from mistakes_of_dnset(path, spec)

    def warnings(self, path: str, spec: Mapping[str, Any]) -> Iterator[str]:
        """Yield what a user should know about a valid spec."""
        yield from disk_cache_warnings(path, spec)


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
