# SPDX-License-Identifier: Apache-2.0
"""Answers that are none: what a broken proxy, or somebody who means harm, makes of an API server's.

What is whole and names another object, or leaves one out, is not here: a client cannot know.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from typing import Any, Final

Json = dict[str, Any]
_PAGE: Final = b"<html><body><h1>200 Everything is fine</h1></body></html>"
_MARK: Final = "\u241fdeep"
_DEPTH: Final = 3000
_ODD: Final[tuple[Any, ...]] = (None, "x", 7, [], [None], {"a": {"b": 1}}, True, "\u202e", -(2**63))
_PARTS: Final = ("status", "spec", "data", "metadata")
_OF_METADATA: Final = (
    "labels", "annotations", "ownerReferences", "finalizers", "managedFields", "generation",
    "resourceVersion", "creationTimestamp", "deletionTimestamp", "name", "uid",
)  # fmt: skip


def garbled(body: bytes, rng: random.Random) -> tuple[dict[str, str], bytes]:
    """Return headers and a body that are no JSON document of the kind that was asked for."""
    ways: tuple[Callable[[], tuple[dict[str, str], bytes]], ...] = (
        lambda: ({}, body[: len(body) // 2]),
        lambda: ({"Content-Type": "text/html"}, _PAGE),
        lambda: ({}, _PAGE),
        lambda: ({}, b""),
        lambda: ({"Content-Encoding": "gzip"}, b"\x1f\x8b" + rng.randbytes(60)),
        lambda: ({}, rng.choice((b"null", b"[]", b'"text"', b"7", b"{}"))),
        lambda: ({"Content-Type": "application/vnd.kubernetes.protobuf"}, b"k8s\x00" + body[:40]),
        lambda: ({}, b'{"kind":"Status","status":"Success"}'),
        lambda: ({}, body.replace(b'"', b"\xff", 3)),
        lambda: ({}, b"[" * 50_000),
    )
    return rng.choice(ways)()


def misshapen(body: bytes, rng: random.Random) -> bytes:
    """Return an object or a list with parts of odd types, or nested deeply; others as they are."""
    try:
        found = json.loads(body)
    except ValueError:
        return body
    if not isinstance(found, dict):
        return body
    items = found.get("items")
    if isinstance(items, list):
        if rng.random() < 0.3:
            found.pop("items")
        elif items:
            index = rng.randrange(len(items))
            items[index] = _odd_object(items[index], rng)
        return _encoded(found)
    return _encoded(_odd_object(found, rng))


def misshapen_event(line: bytes, rng: random.Random) -> bytes:
    """Return a line of a watch with such an object."""
    try:
        event = json.loads(line)
        found = _odd_object(event["object"], rng)
    except (ValueError, KeyError, TypeError):
        return line
    return _encoded({**event, "object": found}) + b"\n"


def _odd_object(given: Json, rng: random.Random) -> Json:
    found: Json = copy.deepcopy(given)
    metadata = found.get("metadata")
    if rng.random() < 0.5 and isinstance(metadata, dict):
        metadata[rng.choice(_OF_METADATA)] = rng.choice(_ODD)
    elif rng.random() < 0.3:
        found["status"] = {"conditions": rng.choice(_ODD), "deep": _MARK}
    else:
        found[rng.choice(_PARTS)] = rng.choice(_ODD)
    return found


def _encoded(found: Json) -> bytes:
    deep = '{"a":' * _DEPTH + "1" + "}" * _DEPTH
    return json.dumps(found).replace(json.dumps(_MARK), deep).encode()
