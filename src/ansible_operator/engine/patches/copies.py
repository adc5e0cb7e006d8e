# SPDX-License-Identifier: Apache-2.0
"""Copies of variables, as far as something may change them."""

import copy
from collections.abc import Callable
from typing import Any

from ansible_operator.engine.patches.versions import containers

_containers = containers()
_UNCHANGING = (str, bytes, int, float, type(None))
"""Types whose values have no parts that could be changed; those of Ansible's texts included."""


def isolated(variables: Any) -> Any:
    """A copy in which a task may change what it likes, as it may in a process of its own.

    Dicts and lists are copied all the way down; what is shared inside stays shared.
    """
    return _copied(variables, {})


def deep_copy(variables: Any) -> Any:
    """What ``copy.deepcopy`` answers for variables, except that texts are shared, not rebuilt."""
    copies: dict[int, Any] = {}

    def other(value: Any) -> Any:
        return value if isinstance(value, _UNCHANGING) else copy.deepcopy(value, copies)

    return _copied(variables, copies, other)


def _copied(
    variables: Any, copies: dict[int, Any], other: Callable[[Any], Any] | None = None
) -> Any:
    """A copy of containers, all the way down.

    Args:
        variables: what to copy.
        copies: by the id of each value; gets those of the containers.
        other: what copies a value that is none of the known containers; without it, it is shared.
    """

    def copied(value: Any) -> Any:
        alike = _containers.get(type(value))
        if alike is None:
            return other(value) if other else value
        known = copies.get(id(value))
        if known is None:
            if isinstance(value, dict):
                filled: Any = {key: copied(item) for key, item in value.items()}
            else:
                filled = [copied(item) for item in value]
            known = copies[id(value)] = alike(value, filled)
        return known

    return copied(variables)
