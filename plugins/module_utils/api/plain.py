# SPDX-License-Identifier: Apache-2.0
"""Turn what crosses the boundary between Ansible and pure code into plain Python, once.

ansible-core 2.19 wraps values: strings and numbers carry tags, dicts and lists template their
elements on access. Pure code needs exact ``str``, ``int``, ``dict`` and ``list``. The other way,
variables of Ansible cannot hold the dataclasses that pure code returns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime
from typing import Any

from .errors import RenderingError

_EXACT = frozenset({bool, float, int, str, type(None)})


def plain(value: Any) -> Any:
    """Return the value made of exact JSON types only.

    A date becomes its text: Ansible's YAML makes dates of texts such as ``2026-01-31``, which
    kubectl leaves alone.

    Raises:
        TypeError: the value is nothing that JSON knows, e.g. a set.
        RenderingError: it is nested too deep.
    """
    try:
        return _plain(value)
    except RecursionError:
        raise RenderingError(
            "a value is nested too deep, such as a field of overlay: flatten it"
        ) from None


def _plain(value: Any) -> Any:
    if type(value) in _EXACT:
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(_plain(key)): _plain(element) for key, element in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(element) for element in value]
    return _plain_scalar(value)


def _plain_scalar(value: Any) -> int | float | str:
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, date):
        return _text_of_date(value)
    raise TypeError(f"{type(value).__name__} is not JSON")


def _text_of_date(moment: date) -> str:
    """Return a date or time as YAML writes it, ``Z`` for UTC."""
    text = moment.isoformat()
    is_utc = isinstance(moment, datetime) and text.endswith("+00:00")
    return f"{text.removesuffix('+00:00')}Z" if is_utc else text
