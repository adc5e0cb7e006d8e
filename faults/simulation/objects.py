# SPDX-License-Identifier: Apache-2.0
"""Server-side apply and merge patches on JSON values, as far as the collection uses them.

Lists have one owner as a whole here, but for owner references and finalizers, to which others add.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from typing import Any

Json = dict[str, Any]
Leaf = tuple[str, ...]
_IDENTITY = frozenset({"apiVersion", "kind"})
_PLACE = frozenset({"name", "namespace", "uid", "resourceVersion", "managedFields"})


def copied(value: Any) -> Any:
    """Return a copy of a JSON value; faster than `copy.deepcopy`."""
    if isinstance(value, dict):
        return {name: copied(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [copied(element) for element in value]
    return value


def merge_patched(value: Any, patch: Any) -> Any:
    """Return a value after a JSON merge patch (RFC 7396)."""
    if not isinstance(patch, dict):
        return copied(patch)
    result = dict(value) if isinstance(value, dict) else {}
    for name, inner in patch.items():
        if inner is None:
            result.pop(name, None)
        else:
            result[name] = merge_patched(result.get(name), inner)
    return result


def body_of(manifest: Mapping[str, Any]) -> Json:
    """Return what an apply configuration owns: everything but identity and place."""
    body = {name: copied(inner) for name, inner in manifest.items() if name not in _IDENTITY}
    metadata = body.get("metadata") or {}
    body["metadata"] = {key: one for key, one in metadata.items() if key not in _PLACE}
    if not body["metadata"]:
        del body["metadata"]
    return body


def leaves(value: Any, path: Leaf = ()) -> Iterator[Leaf]:
    """Yield the paths of what has one owner: scalars, lists, empty objects."""
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from leaves(inner, (*path, name))
    elif path:
        yield path


def at(value: Any, path: Leaf) -> Any:
    """Return what is at a path; None if nothing is."""
    for name in path:
        if not isinstance(value, dict) or name not in value:
            return None
        value = value[name]
    return value


def applied(live: Mapping[str, Any], before: Mapping[str, Any], body: Mapping[str, Any]) -> Json:
    """Return an object after an apply.

    Args:
        live: the object.
        before: what the manager has applied last, and nobody else owns.
        body: what it applies now.
    """
    result: Json = copy.deepcopy(dict(live))
    for path in leaves(before):
        if not _covers(body, path):
            _remove(result, path, at(before, path))
    laid: Json = _laid_over(result, body)
    return laid


def _covers(body: Mapping[str, Any], path: Leaf) -> bool:
    value: Any = body
    for name in path:
        if not isinstance(value, dict):
            return True
        if name not in value:
            return False
        value = value[name]
    return not _is_shared(path)


def _is_shared(path: Leaf) -> bool:
    return path in {("metadata", "ownerReferences"), ("metadata", "finalizers")}


def _remove(result: Json, path: Leaf, known: Any) -> None:
    parents: list[Json] = []
    value: Any = result
    for name in path[:-1]:
        if not isinstance(value, dict) or name not in value:
            return
        parents.append(value)
        value = value[name]
    if not isinstance(value, dict) or path[-1] not in value:
        return
    if _is_shared(path):
        left = [one for one in value[path[-1]] if _key(one) not in {_key(two) for two in known}]
        value[path[-1]] = left
        if left:
            return
    del value[path[-1]]
    for parent, name in zip(reversed(parents), reversed(path[:-1]), strict=True):
        # Ours alone created the empty shell; metadata, labels and status may be empty.
        if parent[name] == {} and len(path) > 2:
            del parent[name]


def _key(element: Any) -> str:
    return str(element["uid"]) if isinstance(element, dict) else str(element)


def _laid_over(value: Any, body: Any, path: Leaf = ()) -> Any:
    if isinstance(body, dict):
        result = dict(value) if isinstance(value, dict) else {}
        for name, inner in body.items():
            result[name] = _laid_over(result.get(name), inner, (*path, name))
        return result
    if _is_shared(path):
        ours = {_key(one) for one in body}
        return [*(one for one in value or [] if _key(one) not in ours), *copied(body)]
    return copied(body)


def fields_of(body: Any, path: Leaf = ()) -> Json:
    """Return ``fieldsV1`` of an apply configuration."""
    if _is_shared(path):
        return {_element(one): {} for one in body}
    if not isinstance(body, dict):
        return {}
    return {f"f:{name}": fields_of(inner, (*path, name)) for name, inner in body.items()}


def _element(element: Any) -> str:
    if isinstance(element, dict):
        return "k:" + json.dumps({"uid": element["uid"]}, separators=(",", ":"))
    return "v:" + json.dumps(element)


def disowned(body: Json, before: Mapping[str, Any], after: Mapping[str, Any]) -> Json:
    """Return an apply configuration without the fields that somebody else has changed."""
    left: Json = copied(body)
    for path in list(leaves(body)):
        if not _is_shared(path) and at(before, path) != at(after, path):
            _remove(left, path, None)
    return left
