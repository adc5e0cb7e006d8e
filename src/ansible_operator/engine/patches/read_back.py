# SPDX-License-Identifier: Apache-2.0
"""Values that pass through a template, up to ansible-core 2.18.

There a template that is nothing but an expression writes its value as text, and Ansible reads the
text as Python: ``{{ spec }}`` parses the whole spec, and each condition a list of two. What is read
is a copy of plain types. For values of which that is sure, the copy is made directly.
"""

import math
from collections.abc import Callable, Iterable
from itertools import chain, islice
from types import GeneratorType
from typing import Any

from ansible import template as templating
from ansible.parsing.yaml.objects import AnsibleMapping, AnsibleSequence, AnsibleUnicode
from ansible.template import native_helpers
from ansible.utils.unsafe_proxy import AnsibleUnsafeText, wrap_var

_DEEPEST = 40
"""Levels; Python's parser refuses text with too many brackets."""
_LARGEST = 1 << 62
"""Python does not read integers of any length."""
_TEXTS: dict[type, Callable[[Any], str]] = {
    str: str,
    AnsibleUnicode: str,
    AnsibleUnsafeText: AnsibleUnsafeText._strip_unsafe,
}


class _UnlikeError(Exception):
    """Nobody knows what would be read."""


def install() -> None:
    """Have Ansible copy values."""
    stock = native_helpers.ansible_eval_concat
    templating.AnsibleEnvironment.concat = staticmethod(concatenation(stock))


def concatenation(stock: Callable[[Iterable[Any]], Any]) -> Callable[[Iterable[Any]], Any]:
    """What makes one value of the parts that a template yields.

    Args:
        stock: what Ansible makes of them.
    """

    def concatenated(nodes: Iterable[Any]) -> Any:
        if not isinstance(nodes, GeneratorType):
            return stock(nodes)
        head = list(islice(nodes, 2))
        if len(head) == 1:
            value = head[0]
            if isinstance(value, bool):
                return value
            if isinstance(value, dict | list):
                try:
                    found = read_back(value)
                except _UnlikeError:
                    return stock(head)
                return wrap_var(found) if native_helpers._is_unsafe(value) else found
        # A generator again: of anything else Ansible forgets the first two parts.
        return stock(node for node in chain(head, nodes))

    return concatenated


def read_back(value: Any, depth: int = 0) -> Any:
    """The value that is read from the text of a value.

    Raises:
        _UnlikeError: it holds something that may be read as something else, or not at all.
    """
    kind = type(value)
    if kind in _TEXTS:
        return _TEXTS[kind](value)
    if _is_plain(value):
        return value
    if depth < _DEEPEST:
        if kind is dict or kind is AnsibleMapping:
            return {
                read_back(key, depth + 1): read_back(item, depth + 1) for key, item in value.items()
            }
        if kind is list or kind is AnsibleSequence:
            return [read_back(item, depth + 1) for item in value]
    raise _UnlikeError


def _is_plain(value: Any) -> bool:
    """Whether the text of a scalar that is no text is read as that scalar."""
    kind = type(value)
    if kind is int:
        return -_LARGEST < value < _LARGEST
    if kind is float:
        return math.isfinite(value)
    return value is None or kind is bool
