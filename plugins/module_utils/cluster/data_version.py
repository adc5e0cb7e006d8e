# SPDX-License-Identifier: Apache-2.0
"""Which version has written the data of a cluster: what its DNSet says, in the terms of a cluster.

A cluster refuses what its DNSet would refuse, before the log service is changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..admission.shapes import FORBIDDEN, Mistake
from ..api import names, versions
from ..api.fields import as_table
from ..api.types import Manifest, Resource
from ..transaction import data_version
from ..workload.component import Reference
from ..workload.plans import Observed
from ..workload.references import of_set

PODS = "tnPods"
"""Label of the Pods of the transaction node, which may be newer than the status of their DNSet."""


def data_references(resource: Resource) -> dict[str, Reference]:
    """Return what to observe."""
    dn_set = {"kind": names.DN_SET, "metadata": resource["metadata"]}
    return {PODS: of_set(dn_set, "v1", "Pod")}


def with_data_version(resource: Resource, observed: Observed) -> Resource:
    """Return a cluster whose status says what is known of its data at present.

    Args:
        resource: with its status so far.
        observed: what its references led to.
    """
    status = as_table(resource.get("status"))
    reported = as_table(as_table(observed.get("dnSet")).get("status"))
    tn = reported if data_version.FIELD in reported else as_table(status.get("tn"))
    found = data_version.data_version({**resource, "status": tn}, observed.get(PODS) or [])
    present = {**tn, data_version.FIELD: str(found)} if found else tn
    return {**resource, "status": {**status, "tn": present}}


def asked_by(resource: Resource) -> versions.Version | None:
    """Return the version that a cluster asks for, as that of its DNSet; nothing is rendered.

    None for a version that cannot be read, and for a cluster without a transaction node.
    """
    spec = as_table(resource.get("spec"))
    own = as_table(spec.get("tn" if spec.get("tn") is not None else "dn"))
    semantic = own.get("semanticVersion")
    return data_version.asked_version(
        {
            "semanticVersion": spec.get("semanticVersion") if semantic is None else semantic,
            "image": own.get("image") or f"image:{spec.get('version') or ''}",
        }
    )


def recorded(status: Any) -> dict[str, str]:
    """Return what a status of a cluster has on record, for while its DNSet has no status."""
    found = as_table(as_table(status).get("tn")).get(data_version.FIELD)
    return {data_version.FIELD: found} if found else {}


def data_mistakes(resource: Resource, dn_set: Manifest) -> Iterator[Mistake]:
    """Yield what is wrong with a cluster on the data that its status, or its annotation, tells of.

    Args:
        resource: the cluster.
        dn_set: that it is rendered to.
    """
    yield from data_version.annotation_mistakes(resource)
    tn = as_table(resource.get("status")).get("tn")
    found = data_version.refusal(dn_set["spec"], data_version.written_by(resource, tn))
    if found:
        value = dn_set["spec"].get(data_version.naming_field(dn_set["spec"]))
        yield Mistake(naming_field(resource["spec"]), found, FORBIDDEN, value=value)


def naming_field(spec: Mapping[str, Any]) -> str:
    """Return the path of the field of a cluster that names the version of its transaction node."""
    path = "tn" if spec.get("tn") is not None else "dn"
    own = as_table(spec.get(path))
    if own.get("semanticVersion"):
        return f"spec.{path}.semanticVersion"
    if spec.get("semanticVersion"):
        return "spec.semanticVersion"
    return f"spec.{path}.image" if own.get("image") else "spec.version"
