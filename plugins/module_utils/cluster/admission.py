# SPDX-License-Identifier: Apache-2.0
"""What the schema of a MatrixOneCluster cannot say."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from ..admission.sets import version_warnings
from ..admission.shapes import Mistake, look_for
from ..admission.storage import mount_mistakes
from ..api import names, versions
from ..api.errors import InvalidSpec
from ..api.types import Resource
from . import hibernation, maintenance
from .data_version import data_mistakes
from .parts import parts_of
from .rendering import render_matrixonecluster
from .upgrading import unfinished_mistakes


def cluster_mistakes(resource: Resource) -> list[Mistake]:
    """Return what is wrong with a cluster's components, or else with their composition."""
    parts = parts_of(resource["spec"])
    found = look_for(
        itertools.chain(
            (mistake for part, path, spec in parts for mistake in part.judge.mistakes(path, spec)),
            _of_mounts(resource["spec"]),
            hibernation.mistakes(resource),
            maintenance.mistakes(resource),
        )
    )
    return found or list(_of_composition(resource))


def _of_mounts(spec: Mapping[str, Any]) -> Iterator[Mistake]:
    """Yield the nodes whose overlay does not mount a shared folder that only overlays mount."""
    storage = (spec.get("logService") or {}).get("sharedStorage") or {}
    files = storage.get("fileSystem") or {}
    folder = files.get("path")
    if not folder or files.get("volume") or files.get("claim"):
        return
    for part, path, component in parts_of(spec):
        if part.kind in (names.DN_SET, names.CN_SET):
            yield from mount_mistakes(f"{path}.overlay", folder, component.get("overlay"))


def _of_composition(resource: Resource) -> Iterator[Mistake]:
    """Yield what is wrong when the components are put together."""
    metadata = resource["metadata"]
    if not metadata.get("name"):
        # With generateName, the API server sets the name after admission.
        return
    namespace = metadata.get("namespace") or "default"
    placed = {**resource, "metadata": {**metadata, "namespace": namespace}}
    try:
        children = render_matrixonecluster(placed)
    except InvalidSpec as error:
        yield Mistake(error.field_path, error.message)
        return
    for child in children:
        if child["kind"] == names.DN_SET:
            yield from data_mistakes(resource, child)
            yield from unfinished_mistakes(resource, child)


def cluster_warnings(resource: Resource, old: Resource | None) -> list[str]:
    """Return what a user should know about a valid cluster.

    Args:
        resource: as it is to be.
        old: as it was, for an update.
    """
    spec, before = resource["spec"], (old or {}).get("spec") or {}
    earlier = {path: one for _part, path, one in parts_of(before)}
    parts = [(part.judge, path, one) for part, path, one in parts_of(spec)]
    return [
        *version_warnings({**spec, "image": f"image:{spec.get('version') or ''}"}),
        *(
            warning
            for judge, path, one in parts
            for warnings in judge.warnings
            for warning in warnings(path, one)
        ),
        *(
            warning
            for judge, path, one in parts
            for warnings_of_change in judge.warnings_of_change
            for warning in warnings_of_change(path, one, earlier.get(path) or {})
        ),
        *_older_version(spec, before),
        *_mixed_versions(spec),
    ]


def cluster_deletion_warnings(resource: Resource) -> list[str]:
    """Return what a user should know who deletes a cluster."""
    return [
        warning
        for part, path, spec in parts_of(resource["spec"])
        for warnings in part.judge.deletion_warnings
        for warning in warnings(path, spec)
    ]


def _older_version(spec: Mapping[str, Any], before: Mapping[str, Any]) -> Iterator[str]:
    """Warn of a downgrade that is not refused: within a minor release, or before anything ran."""
    now, then = _version(spec), _version(before)
    if now and then and now.numbers < then.numbers:
        yield (
            f"spec.version: {now} is older than {then}, which may have written data that it cannot "
            "read; have a backup"
        )


def _mixed_versions(spec: Mapping[str, Any]) -> Iterator[str]:
    desired = _version(spec)
    for part, path, component in parts_of(spec):
        own = versions.parse(versions.image_tag(_without_digest(component.get("image"))))
        if part.kind == names.WEB_UI or not (desired and own):
            continue
        if own.release != desired.release:
            yield f"{path}.image: {own} beside {desired}; MatrixOne does not support mixed versions"


def _version(spec: Mapping[str, Any]) -> versions.Version | None:
    return versions.parse(_without_digest(spec.get("semanticVersion") or spec.get("version")))


def _without_digest(image: Any) -> str:
    return str(image or "").partition("@")[0]
