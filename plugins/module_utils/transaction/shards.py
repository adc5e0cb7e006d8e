# SPDX-License-Identifier: Apache-2.0
"""What a transaction node must not forget when its Pod is replaced: which shard it serves.

MatrixOne writes this down in a file of the node's own disk. A node without the file registers at
HAKeeper without a shard and gets one about ten seconds later, under a new number. A compute node
that asks HAKeeper in between sees a transaction node without shards, and for up to ten seconds
more it commits to none: it acknowledges rows that are not stored (MatrixOne 1.3; docs/change.md).
So the file is kept in a ConfigMap, and the start script puts it back.

The few lines that encode it are here: what decides imports no client, whose codec is for calls, and
the package crc32c is required of those who make backups alone.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from ..api import digests as digest
from ..api import names
from ..api.types import Manifest
from ..workload import configmaps as configmap
from ..workload.sets import SetContext

_CASTAGNOLI: Final = 0x82F63B78
_VARINT_BITS: Final = 7
_TEXT, _NUMBER = 2, 0
"""Wire types of protobuf."""
_LONGEST: Final = 2044
"""Bytes in a block of MatrixOne's files, behind their checksum."""


@dataclass(frozen=True, slots=True, order=True)
class TNShard:
    """A shard that a transaction node serves.

    Attributes:
        ordinal: of the node's Pod.
        shard: its number.
        log_shard: number of the log shard that it writes to.
        replica: number under which HAKeeper knows it on this node.
    """

    ordinal: int
    shard: int
    log_shard: int
    replica: int


def lines(shards: Iterable[TNShard]) -> str:
    """Return shards as text, one line of four numbers each."""
    return "".join(
        f"{shard.ordinal} {shard.shard} {shard.log_shard} {shard.replica}\n"
        for shard in sorted(shards)
    )


def parse(text: str) -> list[TNShard]:
    """Return the shards of a text that `lines` returned; other lines are left out."""
    rows = [line.split() for line in text.splitlines()]
    whole = [row for row in rows if len(row) == 4 and all(word.isdecimal() for word in row)]
    return [TNShard(*map(int, row)) for row in whole]


def kept_map(context: SetContext, text: str) -> Manifest:
    """Return the ConfigMap with what a transaction node needs to resume where it was.

    Args:
        context: the DNSet.
        text: its shards, as `lines` writes them.
    """
    shards = parse(text)
    found = configmap.fixed_config_map(
        context,
        names.shards_name(context.base),
        {names.SHARDS_FILE: lines(shards)},
        immutable=False,
    )
    by_ordinal = {
        shard.ordinal: [same for same in shards if same.ordinal == shard.ordinal]
        for shard in shards
    }
    found["binaryData"] = {
        store_uuid(context, ordinal): base64.b64encode(
            shard_file(store_uuid(context, ordinal), _address(context, ordinal), mine)
        ).decode()
        for ordinal, mine in by_ordinal.items()
    }
    return found


def store_uuid(context: SetContext, ordinal: int) -> str:
    """Return the UUID that the start script gives to a transaction node."""
    if context.spec.flag("dnsBasedIdentity"):
        place = f"{context.headless}.{context.namespace}.svc"
        return digest.hash_uuid(f"{context.base}-{ordinal}.{place}")
    return digest.tn_uuid(ordinal)


def _address(context: SetContext, ordinal: int) -> str:
    return f"{context.base}-{ordinal}.{context.headless}.{context.domain}:{names.PORT_TN}"


def shard_file(uuid: str, address: str, shards: Sequence[TNShard]) -> bytes:
    """Return the file as MatrixOne writes it: a checksum, and a protobuf ``metadata.TNStore``.

    Raises:
        ValueError: it does not fit into one block.
    """
    content = _text(1, uuid.encode()) + b"".join(
        _text(2, _shard(shard, address)) for shard in shards
    )
    if len(content) > _LONGEST:
        raise ValueError(f"{len(shards)} shards do not fit into a block of {_LONGEST} bytes")
    return crc32c(content).to_bytes(4, "little") + content


def _shard(one: TNShard, address: str) -> bytes:
    record = _number(1, one.shard) + _number(2, one.log_shard)
    return _text(1, record) + _number(2, one.replica) + _text(3, address.encode())


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3 | _NUMBER) + _varint(value)


def _text(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | _TEXT) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    found = bytearray()
    while value >> _VARINT_BITS:
        found.append(value & 0x7F | 0x80)
        value >>= _VARINT_BITS
    found.append(value)
    return bytes(found)


def crc32c(data: bytes) -> int:
    """Return the CRC-32C (Castagnoli) of some bytes."""
    value = 0xFFFFFFFF
    for byte in data:
        value ^= byte
        for _bit in range(8):
            value = value >> 1 ^ (_CASTAGNOLI if value & 1 else 0)
    return value ^ 0xFFFFFFFF
