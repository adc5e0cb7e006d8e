# SPDX-License-Identifier: Apache-2.0
"""Images that a user brings: archives of ``docker save``, or OCI layouts as a tar, also gzipped.

An archive is checked before a node sees it, and copied under the name by which Pods find it:
configuration, with the entrypoint, and layers stay as they are. Formats: OCI image-spec
(image-layout, image-index, manifest), and ``manifest.json`` of moby's image tarballs.
"""

import hashlib
import json
import re
import tarfile
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from testbed.images import layers, oci
from testbed.images.archives import Archive, normal, opened
from testbed.images.oci import Entry

PROGRAM = "mo-service"
"""What the containers of MatrixOne start, in the root folder of their image."""

_MOST_DESCRIPTORS = 1000
_MOST_LAYERS = 500
_CHUNK = 1 << 20
_VERSION = re.compile(r"v?(\d+\.\d+\.\d+[A-Za-z0-9_.-]*)")
_INDEXES = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
_NAMES = ("io.containerd.image.name", "org.opencontainers.image.ref.name")
_VERSION_KEY = "org.opencontainers.image.version"

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Found:
    """The image of an archive that this machine can run.

    Attributes:
        manifest: its manifest, byte for byte.
        media_type: of the manifest.
        blobs: members of the archive by digest: configuration, then layers from the lowest.
        names: full names or tags that the archive gives it.
        versions: what its annotations and labels call its version.
    """

    manifest: bytes
    media_type: str
    blobs: Mapping[str, tarfile.TarInfo]
    names: frozenset[str]
    versions: frozenset[str]


def version(path: Path) -> str:
    """Return the version of the image in an archive; empty if the archive does not say it.

    Raises:
        ArchiveError: the archive has not one image that this machine can run.
    """
    with opened(path) as archive:
        image = _image(archive)
    tags = {name.partition("@")[0].rpartition("/")[2].rpartition(":")[2] for name in image.names}
    for words in (tags, image.versions):
        found = {match[1] for match in map(_VERSION.fullmatch, words) if match}
        if found:
            return found.pop() if len(found) == 1 else ""
    return ""


