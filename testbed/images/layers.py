# SPDX-License-Identifier: Apache-2.0
"""Reading the layers of an image without unpacking them: what is in them, and that it stays there.

Layers are tars, as they are or gzipped (OCI image-spec, image layer changesets).
"""

import gzip
import tarfile
import zlib
from typing import IO

GZIP = b"\x1f\x8b"
"""What a gzipped file begins with."""
MOST_BYTES = 64 << 30
"""Of an image, without compression."""
_ZSTD = b"\x28\xb5\x2f\xfd"
_MOST_ENTRIES = 1_000_000


class LayerError(Exception):
    """A layer cannot be used; the message continues "a layer that …"."""


def leads_out(name: str) -> bool:
    """Whether a path leaves the folder in which it begins; an absolute one begins at the root."""
    depth = 0
    for part in parts(name):
        depth += -1 if part == ".." else 1
        if depth < 0:
            return True
    return False


def parts(name: str) -> list[str]:
    """Return the parts of a path that say something."""
    return [part for part in name.split("/") if part not in {"", "."}]


def names(content: IO[bytes]) -> frozenset[str]:
    """Return the names of what a layer has in the root folder of the image.

    Args:
        content: the layer from its beginning; it is read to its end.

    Raises:
        LayerError: it is damaged or too large, leads out of the image, or has another compression.
    """
    begin = content.read(len(_ZSTD))
    content.seek(0)
    if begin == _ZSTD:
        raise LayerError("is compressed with zstd: save the image again with gzip, or without")
    plain: IO[bytes] = content
    if begin.startswith(GZIP):
        plain = gzip.GzipFile(fileobj=content)  # type: ignore[assignment]
    try:
        with tarfile.open(fileobj=plain, mode="r|") as layer:
            return _names(layer)
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile, ValueError) as error:
        raise LayerError(f"is damaged ({error}): save the image again") from error


def _names(layer: tarfile.TarFile) -> frozenset[str]:
    found, count, size = set(), 0, 0
    while (member := layer.next()) is not None:
        count, size = count + 1, size + member.size
        if count > _MOST_ENTRIES or size > MOST_BYTES:
            raise LayerError("is larger than any image: refused")
        if leads_out(member.name) or (member.islnk() and leads_out(member.linkname)):
            raise LayerError(f"has {member.name!r}, which leads out of the image: refused")
        within = parts(member.name)
        if len(within) == 1:
            found.add(within[0])
        layer.members.clear()  # type: ignore[attr-defined]
    return frozenset(found)
