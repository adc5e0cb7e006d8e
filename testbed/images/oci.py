# SPDX-License-Identifier: Apache-2.0
"""Writing OCI image archives: a tar that ``ctr images import`` and ``docker load`` accept.

The same content gives the same bytes: entries are sorted, owners and times are fixed.
"""

import hashlib
import io
import json
import os
import platform
import tarfile
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar"
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Entry:
    """One file, link or folder of an image.

    Exactly one of ``source``, ``content`` and ``link`` is set, or none for a folder.

    Attributes:
        path: absolute path in the image.
        source: file whose content is taken.
        content: the content itself.
        link: target of a symbolic link.
        mode: permission bits.
    """

    path: str
    source: Path | None = None
    content: bytes | None = None
    link: str | None = None
    mode: int = 0o755


@dataclass(frozen=True, slots=True)
class Image:
    """What an image is called, what is in it and how it starts.

    Attributes:
        name: full reference (``docker.io/library/name:tag``).
        entries: its only layer; parent folders are added.
        entrypoint: command.
        environment: variables as ``NAME=value``.
        user: ``uid`` or ``uid:gid``.
    """

    name: str
    entries: Sequence[Entry]
    entrypoint: Sequence[str] = ()
    environment: Sequence[str] = ("PATH=/usr/local/bin:/usr/bin:/bin:/",)
    user: str = ""


def architecture() -> str:
    """Return this machine's architecture as images name it."""
    machine = platform.machine()
    return _ARCHITECTURES.get(machine, machine)


def _with_parents(entries: Iterable[Entry]) -> list[Entry]:
    complete = {entry.path.rstrip("/"): entry for entry in entries}
    for path in list(complete):
        for parent in Path(path).parents:
            if str(parent) != "/":
                complete.setdefault(str(parent), Entry(str(parent)))
    return [complete[path] for path in sorted(complete)]


def add(layer: tarfile.TarFile, entry: Entry) -> None:
    """Add an entry to a tar; its parent folders have to be there."""
    info = tarfile.TarInfo(entry.path.strip("/"))
    info.mode = entry.mode
    if entry.link is not None:
        info.type, info.linkname, info.mode = tarfile.SYMTYPE, entry.link, 0o777
        layer.addfile(info)
    elif entry.source is not None:
        with entry.source.open("rb") as file:
            info.size = os.fstat(file.fileno()).st_size
            layer.addfile(info, file)
    elif entry.content is not None:
        info.size = len(entry.content)
        layer.addfile(info, io.BytesIO(entry.content))
    else:
        info.type = tarfile.DIRTYPE
        layer.addfile(info)


def _digest(path: Path) -> str:
    content = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            content.update(chunk)
    return f"sha256:{content.hexdigest()}"


def descriptor(media_type: str, hexdigest: str, size: int) -> dict[str, Any]:
    """Return how a blob is referred to.

    Args:
        media_type: of its content.
        hexdigest: SHA-256 of its content.
        size: bytes.
    """
    return {"mediaType": media_type, "digest": f"sha256:{hexdigest}", "size": size}


def manifest(config: dict[str, Any], layers: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the manifest of an image.

    Args:
        config: descriptor of its configuration.
        layers: descriptors of its layers, from the lowest.
    """
    return {"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": list(layers)}


def add_index(archive: tarfile.TarFile, described: dict[str, Any], name: str) -> None:
    """Complete an archive of one image.

    Args:
        archive: it has the blobs.
        described: descriptor of the image's manifest.
        name: full reference, by which containerd knows the image.
    """
    names = {
        "io.containerd.image.name": name,
        "org.opencontainers.image.ref.name": name.rpartition(":")[2],
    }
    index = {
        "schemaVersion": 2,
        "mediaType": _INDEX,
        "manifests": [{**described, "annotations": names}],
    }
    for path, content in (("index.json", index), ("oci-layout", {"imageLayoutVersion": "1.0.0"})):
        add(archive, Entry(path, content=json.dumps(content).encode(), mode=0o644))


def _blob(archive: tarfile.TarFile, media_type: str, content: dict[str, Any]) -> dict[str, Any]:
    encoded = json.dumps(content, sort_keys=True).encode()
    digest = hashlib.sha256(encoded).hexdigest()
    add(archive, Entry(f"blobs/sha256/{digest}", content=encoded, mode=0o644))
    return descriptor(media_type, digest, len(encoded))


def _write_archive(archive: tarfile.TarFile, image: Image, layer: Path) -> None:
    digest = _digest(layer)
    add(archive, Entry(f"blobs/sha256/{digest[7:]}", source=layer, mode=0o644))
    config = {
        "architecture": architecture(),
        "os": "linux",
        "config": {
            "Entrypoint": list(image.entrypoint),
            "Env": list(image.environment),
            "User": image.user,
            "WorkingDir": "/",
        },
        "rootfs": {"type": "layers", "diff_ids": [digest]},
    }
    layers = [descriptor(LAYER, digest[7:], layer.stat().st_size)]
    listed = manifest(_blob(archive, CONFIG, config), layers)
    add_index(archive, _blob(archive, MANIFEST, listed), image.name)


def write(image: Image, target: Path) -> Path:
    """Write an image archive; ``target`` appears only when it is complete.

    Raises:
        OSError: a source cannot be read or the archive cannot be written.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".draft-") as folder:
        layer, draft = Path(folder) / "layer.tar", Path(folder) / "image.tar"
        with tarfile.open(layer, "w", format=tarfile.PAX_FORMAT) as archive:
            for entry in _with_parents(image.entries):
                add(archive, entry)
        with tarfile.open(draft, "w", format=tarfile.PAX_FORMAT) as archive:
            _write_archive(archive, image, layer)
        draft.replace(target)
    return target
