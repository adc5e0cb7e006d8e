# SPDX-License-Identifier: Apache-2.0
"""Why a resource is refused: everything that is wrong with it and was not before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from ..api import names, toml, versions
from ..api.errors import InvalidSpec
from ..api.types import Resource
from ..cluster.rendering import render_matrixonecluster
from .components import component_mistakes
from .shapes import Mistake

_COMPONENTS: Final = (
    ("logService", names.LOG_SET),
    ("tn", names.DN_SET),
    ("dn", names.DN_SET),
    ("tp", names.CN_SET),
    ("ap", names.CN_SET),
    ("proxy", names.PROXY_SET),
    ("webui", names.WEB_UI),
)


def mistakes_of(resource: Resource) -> list[Mistake]:
    """Return what is wrong with a resource of one of our kinds, beyond its schema."""
    spec = resource.get("spec")
    if not isinstance(spec, Mapping):
        return []
    if resource["kind"] != names.CLUSTER:
        return list(component_mistakes(resource["kind"], "spec", spec))
    found = list(_of_components(spec))
    return found or list(_of_composition(resource))


def refusals(resource: Resource, old: Resource | None) -> list[Mistake]:
    """Return why a resource may not be stored.

    Args:
        resource: as it is to be.
        old: as it is now; None for a new one. What is wrong with it already may stay, as with
            rules in CEL: a finalizer or a label must not depend on an old mistake.
    """
    found = mistakes_of(resource)
    if not found or old is None:
        return found
    known = mistakes_of(old)
    return [mistake for mistake in found if mistake not in known]


def _components(spec: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Kind, path and fields of each component that a cluster has."""
    for name, kind in _COMPONENTS:
        component = spec.get(name)
        if isinstance(component, Mapping):
            yield kind, f"spec.{name}", component
    for index, group in enumerate(spec.get("cnGroups") or []):
        yield names.CN_SET, f"spec.cnGroups[{index}]", group


def _places(kind: str, spec: Mapping[str, Any]) -> Iterable[tuple[str, str, Mapping[str, Any]]]:
    """Kind, path and fields of each component of a cluster, or of the set that it is."""
    return _components(spec) if kind == names.CLUSTER else [(kind, "spec", spec)]


def _of_components(spec: Mapping[str, Any]) -> Iterator[Mistake]:
    for kind, path, component in _components(spec):
        yield from component_mistakes(kind, path, component)


def _of_composition(resource: Resource) -> Iterator[Mistake]:
    """What comes of putting the children together."""
    metadata = resource["metadata"]
    if not metadata.get("name"):
        # The API server makes the name up after it has asked.
        return
    namespace = metadata.get("namespace") or "default"
    placed = {**resource, "metadata": {**metadata, "namespace": namespace}}
    try:
        render_matrixonecluster(placed)
    except InvalidSpec as error:
        yield Mistake(error.field_path, error.message)


def warnings_of(resource: Resource, old: Resource | None = None) -> list[str]:
    """Return what a user should know about a resource that is all right.

    Args:
        resource: as it shall be.
        old: as it was, for an update.
    """
    kind, spec = resource["kind"], resource.get("spec")
    if not isinstance(spec, Mapping):
        return []
    found = [*_unknown_version(kind, spec), *_disk_cache(kind, spec), *_locality(kind, spec)]
    if kind == names.CLUSTER:
        found += [*_older_version(spec, (old or {}).get("spec") or {}), *_mixed_versions(spec)]
    return found


def _older_version(spec: Mapping[str, Any], before: Mapping[str, Any]) -> Iterator[str]:
    """Tell of a step back; it is not refused, because a failed upgrade is left that way."""
    now, then = _version(spec), _version(before)
    if now and then and _numbers(now) < _numbers(then):
        yield (
            f"spec.version: {now} is older than {then}, which may have written data that it cannot "
            "read; have a backup"
        )


def _mixed_versions(spec: Mapping[str, Any]) -> Iterator[str]:
    wanted = _version(spec)
    for kind, path, component in _components(spec):
        own = versions.parse(versions.image_tag(component.get("image") or ""))
        if kind == names.WEB_UI or not (wanted and own):
            continue
        if _numbers(own)[:2] != _numbers(wanted)[:2]:
            yield f"{path}.image: {own} beside {wanted}; MatrixOne is not made to mix versions"


def _version(spec: Mapping[str, Any]) -> versions.Version | None:
    return versions.parse(str(spec.get("semanticVersion") or spec.get("version") or ""))


def _numbers(version: versions.Version) -> tuple[int, int, int]:
    return version.major, version.minor, version.patch


def _unknown_version(kind: str, spec: Mapping[str, Any]) -> Iterator[str]:
    if kind == names.WEB_UI or spec.get("semanticVersion"):
        return
    is_cluster = kind == names.CLUSTER
    tag = spec.get("version") if is_cluster else versions.image_tag(spec.get("image") or "")
    if tag and versions.parse(str(tag)) is None:
        yield (
            f"spec.semanticVersion: {str(tag)!r} names no version of MatrixOne; features that "
            "depend on the version are off until it is given"
        )


def _disk_cache(kind: str, spec: Mapping[str, Any]) -> Iterator[str]:
    for of_kind, path, component in _places(kind, spec):
        if kind == names.CLUSTER and of_kind not in (names.DN_SET, names.CN_SET):
            continue
        size = (component.get("sharedStorageCache") or {}).get("diskCacheSize")
        if size and not component.get("cacheVolume"):
            yield (
                f"{path}.sharedStorageCache.diskCacheSize: without cacheVolume the cache takes up "
                "the container's own file system"
            )


def _locality(kind: str, spec: Mapping[str, Any]) -> Iterator[str]:
    """Tell of log stores that all have a locality.

    But for the first ones, HAKeeper gives replicas that vote only to stores without a locality
    (selectStore in MatrixOne's pkg/hakeeper/checkers/logservice/filter.go). So nothing takes the
    place of a store that is lost, and the operator gives log stores none by itself.
    """
    for of_kind, path, component in _places(kind, spec):
        if of_kind != names.LOG_SET:
            continue
        try:
            config = toml.parse(component.get("config"), f"{path}.config")
        except InvalidSpec:
            continue
        if toml.get(config, ("logservice", "locality")):
            yield (
                f"{path}.config: with a locality in [logservice] the log stores get no replicas "
                "that vote; one that is lost would not be replaced"
            )
