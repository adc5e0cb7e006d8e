# SPDX-License-Identifier: Apache-2.0
"""What is wrong with the spec of one component, wherever it stands (core.md §11.4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ..api import names, toml
from ..api.errors import InvalidSpec, TomlError
from ..api.fields import Fields
from ..webui import rendering as webui
from . import formats
from .containers import unknown_claims
from .pods import ANNOTATIONS, CONTAINER_OVERLAY, OVERLAY
from .shapes import Items, Mistake, Shape, Table, Text

_UNSET: Final[tuple[Any, ...]] = (None, {}, [], "")
"""What takes the operator's own setting away, when an overlay has it."""
_OWN_VOLUMES: Final = frozenset(
    {
        names.VOLUME_DATA,
        names.VOLUME_CONFIG,
        names.VOLUME_BOOTSTRAP,
        names.VOLUME_GOSSIP,
        names.VOLUME_SHARDS,
        names.VOLUME_S3_SSL,
        names.VOLUME_BINARY,
        names.VOLUME_TEMP,
        names.VOLUME_SHARED,
    }
)
_TWO_NODES: Final = (
    "MatrixOne supports only one transaction node; with a second one, it does not start, or loses "
    "acknowledged rows"
)
_SERVICE: Final = Table(
    {
        "serviceAnnotations": ANNOTATIONS,
        "loadBalancerClass": Text(formats.label_key),
        "loadBalancerSourceRanges": Items(Text(formats.network)),
    }
)
_TWO_NAMES: Final = "config must not have both a [tn] and a [dn] table"


def component_mistakes(kind: str, path: str, spec: Mapping[str, Any]) -> Iterator[Mistake]:
    """Yield what is wrong.

    Args:
        kind: of the set that the spec belongs to.
        path: of the spec, e.g. ``spec`` or ``spec.tn``.
        spec: as the API server stores it.
    """
    if kind == names.DN_SET and (spec.get("replicas") or 0) > 1:
        yield Mistake(f"{path}.replicas", _TWO_NODES, value=spec["replicas"])
    yield from _config(kind, f"{path}.config", spec.get("config"))
    yield from unknown_claims(f"{path}.resources", spec.get("resources") or {})
    yield from _overlay(OVERLAY, f"{path}.overlay", spec.get("overlay"))
    yield from _SERVICE.mistakes(path, spec)
    if kind == names.WEB_UI:
        yield from _web_images(path, spec)
    sidecar = spec.get("pythonUdfSidecar")
    if kind == names.CN_SET and isinstance(sidecar, Mapping):
        place = f"{path}.pythonUdfSidecar"
        yield from unknown_claims(f"{place}.resources", sidecar.get("resources") or {})
        yield from _overlay(CONTAINER_OVERLAY, f"{place}.overlay", sidecar.get("overlay"))


def _overlay(shape: Shape, path: str, overlay: Any) -> Iterator[Mistake]:
    if isinstance(overlay, Mapping):
        given = {name: value for name, value in overlay.items() if value not in _UNSET}
        found = list(shape.mistakes(path, given))
        yield from found
        if not found:
            yield from _mounts(path, given)


def _web_images(path: str, spec: Mapping[str, Any]) -> Iterator[Mistake]:
    try:
        webui.images(Fields(path, dict(spec)))
    except InvalidSpec as error:
        yield Mistake(error.field_path, error.message, value=spec.get("image"))


def _mounts(path: str, overlay: Mapping[str, Any]) -> Iterator[Mistake]:
    """Yield the mounts whose volume is neither in the overlay nor one that a Pod of ours has."""
    made = [*(overlay.get("volumes") or []), *_metadata(overlay.get("volumeClaims"))]
    known = {str(volume.get("name")) for volume in made} | _OWN_VOLUMES
    places = [("volumeMounts", overlay.get("volumeMounts") or [])]
    for field in ("initContainers", "sidecarContainers"):
        for index, container in enumerate(overlay.get(field) or []):
            place = f"{field}[{index}].volumeMounts"
            places.append((place, container.get("volumeMounts") or []))
    for place, mounts in places:
        for index, mount in enumerate(mounts):
            if str(mount.get("name")) not in known:
                where = f"{path}.{place}[{index}].name"
                yield Mistake(where, f"there is no volume {mount.get('name')!r}")


def _metadata(claims: Any) -> Iterator[Mapping[str, Any]]:
    return (claim.get("metadata") or {} for claim in claims or [])


def _config(kind: str, path: str, config: Any) -> Iterator[Mistake]:
    if config is None:
        return
    try:
        table = toml.parse(config, path)
        toml.dump(table)
    except InvalidSpec as error:
        yield Mistake(path, error.message, value=config)
        return
    except TomlError as error:
        yield Mistake(path, str(error), value=config)
        return
    if kind == names.DN_SET and {"tn", "dn"} <= table.keys():
        yield Mistake(path, _TWO_NAMES, value=config)
