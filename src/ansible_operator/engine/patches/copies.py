# SPDX-License-Identifier: Apache-2.0
"""Copies of variables, as far as something may change them."""

from typing import Any

from ansible_operator.engine.patches.versions import containers

_containers = containers()


def isolated(variables: Any) -> Any:
    """A copy in which a task may change what it likes, as it may in a process of its own.

    Dicts and lists are copied all the way down; what is shared inside stays shared.
    """
    copies: dict[int, Any] = {}

    def copied(value: Any) -> Any:
        alike = _containers.get(type(value))
        if alike is None:
            return value
        known = copies.get(id(value))
        if known is None:
            if isinstance(value, dict):
                filled: Any = {key: copied(item) for key, item in value.items()}
            else:
                filled = [copied(item) for item in value]
            known = copies[id(value)] = alike(value, filled)
        return known

    return copied(variables)
