# SPDX-License-Identifier: Apache-2.0
"""Archives that a user brings: tars, also gzipped, whose files can be read in any order.

Nothing of them is unpacked, and no file of this machine is read or written by a name in them.
"""

import gzip
import json
import re
import tarfile
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from testbed.errors import TestBedError
from testbed.images import layers
from testbed.places import cache_root

SAVE_AGAIN = "save the image again"

_SUFFIXES = (".tar", ".tar.gz", ".tgz")
_USTAR, _USTAR_AT = b"ustar", 257
_MOST_DOCUMENT = 4 << 20
_MOST_MEMBERS = 100_000
_CHUNK = 1 << 20
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")

Json = dict[str, Any]


class ArchiveError(TestBedError):
    """An archive cannot be used; the message says what is wrong with it and what to do."""


@dataclass
class Archive:
    """An archive whose members can be read in any order.

    Attributes:
        path: what the user named, for messages.
        tar: the archive, without compression.
        members: its files and links by name, without ``./``.
        platforms: of all images that were seen, for messages.
    """

    path: Path
    tar: tarfile.TarFile
    members: Mapping[str, tarfile.TarInfo]
    platforms: set[str] = field(default_factory=set)

    def error(self, problem: str, remedy: str = SAVE_AGAIN) -> ArchiveError:
        """Return an error about this archive."""
        return ArchiveError(f"{self.path} {problem}: {remedy}")

    def open(self, name: str) -> tuple[tarfile.TarInfo, IO[bytes]]:
        """Open a file of the archive, or what a link in it leads to.

        Raises:
            ArchiveError: there is no such file.
        """
        member = self.members.get(name)
        if member is not None and (member.issym() or member.islnk()):
            # Old versions of `docker save` write layers that are alike once.
            folder = Path(name).parent if member.issym() else Path()
            member = self.members.get(normal(str(folder / member.linkname)))
        content = self.tar.extractfile(member) if member is not None and member.isfile() else None
        if member is None or content is None:
            raise self.error(f"lacks {name}")
        return member, content

    def document(self, name: str) -> tuple[bytes, Any]:
        """Return a file of JSON: as it is, and parsed.

        Raises:
            ArchiveError: it is missing, or no JSON.
        """
        member, content = self.open(name)
        if member.size > _MOST_DOCUMENT:
            raise self.error(f"has {member.size} bytes in {name}")
        encoded = content.read()
        try:
            return encoded, json.loads(encoded)
        except (ValueError, RecursionError) as error:
            raise self.error(f"has no JSON in {name}") from error

    def blob(self, descriptor: Json) -> str:
        """Return the name of the file with a blob."""
        digest = str(descriptor.get("digest"))
        if not _DIGEST.fullmatch(digest):
            raise self.error(f"names a blob {digest[:80]!r}, not by its SHA-256")
        return f"blobs/{digest.replace(':', '/')}"


def is_archive(path: Path) -> bool:
    """Whether a file is meant to be an archive: by its name, or by what it begins with."""
    if path.name.endswith(_SUFFIXES):
        return True
    with path.open("rb") as file:
        begin = file.read(_USTAR_AT + len(_USTAR))
    return begin.startswith(layers.GZIP) or begin[_USTAR_AT:] == _USTAR


@contextmanager
def opened(path: Path) -> Iterator[Archive]:
    """Open an archive until the end of the block; a copy without compression goes with it.

    Raises:
        ArchiveError: also from reading it in the block: it is damaged, or no tar.
    """
    with tempfile.TemporaryDirectory(dir=_drafts(), prefix=".draft-") as folder:
        plain = _decompressed(path, Path(folder) / "plain.tar")
        try:
            with tarfile.open(plain, "r:") as tar:
                yield Archive(path, tar, _members(path, tar))
        except tarfile.TarError as error:
            problem = f"is not a whole tar or tar.gz archive of an image ({error})"
            raise ArchiveError(f"{path} {problem}: {SAVE_AGAIN}") from error


def _drafts() -> Path:
    folder = cache_root() / "images"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _decompressed(path: Path, target: Path) -> Path:
    """Return a file that can be read in any order: the archive, or a copy without gzip."""
    with path.open("rb") as file:
        if file.read(len(layers.GZIP)) != layers.GZIP:
            return path
    try:
        with gzip.open(path) as source, target.open("wb") as plain:
            while chunk := source.read(_CHUNK):
                plain.write(chunk)
                if plain.tell() > layers.MOST_BYTES:
                    raise ArchiveError(f"{path} has more than {layers.MOST_BYTES >> 30} GiB in it")
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        problem = f"is damaged or ends too early ({error})"
        raise ArchiveError(f"{path} {problem}: copy it or {SAVE_AGAIN}") from error
    except OSError as error:
        raise ArchiveError(f"{path} cannot be decompressed in {target.parent}: {error}") from error
    return target


def _members(path: Path, tar: tarfile.TarFile) -> dict[str, tarfile.TarInfo]:
    found: dict[str, tarfile.TarInfo] = {}
    for count, member in enumerate(tar):
        if count >= _MOST_MEMBERS:
            raise ArchiveError(f"{path} has more than {_MOST_MEMBERS} files: it is no image")
        if layers.leads_out(member.name):
            raise ArchiveError(f"{path} has a file {member.name!r}, outside of its folder: refused")
        found[normal(member.name)] = member
    return found


def normal(name: str) -> str:
    """Return a path of an archive as `Archive.members` has it; it never leads out of it."""
    kept: list[str] = []
    for part in layers.parts(name):
        if part == "..":
            del kept[-1:]
        else:
            kept.append(part)
    return "/".join(kept)
