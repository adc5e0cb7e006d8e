# SPDX-License-Identifier: Apache-2.0
"""Tell from a live object that applying a manifest would change nothing.

The API server keeps on each object which fields a manager has applied (``managedFields``), and
takes a field off that list when somebody else changes it. So a manifest is in place if it names
exactly the listed fields and each of them still has the manifest's value. When in doubt the
answer is no: applying is always right, only slower. Pure functions on JSON values.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...api.comparing import by_value, without_empty_lists
from ...api.managed_fields import applied_by

_IDENTITY = ("apiVersion", "kind")
_PLACE = ("name", "namespace", "resourceVersion")
"""Of the metadata, what nobody owns: which object it is, and which version of it is meant."""
_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "fieldRef": {"apiVersion": "v1"},
    "resourceFieldRef": {"divisor": "0"},
    "volumeClaimTemplates": {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "spec": {"volumeMode": "Filesystem"},
        "status": {"phase": "Pending"},
    },
}
"""What the server adds inside of values that have one owner as a whole (in a list to each
element), by the field's name."""

_Comparison = Callable[[Any, Any], bool]


def is_applied(live: Mapping[str, Any], wanted: Mapping[str, Any], manager: str) -> bool:
    """Tell whether a manifest is in place already, put there by this very manager.

    Args:
        live: the object as the server returned it, ``managedFields`` included.
        wanted: the complete manifest, owner references included.
        manager: name of the field manager.
    """
    if live["metadata"].get("deletionTimestamp"):
        return False
    owned = applied_by(live, manager)
    if len(owned) != 1 or owned[0].get("apiVersion") != wanted["apiVersion"]:
        return False
    body = {name: value for name, value in wanted.items() if name not in _IDENTITY}
    body["metadata"] = {
        name: value for name, value in wanted["metadata"].items() if name not in _PLACE
    }
    if not body["metadata"]:
        del body["metadata"]
    fields = owned[0].get("fieldsV1") or {}
    if _in_place(fields, body, live, _same):
        return True
    if not _is_built_in(wanted["apiVersion"]):
        return False
    return _in_place(fields, by_value(body), by_value(live), _same_without_empty_lists)


def _is_built_in(api_version: str) -> bool:
    """Tell whether values have one spelling: resources of a CRD keep what was written."""
    group, slash, _version = api_version.rpartition("/")
    return not slash or "." not in group or group.endswith(".k8s.io")


def _in_place(
    fields: Mapping[str, Any], wanted: Any, live: Any, same: _Comparison, name: str = ""
) -> bool:
    """Compare one level: the listed fields, what is wanted, what there is.

    A field that is listed and not there has the value that its type has without one.
    """
    listed = {key: inner for key, inner in fields.items() if key != "."}
    if not listed:
        return same(_completed(wanted, _DEFAULTS.get(name) or {}), live)
    if isinstance(wanted, Mapping) and isinstance(live, Mapping):
        named = {
            key: one
            for key, one in wanted.items()
            if f"f:{key}" in listed or not _says_nothing(one, live.get(key))
        }
        if {f"f:{key}" for key in named} != set(listed):
            return False
        return all(
            _in_place(listed[f"f:{key}"], value, live[key], same, key) if key in live else not value
            for key, value in named.items()
        )
    if isinstance(wanted, list) and isinstance(live, list):
        return len(wanted) == len(listed) and all(
            _element_in_place(key, inner, wanted, live, same) for key, inner in listed.items()
        )
    return False


def _says_nothing(wanted: Any, live: Any) -> bool:
    """Tell whether a value that is not listed could not be: a list without elements to own.

    The same goes for what is there and is asked to have such lists only.
    """
    if isinstance(wanted, Mapping) and isinstance(live, Mapping):
        return bool(wanted) and all(_says_nothing(wanted[key], live.get(key)) for key in wanted)
    return bool(wanted == [])


def _completed(wanted: Any, added: Mapping[str, Any]) -> Any:
    if isinstance(wanted, list):
        return [_completed(element, added) for element in wanted]
    if not isinstance(wanted, Mapping) or not added:
        return wanted
    inner = {key: added[key] for key in added if isinstance(added[key], Mapping)}
    merged = {key: _completed(value, inner.get(key, {})) for key, value in wanted.items()}
    return {**added, **merged}


def _element_in_place(
    key: str,
    fields: Mapping[str, Any],
    wanted: Sequence[Any],
    live: Sequence[Any],
    same: _Comparison,
) -> bool:
    """Compare an element of a list whose elements have owners of their own."""
    kind, _separator, text = key.partition(":")
    try:
        value = json.loads(text)
    except ValueError:
        return False
    if kind == "v":
        return any(_same(value, one) for one in wanted) and any(_same(value, one) for one in live)
    if kind != "k" or not isinstance(value, Mapping):
        return False
    # A manifest may leave out a key that has a default, as the protocol of a port.
    ours = [one for one in wanted if _fits(one, value, complete=False)]
    theirs = [one for one in live if _fits(one, value, complete=True)]
    if len(ours) != 1 or len(theirs) != 1:
        return False
    return _in_place(fields, ours[0], theirs[0], same)


def _fits(element: Any, key: Mapping[str, Any], *, complete: bool) -> bool:
    return isinstance(element, Mapping) and all(
        _same(value, element[part]) if part in element else not complete
        for part, value in key.items()
    )


def _same(one: Any, other: Any) -> bool:
    """Tell whether two JSON values are equal; ``true`` is not 1."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def _same_without_empty_lists(one: Any, other: Any) -> bool:
    """Tell whether two values are equal to the server, which stores no empty list of a field."""
    return _same(without_empty_lists(one), without_empty_lists(other))