def write(path: Path, reference: str, target: Path) -> Path:
    """Check an archive and write its image under another name.

    Args:
        path: the archive of the user.
        reference: full name of the image (``docker.io/library/name:tag``).
        target: an OCI archive; it appears only when it is complete.

    Raises:
        ArchiveError: the archive is damaged, hostile or has not one image for this machine, or the
            copy cannot be written.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with (
        opened(path) as archive,
        tempfile.TemporaryDirectory(dir=target.parent, prefix=".draft-") as folder,
    ):
        draft = Path(folder) / "image.tar"
        image = _image(archive)
        _check_layers(archive, image)
        try:
            with tarfile.open(draft, "w", format=tarfile.PAX_FORMAT) as copy:
                _copy(archive, image, reference, copy)
        except OSError as error:
            raise archive.error(f"cannot be copied to {target}", str(error)) from error
        draft.replace(target)
    return target


def _image(archive: Archive) -> Found:
    """Return the image for this machine; there has to be one.

    Raises:
        ArchiveError: there is none, or several.
    """
    try:
        if "index.json" in archive.members:
            found = _of_layout(archive)
        elif "manifest.json" in archive.members:
            found = _of_docker(archive)
        else:
            raise archive.error(
                "is a tar without an image (neither index.json nor manifest.json)",
                "write it with `docker save`, not with `docker export`",
            )
    except (AttributeError, KeyError, TypeError) as error:
        raise archive.error("has documents of an unknown form") from error
    machine = f"linux/{oci.architecture()}"
    if not found:
        platforms = ", ".join(sorted(archive.platforms)) or "none"
        remedy = f"save it with --platform {machine}"
        raise archive.error(f"has no image for {machine}, only: {platforms}", remedy)
    if len(found) > 1:
        names = sorted(name for image in found for name in image.names or {"one without a name"})
        raise archive.error(
            f"has {len(found)} images for {machine} ({', '.join(names)})", "save only one"
        )
    return found[0]


def _of_layout(archive: Archive) -> list[Found]:
    """Return the images of an OCI layout that this machine can run."""
    found: dict[str, Found] = {}
    pending: list[tuple[Json, Json]] = [(entry, {}) for entry in _manifests(archive, "index.json")]
    count = 0
    while pending:
        descriptor, inherited = pending.pop()
        count += 1
        if count > _MOST_DESCRIPTORS:
            raise archive.error(f"lists more than {_MOST_DESCRIPTORS} images", "save only one")
        annotations = {**inherited, **(descriptor.get("annotations") or {})}
        name = archive.blob(descriptor)
        if descriptor.get("mediaType") in _INDEXES:
            pending += [(entry, annotations) for entry in _manifests(archive, name)]
        elif _fits(archive, descriptor.get("platform")):
            image = _of_manifest(archive, descriptor, annotations)
            if image and name in found:
                image = replace(image, names=image.names | found[name].names)
            if image:
                found[name] = image
    return list(found.values())


def _manifests(archive: Archive, name: str) -> list[Json]:
    _, index = archive.document(name)
    return list(index["manifests"])


def _fits(archive: Archive, platform: Json | None) -> bool:
    """Whether an image of this platform runs here; one that is not stated may."""
    if platform is None:
        return True
    system, architecture = str(platform.get("os")), str(platform.get("architecture"))
    if system != "unknown":  # as attestations have it
        archive.platforms.add(f"{system}/{architecture}")
    return (system, architecture) == ("linux", oci.architecture())


def _of_manifest(archive: Archive, descriptor: Json, annotations: Json) -> Found | None:
    encoded, manifest = archive.document(archive.blob(descriptor))
    _require_digest(archive, descriptor["digest"], hashlib.sha256(encoded).hexdigest())
    listed = manifest["layers"]
    if len(listed) > _MOST_LAYERS:
        raise archive.error(f"has an image of {len(listed)} layers")
    _, config = archive.document(archive.blob(manifest["config"]))
    if not _fits(archive, config):
        return None
    blobs = {
        str(blob["digest"]): archive.open(archive.blob(blob))[0]
        for blob in (manifest["config"], *listed)
    }
    names = {str(annotations[key]) for key in _NAMES if key in annotations}
    media_type = manifest.get("mediaType") or descriptor.get("mediaType") or oci.MANIFEST
    versions = _versions(config, annotations, manifest.get("annotations"))
    return Found(encoded, str(media_type), blobs, frozenset(names), versions)


def _versions(config: Json, *annotations: Json | None) -> frozenset[str]:
    labels = (config.get("config") or {}).get("Labels")
    stated = (labels, *annotations)
    return frozenset(str(one[_VERSION_KEY]) for one in stated if one and _VERSION_KEY in one)


def _of_docker(archive: Archive) -> list[Found]:
    """Return the images of an archive of ``docker save`` before it wrote OCI layouts."""
    _, listed = archive.document("manifest.json")
    return [image for entry in listed if (image := _of_entry(archive, entry))]


def _of_entry(archive: Archive, entry: Json) -> Found | None:
    encoded, config = archive.document(normal(entry["Config"]))
    if not _fits(archive, config):
        return None
    names = [normal(name) for name in entry["Layers"]]
    if len(names) > _MOST_LAYERS:
        raise archive.error(f"has an image of {len(names)} layers")
    described = [oci.descriptor(oci.CONFIG, hashlib.sha256(encoded).hexdigest(), len(encoded))]
    members = [archive.open(normal(entry["Config"]))[0]]
    for name in names:
        member, content = archive.open(name)
        is_compressed = content.read(len(layers.GZIP)) == layers.GZIP
        content.seek(0)
        media_type = f"{oci.LAYER}+gzip" if is_compressed else oci.LAYER
        described.append(oci.descriptor(media_type, _hexdigest(content), member.size))
        members.append(member)
    manifest = json.dumps(oci.manifest(described[0], described[1:]), sort_keys=True).encode()
    blobs = {one["digest"]: member for one, member in zip(described, members, strict=True)}
    tags = frozenset(map(str, entry.get("RepoTags") or ()))
    return Found(manifest, oci.MANIFEST, blobs, tags, _versions(config))


def _hexdigest(content: IO[bytes]) -> str:
    digest = hashlib.sha256()
    while chunk := content.read(_CHUNK):
        digest.update(chunk)
    return digest.hexdigest()


def _require_digest(archive: Archive, digest: str, found: str) -> None:
    if digest != f"sha256:{found}":
        raise archive.error(f"is damaged: {digest[:19]}… has another content")


def _check_layers(archive: Archive, image: Found) -> None:
    """Refuse layers that a node would not unpack, or not as this image's author meant it.

    Raises:
        ArchiveError: a layer is damaged or leads out of the image, or the program is missing.
    """
    has_program = False
    for number, (digest, member) in enumerate(image.blobs.items()):
        content = archive.tar.extractfile(member)
        if content is None:
            raise archive.error(f"lacks {digest[:19]}…")
        _require_digest(archive, digest, _hexdigest(content))
        if number == 0:  # the configuration
            continue
        content.seek(0)
        try:
            has_program |= PROGRAM in layers.names(content)
        except layers.LayerError as error:
            raise archive.error(f"has a layer {digest[:19]}… that {error}") from error
    if not has_program:
        remedy = "give an image of MatrixOne, whose containers start it"
        raise archive.error(f"has no /{PROGRAM} in its image", remedy)


def _copy(archive: Archive, image: Found, reference: str, copy: tarfile.TarFile) -> None:
    for digest, member in image.blobs.items():
        info = tarfile.TarInfo(f"blobs/{digest.replace(':', '/')}")
        info.size, info.mode = member.size, 0o644
        copy.addfile(info, archive.tar.extractfile(member))
    manifest = hashlib.sha256(image.manifest).hexdigest()
    oci.add(copy, Entry(f"blobs/sha256/{manifest}", content=image.manifest, mode=0o644))
    described = oci.descriptor(image.media_type, manifest, len(image.manifest))
    oci.add_index(copy, described, reference)
