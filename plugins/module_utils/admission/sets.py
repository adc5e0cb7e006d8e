# SPDX-License-Identifier: Apache-2.0
"""What is wrong with the spec of a set of any kind, wherever it stands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ..api import names, toml, versions
from ..api.errors import InvalidSpec, TomlError
from . import formats
from .containers import unknown_claims
from .pods import ANNOTATIONS, OVERLAY
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
        names.VOLUME_TLS,
    }
)
_PLAIN: Final = Table(
    {
        "allowedNamespaces": Items(Text(formats.DNS_LABEL)),
        "serviceAnnotations": ANNOTATIONS,
        "loadBalancerClass": Text(formats.label_key),
        "loadBalancerSourceRanges": Items(Text(formats.network)),
    }
)


def set_mistakes(path: str, spec: Mapping[str, Any]) -> Iterator[Mistake]:
    """Yield what is wrong with what sets of all kinds have.

    Args:
        path: of the spec, e.g. ``spec`` or ``spec.tn``.
        spec: as the API server stores it.
    """
    yield from _config(f"{path}.config", spec.get("config"))
    for field in ("resources", "helperResources"):
        yield from unknown_claims(f"{path}.{field}", spec.get(field) or {})
    yield from overlay_mistakes(OVERLAY, f"{path}.overlay", spec.get("overlay"))
    yield from _PLAIN.mistakes(path, spec)


def overlay_mistakes(shape: Shape, path: str, overlay: Any) -> Iterator[Mistake]:
    """Yield what is wrong with an overlay."""
    if isinstance(overlay, Mapping):
        given = {name: value for name, value in overlay.items() if value not in _UNSET}
        fits = True
        for mistake in shape.mistakes(path, given):
            fits = False
            yield mistake
        if fits:
            yield from _mounts(path, given)


def _mounts(path: str, overlay: Mapping[str, Any]) -> Iterator[Mistake]:
    """Yield the mounts whose volume is neither in the overlay nor one that a Pod of ours has."""
    volumes = [*(overlay.get("volumes") or []), *_metadata(overlay.get("volumeClaims"))]
    known = {str(volume.get("name")) for volume in volumes} | _OWN_VOLUMES
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


def _config(path: str, config: Any) -> Iterator[Mistake]:
    if config is None:
        return
    try:
        toml.dump(toml.parse(config, path))
    except InvalidSpec as error:
        yield Mistake(path, error.message, value=config)
    except TomlError as error:
        yield Mistake(path, str(error), value=config)


def version_warnings(spec: Mapping[str, Any]) -> Iterator[str]:
    """Warn of a spec that names no version of MatrixOne, neither itself nor by its image's tag."""
    operator = versions.operator_version(str(spec.get("operatorVersion") or ""))
    said, image = str(spec.get("semanticVersion") or ""), str(spec.get("image") or "")
    if versions.matrixone_version(said, image, operator) is None:
        yield from unknown_version(said or versions.tag_of_version(image, operator))


def unknown_version(tag: Any) -> Iterator[str]:
    """Warn of a version that cannot be read; there is none for an empty tag."""
    if tag and versions.parse(str(tag)) is None:
        yield (
            f"spec.semanticVersion: {str(tag)!r} names no version of MatrixOne; features that "
            "depend on the version are off until it is given"
        )
