# SPDX-License-Identifier: Apache-2.0
"""What MatrixOne's BACKUP statement writes, and how to read its lists.

=====================  =========================================================================
``mo_meta``            CSV: version of the format, build, names of configuration files
``config/*``           these files, where the process was started with a launch file
``hakeeper/hk_data``   state of HAKeeper, a protocol buffer
``tae/tae_list``       CSV: path below ``tae/``, bytes of content, sha256 of the content in hex,
                       ``true`` if it is in this backup or ``false`` if in an earlier one, and the
                       timestamp at which it was created
``tae/tae_sum``        one line of CSV: UTC time, bytes in all, timestamp of the snapshot, type
``tae/*``              data objects
``tae/ckp/``, ``gc/``  checkpoints and the state of garbage collection
=====================  =========================================================================

``mo_meta``, ``hk_data``, the lists and configuration files have a sibling ``.sha256`` with the 32
bytes of their checksum. Checkpoints that were rewritten for the backup have no checksum in the
list. Source: ``pkg/backup`` of MatrixOne 1.3.
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from typing import Final

META: Final = "mo_meta"
HAKEEPER: Final = "hakeeper/hk_data"
DATA: Final = "tae/"
LIST: Final = "tae/tae_list"
SUMMARY: Final = "tae/tae_sum"
CHECKSUM_SUFFIX: Final = ".sha256"
OWN_SUMS: Final = "matrixone-backup.sha256"
"""Checksums that ``tae_list`` lacks, taken when the backup was made, as ``sha256sum`` has them."""
LARGEST_LIST: Final = 64 << 20
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_TIMESTAMP: Final = re.compile(r"\d+-\d+")


class MalformedList(Exception):
    """A list of the backup is not what MatrixOne writes."""


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file of the database.

    Attributes:
        path: below ``tae/`` in a backup, below the shared storage in a cluster.
        size: bytes of content.
        sha256: of the content in hex; None when it is not known.
        here: whether it is in this backup; else it is in one that this one continues.
    """

    path: str
    size: int
    sha256: str | None
    here: bool


@dataclass(frozen=True, slots=True)
class Summary:
    """The line of ``tae_sum``.

    Attributes:
        size: bytes of all files of the list.
        timestamp: of the snapshot, ``<nanoseconds>-<logical>``.
        type: as the statement gave it; empty for a full backup.
    """

    size: int
    timestamp: str
    type: str


def data_files(content: bytes) -> list[DataFile]:
    """Read ``tae_list``.

    Of two lines for a path the one with a checksum counts.

    Raises:
        MalformedList: a line is none, or a path leads elsewhere.
    """
    found: dict[str, DataFile] = {}
    for number, line in enumerate(_lines(content, LIST), start=1):
        try:
            file = _data_file(line)
        except (ValueError, MalformedList) as error:
            raise MalformedList(f"{LIST}, line {number}: {error}") from None
        earlier = found.get(file.path)
        if earlier is None or (earlier.sha256 is None and file.sha256):
            found[file.path] = file
    return list(found.values())


def _data_file(line: list[str]) -> DataFile:
    if len(line) != 5:
        raise MalformedList(f"{len(line)} columns instead of 5")
    path, size, sha256, here, _last = line
    require_inside(path)
    if sha256 and not _SHA256.fullmatch(sha256):
        raise MalformedList("the third column is no sha256")
    if here not in ("true", "false"):
        raise MalformedList("the fourth column is neither true nor false")
    return DataFile(path, _natural(size), sha256 or None, here == "true")


def summary(content: bytes) -> Summary:
    """Read ``tae_sum``.

    Raises:
        MalformedList: it is not one line of four columns, with a timestamp.
    """
    lines = _lines(content, SUMMARY)
    if len(lines) != 1 or len(lines[0]) != 4:
        raise MalformedList(f"{SUMMARY} is not one line of 4 columns")
    _path, size, timestamp, kind = lines[0]
    if not _TIMESTAMP.fullmatch(timestamp):
        raise MalformedList(f"{SUMMARY} has no timestamp")
    try:
        return Summary(_natural(size), timestamp, kind)
    except ValueError as error:
        raise MalformedList(f"{SUMMARY}: {error}") from None


def sums(content: bytes) -> dict[str, str]:
    """Read `OWN_SUMS`: sha256 by path below the backup's folder.

    Raises:
        MalformedList: a line is none.
    """
    found = {}
    for line in _text(content, OWN_SUMS).splitlines():
        sha256, _gap, path = line.partition("  ")
        if not _SHA256.fullmatch(sha256) or not path:
            raise MalformedList(f"{OWN_SUMS} has a line that is no checksum")
        require_inside(path)
        found[path] = sha256
    return found


def sums_text(by_path: dict[str, str]) -> bytes:
    """Return `OWN_SUMS`, which ``sha256sum --check`` reads for what is in a bucket."""
    return "".join(f"{by_path[path]}  {path}\n" for path in sorted(by_path)).encode()


def require_inside(path: str) -> None:
    """Check that a path of a list stays below its folder.

    Raises:
        MalformedList: it does not.
    """
    parts = path.split("/")
    if any(part in ("", ".", "..") for part in parts) or "\0" in path or "\n" in path:
        raise MalformedList(f"{path!r} is no path below the backup")


def _natural(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise ValueError(f"{text[:40]!r} is no number of bytes")
    return int(text)


def _lines(content: bytes, name: str) -> list[list[str]]:
    try:
        return list(csv.reader(io.StringIO(_text(content, name), newline=""), strict=True))
    except csv.Error as error:
        raise MalformedList(f"{name} is no CSV: {error}") from None


def _text(content: bytes, name: str) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise MalformedList(f"{name} is no UTF-8") from None
