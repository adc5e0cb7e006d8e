# SPDX-License-Identifier: Apache-2.0
"""Which version of MatrixOne has written the data of a database, and which may run on them.

An older transaction node cannot read the log that a newer one has written: it panics while it
replays it, and a second raise does not help (seen from 4.2.0 back to 3.0.9, and from 3.0.9 back to
1.3). So the transaction node is the point of no return of an upgrade: once one of a newer minor
release has started, an earlier release is refused. Within a minor release, versions are free, and
a version that cannot be read, as that of the tag ``nightly``, is neither lower nor higher.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..admission.shapes import FORBIDDEN, Mistake
from ..api import names, versions
from ..api.pods import has_started
from ..api.types import Resource
from ..reporting import pods as pod_status

Pod = Mapping[str, Any]

FIELD = "dataVersion"
"""Of the status of a DNSet: what `data_version` returned."""


def data_version(resource: Resource, pods: Iterable[Pod]) -> versions.Version | None:
    """Return the newest version that has written the data, as far as it is known.

    Args:
        resource: the DNSet, or its cluster with the status of the DNSet, with its status so far.
        pods: of the transaction node. One counts from the first start of its main container on,
            however that ended.

    Returns:
        What the annotation says where there is one; None if nothing has started, or only what
        names no version.
    """
    recorded = written_by(resource, resource.get("status"))
    if _annotated(resource) is not None:
        return recorded
    started = (
        versions.parse(pod_status.running_version([pod])) for pod in pods if has_started(pod)
    )
    known = [version for version in (recorded, *started) if version is not None]
    return max(known, key=lambda version: version.numbers, default=None)


def written_by(resource: Resource, status: Any) -> versions.Version | None:
    """Return which version has written the data by what is on record; None if that is unknown.

    Args:
        resource: the DNSet or its cluster; an annotation of it overrides the status, for whoever
            knows better: after volumes were restored, or where tags named a wrong version.
        status: of the DNSet, as it was reported last.
    """
    said = _annotated(resource)
    if said is not None:
        return said
    recorded = status.get(FIELD) if isinstance(status, Mapping) else None
    return versions.parse(str(recorded or ""))


def refusal(spec: Mapping[str, Any], written: versions.Version | None) -> str:
    """Return why what a DNSet asks for must not run on its data; empty if it may.

    Args:
        spec: of the DNSet.
        written: what has written the data, see `written_by`; None if that is unknown.
    """
    asked = asked_version(spec)
    if asked is None or written is None or asked.release >= written.release:
        return ""
    major, minor = written.release
    return (
        f"MatrixOne {asked} cannot read the data that {written} has written; set {major}.{minor} "
        "or newer, or restore a backup into a new cluster"
    )


def asked_version(spec: Mapping[str, Any]) -> versions.Version | None:
    """Return the version that a spec asks for; in any image, the tag before a digest names it."""
    return versions.matrixone_version(
        str(spec.get("semanticVersion") or ""),
        str(spec.get("image") or ""),
        versions.NEWEST_OPERATOR_VERSION,
    )


def naming_field(spec: Mapping[str, Any]) -> str:
    """Return the field of a DNSet's spec that names its version."""
    return "semanticVersion" if spec.get("semanticVersion") else "image"


def data_mistakes(resource: Resource) -> Iterator[Mistake]:
    """Yield what is wrong with a DNSet on the data that its status, or its annotation, tells of.

    Args:
        resource: the DNSet, with a spec.
    """
    yield from annotation_mistakes(resource)
    spec = resource["spec"]
    found = refusal(spec, written_by(resource, resource.get("status")))
    if found:
        field = naming_field(spec)
        yield Mistake(f"spec.{field}", found, FORBIDDEN, value=spec.get(field))


def annotation_mistakes(resource: Resource) -> Iterator[Mistake]:
    """Yield what is wrong with the annotation: a text that is no version would switch this off."""
    text = _annotation(resource)
    if text and versions.parse(text) is None:
        field = f"metadata.annotations[{names.ANNOTATION_DATA_VERSION}]"
        yield Mistake(field, f"must be a version such as 3.0.18, not {text[:64]!r}", value=text)


def _annotated(resource: Resource) -> versions.Version | None:
    return versions.parse(_annotation(resource))


def _annotation(resource: Resource) -> str:
    annotations = (resource.get("metadata") or {}).get("annotations") or {}
    return str(annotations.get(names.ANNOTATION_DATA_VERSION) or "")
