# SPDX-License-Identifier: Apache-2.0
"""Calls functions as ``docs/reference/admission.md`` promises and checks what they return.

Runs in the processes of the functions, and needs no Ansible itself.
"""

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from ansible_operator.engine.explaining import explain

Plugin: TypeAlias = Callable[[dict[str, Any], dict[str, Any]], Any]

_KEYS = frozenset({"object", "errors", "warnings"})
_ERROR_KEYS = frozenset({"field", "message", "reason"})


MOST_MISTAKES = 50
"""Errors and warnings of one answer; whoever fixes the first ones is told of the others then."""
LONGEST_TEXT = 1000
"""Characters of a message; functions quote what they refuse."""


class BrokenContractError(Exception):
    """A function returned something that means nothing."""


def answer(plugins: Mapping[str, Plugin], call: Mapping[str, Any]) -> dict[str, Any]:
    """Ask functions one after the other.

    Args:
        plugins: the functions by key.
        call: ``phase``, ``functions`` (keys), ``object``, ``request``.

    Returns:
        ``object`` (None when unchanged), ``errors``, ``warnings``; or ``failed``, a message.
    """
    is_default = call["phase"] == "default"
    obj, errors, warnings = call["object"], [], []
    for key in call["functions"]:
        try:
            # A copy each: what a function does to its arguments is its own affair.
            request = {**copy.deepcopy(call["request"]), "phase": call["phase"]}
            checked = _checked(plugins[key](copy.deepcopy(obj), request), obj)
        except (Exception, SystemExit) as error:  # noqa: BLE001 (the boundary of foreign code)
            return {"failed": f"admission function {key}: {_message(error)}"}
        warnings += checked["warnings"]
        if is_default:
            obj = checked["object"] or obj
        else:
            errors += checked["errors"]
    changed = obj if is_default and obj is not call["object"] else None
    return {
        "object": changed,
        "errors": _first(errors, lambda text: {"message": text}),
        "warnings": _first(warnings, str),
    }


def _first(found: list[Any], summary: Callable[[str], Any]) -> list[Any]:
    """The first ones, and how many more there are."""
    more = len(found) - MOST_MISTAKES
    return found if more <= 0 else [*found[:MOST_MISTAKES], summary(f"and {more} more")]


def _checked(returned: Any, obj: Mapping[str, Any]) -> dict[str, Any]:
    if returned is None:
        returned = {}
    if not isinstance(returned, Mapping) or not returned.keys() <= _KEYS:
        raise BrokenContractError(
            f"returned {_name(returned)}, not a mapping of {', '.join(sorted(_KEYS))}"
        )
    changed = returned.get("object")
    if changed is not None:
        _check_same(changed, obj)
    return {
        "object": None if changed is None else dict(changed),
        "errors": [_error(item) for item in _items(returned, "errors")],
        "warnings": [_text(item, "a warning") for item in _items(returned, "warnings")],
    }


def _check_same(changed: Any, obj: Mapping[str, Any]) -> None:
    if not isinstance(changed, Mapping):
        raise BrokenContractError(f"the returned object is {_name(changed)}, not a mapping")
    for field in ("apiVersion", "kind"):
        if changed.get(field) != obj.get(field):
            raise BrokenContractError(f"the returned object has another {field}")


def _items(returned: Mapping[str, Any], key: str) -> Sequence[Any]:
    items = returned.get(key) or ()
    if isinstance(items, str | Mapping) or not isinstance(items, Sequence):
        raise BrokenContractError(f"{key} are {_name(items)}, not a list")
    return items


def _error(item: Any) -> dict[str, str]:
    if isinstance(item, str):
        return {"message": _text(item, "an error")}
    if not isinstance(item, Mapping) or not {"message"} <= item.keys() <= _ERROR_KEYS:
        raise BrokenContractError("an error is neither a text nor a mapping of field and message")
    return {str(key): _text(value, f"{key} of an error") for key, value in item.items() if value}


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise BrokenContractError(f"{what} is {_name(value)}, not a text")
    return str(value) if len(value) <= LONGEST_TEXT else f"{value[:LONGEST_TEXT]}..."


def _name(value: Any) -> str:
    return type(value).__name__


def _message(error: BaseException) -> str:
    return str(error) if isinstance(error, BrokenContractError) else f"raised {explain(error)}"
