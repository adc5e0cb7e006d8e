# SPDX-License-Identifier: Apache-2.0
"""Owners in Kubernetes' binary format, which kubectl and other Go programs create objects in.

Protocol buffers allow fields to be appended: no schema is needed to add an entry to
``metadata.ownerReferences`` or ``metadata.annotations``, only the numbers of those fields
(Kubernetes: apimachinery's ``runtime.Unknown`` and ``meta/v1.ObjectMeta``). Every built-in kind
has its metadata in field 1.
"""

from ansible_operator.kube.owners import PRIMARY_RESOURCE, PRIMARY_RESOURCE_TYPE, owner_type
from ansible_operator.serve.interface import Owner
from ansible_operator.serve.proxy.ownership import (
    MalformedObjectError,
    OwnershipStyle,
    owner_path,
)

CONTENT_TYPE = "application/vnd.kubernetes.protobuf"
MAGIC = b"k8s\0"
_RAW = 2
_METADATA = 1
_ANNOTATIONS, _OWNER_REFERENCES = 12, 13
_BYTES = 2
"""Wire type of strings, bytes and messages."""
_FIXED = {1: 8, 5: 4}


def with_owner(body: bytes, owner: Owner, style: OwnershipStyle) -> bytes:
    """The object with its owner added; everything else is as it was.

    Raises:
        MalformedObjectError: the body is not an object in this format.
    """
    if not body.startswith(MAGIC):
        raise MalformedObjectError("the body does not begin like a binary object")
    envelope = _fields(body[len(MAGIC) :])
    raw = next((value for number, _, value in envelope if number == _RAW), b"")
    inner = _fields(raw)
    metadata = b"".join(value for number, _, value in inner if number == _METADATA)
    _fields(metadata)
    if style is OwnershipStyle.ANNOTATION or owner.uid.encode() not in metadata:
        metadata += _addition(owner, style)
    rest = b"".join(whole for number, whole, _ in inner if number != _METADATA)
    raw = _field(_METADATA, metadata) + rest
    parts = [_field(_RAW, raw) if number == _RAW else whole for number, whole, _ in envelope]
    return MAGIC + b"".join(parts)


def _addition(owner: Owner, style: OwnershipStyle) -> bytes:
    if style is OwnershipStyle.REFERENCE:
        gvk = owner.gvk
        texts = ((1, gvk.kind), (3, owner.name), (4, owner.uid), (5, gvk.api_version))
        return _field(
            _OWNER_REFERENCES, b"".join(_field(number, text.encode()) for number, text in texts)
        )
    pairs = {PRIMARY_RESOURCE: owner_path(owner), PRIMARY_RESOURCE_TYPE: owner_type(owner.gvk)}
    return b"".join(
        _field(_ANNOTATIONS, _field(1, key.encode()) + _field(2, value.encode()))
        for key, value in pairs.items()
    )


def _fields(message: bytes) -> list[tuple[int, bytes, bytes]]:
    """Number, whole encoding and (for strings, bytes, messages) content of each field."""
    found, position = [], 0
    while position < len(message):
        start = position
        tag, position = _varint(message, position)
        number, wire_type, content = tag >> 3, tag & 7, b""
        if wire_type == 0:
            _, position = _varint(message, position)
        elif wire_type in _FIXED:
            position += _FIXED[wire_type]
        elif wire_type == _BYTES:
            length, position = _varint(message, position)
            content = message[position : position + length]
            position += length
        else:
            raise MalformedObjectError(f"wire type {wire_type} is not in use")
        if position > len(message):
            raise MalformedObjectError("the body is cut off")
        found.append((number, message[start:position], content))
    return found


def _varint(message: bytes, position: int) -> tuple[int, int]:
    value, shift = 0, 0
    while position < len(message) and shift < 64:
        byte = message[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
    raise MalformedObjectError("the body is cut off")


def _field(number: int, content: bytes) -> bytes:
    return _encode(number << 3 | _BYTES) + _encode(len(content)) + content


def _encode(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
