# SPDX-License-Identifier: Apache-2.0
"""What a pass over such a resource observed, and how."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..api import names
from ..api.fields import as_table
from ..api.types import Resource
from ..workload.component import Reference
from ..workload.plans import Observed
from ..workload.references import by_name


@dataclass(frozen=True, slots=True)
class ObjectObserved:
    """What is known when a pass decides.

    Attributes:
        cluster: the MatrixOneCluster that it names; None if there is none.
        others: the resources of its kind and namespace, itself among them.
    """

    cluster: Resource | None = None
    others: Sequence[Resource] = ()

    @classmethod
    def read(cls, observed: Observed) -> ObjectObserved:
        """Read what ``observe`` returned by label."""
        return cls(cluster=observed.get("cluster"), others=observed.get("others") or ())


def references(resource: Resource) -> dict[str, Reference]:
    """Return what to observe, by label: the cluster, and what else of the kind is there."""
    namespace = resource["metadata"]["namespace"]
    alike = {"api_version": names.API_VERSION, "kind": resource["kind"], "labels": {}}
    found: dict[str, Reference] = {"others": {**alike, "namespace": namespace}}
    name = as_table(as_table(resource.get("spec")).get("clusterRef")).get("name")
    if name and isinstance(name, str):
        place = {"namespace": namespace, "name": name}
        found["cluster"] = by_name(names.API_VERSION, names.CLUSTER, place)
    return found
