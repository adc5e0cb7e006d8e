# SPDX-License-Identifier: Apache-2.0
"""Copies of tasks, blocks and their like, which Ansible makes field by field.

Each field passes through a descriptor and through ``copy.copy``, though nearly all values are
texts, numbers or unset. A file that is included has all tasks around it copied.
"""

import copy
import functools
from typing import Any

from ansible.playbook.base import FieldAttributeBase
from ansible.utils.sentinel import Sentinel

_UNCHANGING = (str, int, float, type(None), type)
"""Types of values that need no copy; an unset field holds a class."""


def install() -> None:
    """Have Ansible copy only what can be changed."""
    stock = FieldAttributeBase.copy

    def copy_fields(self: Any) -> Any:
        kind: Any = type(self)
        fields, own = _fields(kind), vars(self)
        own["fattributes"] = ()  # Ansible copies everything else
        try:
            copied = stock(self)
        finally:
            own.pop("fattributes", None)
        values = vars(copied)
        for source, targets in fields:
            value = getattr(self, source, Sentinel)
            if not isinstance(value, _UNCHANGING):
                value = copy.copy(value)
            for target in targets:
                values[target] = value
        return copied

    FieldAttributeBase.copy = copy_fields


@functools.cache
def _fields(kind: Any) -> list[tuple[str, list[str]]]:
    """Where objects of a class keep each field, and where the copy does: by all of its names."""
    return [
        (f"_{name}", [f"_{known}" for known in (field.name, field.alias) if known])
        for name, field in kind.fattributes.items()
    ]
