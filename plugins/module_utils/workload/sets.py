# SPDX-License-Identifier: Apache-2.0
"""What every renderer of a set knows about its resource before it starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ..api import names, versions
from ..api.errors import InvalidSpec
from ..api.fields import Fields
from ..api.types import Manifest, References, Resource

DEPENDENCIES: Final = {"logSet": names.LOG_SET, "dnSet": names.DN_SET, "cnset": names.CN_SET}
"""Keys of ``deps`` and the kinds they name; ``cnset`` is spelled as the API has it."""


@dataclass(frozen=True, slots=True)
class SetContext:
    """A set and the facts derived from its identity and versions.

    Attributes:
        kind: one of the five set kinds.
        owner: name of the resource.
        namespace: its namespace.
        spec: its ``spec``.
        deps: its ``deps``.
        base: name of the workload, and the beginning of the other objects' names.
        version: MatrixOne's version; None when neither spec nor image tag tells.
        operator: version of the operator's behaviour that the set asks for.
        cluster: name of the cluster that the set is part of; empty for one on its own.
        restarted: when its Pods were to be restarted, in the words of whoever asked; or empty.
    """

    kind: str
    owner: str
    namespace: str
    spec: Fields
    deps: Fields
    base: str
    version: versions.Version | None
    operator: versions.Version
    cluster: str = ""
    restarted: str = ""

    @classmethod
    def of(cls, kind: str, resource: Resource) -> SetContext:
        """Read a resource.

        Raises:
            InvalidSpec: It has no usable name, namespace or spec.
        """
        root = Fields("", resource)
        if resource.get("kind", kind) != kind:
            raise root.refuse("kind", f"must be {kind}, not {resource.get('kind')!r}")
        owner = root.table("metadata").required_text("name")
        names.check_owner_name(kind, owner)
        spec = root.table("spec")
        operator = versions.operator_version(spec.text("operatorVersion"))
        return cls(
            kind=kind,
            owner=owner,
            namespace=namespace_of(resource),
            spec=spec,
            deps=root.table("deps"),
            base=names.base_name(kind, owner),
            version=versions.matrixone_version(
                spec.text("semanticVersion"), spec.text("image"), operator
            ),
            operator=operator,
            cluster=root.table("metadata").table("labels").text(names.LABEL_CLUSTER),
            restarted=root.table("metadata").table("annotations").text(names.ANNOTATION_RESTARTED),
        )

    @property
    def labels(self) -> dict[str, str]:
        """Labels of every object of the set."""
        labels = names.object_labels(self.kind, self.owner, self.namespace)
        return {**labels, names.LABEL_CLUSTER: self.cluster} if self.cluster else labels

    @property
    def selector(self) -> dict[str, str]:
        """Labels that select the set's Pods."""
        return names.selector_labels(self.kind, self.owner, self.namespace)

    @property
    def headless(self) -> str:
        """Name of the headless Service."""
        return names.headless_name(self.base)

    @property
    def domain(self) -> str:
        """What follows the names of Services in addresses."""
        return names.service_domain(self.namespace, self.spec.text("clusterDomain"))

    @property
    def prometheus_scheme(self) -> str:
        """Where scrape annotations are set: ``Pod``, ``Service``, or empty without metrics."""
        if not self.spec.flag("exportToPrometheus"):
            return ""
        return self.spec.choice("promDiscoveryScheme", ("Pod", "Service"), "Service")

    def manifest(
        self,
        api_version: str,
        kind: str,
        name: str,
        body: Mapping[str, Any],
        annotations: Mapping[str, str] | None = None,
    ) -> Manifest:
        """Return an object of this set."""
        metadata: dict[str, Any] = {
            "name": name,
            "namespace": self.namespace,
            "labels": self.labels,
        }
        if annotations:
            metadata["annotations"] = dict(annotations)
        return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **body}


def namespace_of(resource: Resource) -> str:
    """Return a resource's namespace; ``default`` when it names none, as kubectl would."""
    return Fields("", resource).table("metadata").text("namespace") or "default"


def dependency_of(resource: Resource, name: str) -> tuple[str, str] | None:
    """Return namespace and name of the resource that ``deps.<name>`` refers to.

    The namespace may be left out and is the resource's own then. None when there is no reference.

    Raises:
        InvalidSpec: The reference has no name.
    """
    deps = Fields("", resource).table("deps")
    if deps.raw(name) is None:
        return None
    metadata = deps.table(name).table("metadata")
    return metadata.text("namespace") or namespace_of(resource), metadata.required_text("name")


def referenced(references: References, name: str) -> Resource | None:
    """Return the resource that ``deps.<name>`` refers to; None if it was not found."""
    found = {
        "logSet": references.get("logSet"),
        "dnSet": references.get("dnSet"),
        "cnset": references.get("cnSet"),
    }
    return found[name]


def replicas_of(spec: Fields) -> int | None:
    """Return how many Pods are desired; None leaves the number to whoever scales."""
    return spec.number("replicas")


def required_replicas(spec: Fields) -> int:
    """Return how many Pods are desired, where the number shapes more than the workload."""
    replicas = replicas_of(spec)
    if replicas is None:
        raise InvalidSpec(spec.at("replicas"), "must be set")
    return replicas
