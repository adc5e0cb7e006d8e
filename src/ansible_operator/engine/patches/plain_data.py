# SPDX-License-Identifier: Apache-2.0
"""Values in which there is nothing to template, up to ansible-core 2.18.

There each use of a variable walks through its whole value for templates, leaf by leaf, with a dozen
checks for each. What a task has registered is large and has none: its texts are marked as unsafe.
For a value of which that is sure, the copy that the walk returns is made directly.
"""

from collections.abc import Callable, Mapping
from typing import Any

from ansible.parsing.yaml.objects import AnsibleMapping, AnsibleSequence, AnsibleUnicode
from ansible.template import Templar
from ansible.utils.unsafe_proxy import AnsibleUnsafeText

_DICTS = frozenset({dict, AnsibleMapping})
_LISTS = frozenset({list, AnsibleSequence})
_DATA = frozenset({AnsibleUnsafeText, int, float, bool, type(None)})
_TEXTS = frozenset({str, AnsibleUnicode})

_BRACE = "{"


class _MayHoldTemplateError(Exception):
    """Ansible has to look itself."""


def install() -> None:
    """Have Ansible copy values without templates."""
    Templar.template = templating(Templar.template)


def templating(stock: Callable[..., Any]) -> Callable[..., Any]:
    """Return what templates a value.

    Args:
        stock: how Ansible does that.
    """

    def template(self: Templar, variable: Any, *arguments: Any, **options: Any) -> Any:
        kind = type(variable)
        if (kind in _DICTS or kind in _LISTS) and not arguments and _has_usual_marks(self, options):
            try:
                return copied(variable)
            except _MayHoldTemplateError:
                pass
        return stock(self, variable, *arguments, **options)

    return template


def _has_usual_marks(templar: Templar, options: Mapping[str, Any]) -> bool:
    """Tell whether every mark of a template begins with a brace; a task may choose other marks."""
    environment = templar.environment
    marks = (
        environment.variable_start_string,
        environment.block_start_string,
        environment.comment_start_string,
    )
    return not options.get("overrides") and all(mark.startswith(_BRACE) for mark in marks)


def copied(value: Any) -> Any:
    """Return a copy of a value in which there is no template.

    Raises:
        _MayHoldTemplateError: there may be one, or it holds something of another type.
    """
    kind = type(value)
    if kind in _DATA:
        return value
    if kind in _DICTS:
        return {key: copied(item) for key, item in value.items()}
    if kind in _LISTS:
        return [copied(item) for item in value]
    if kind in _TEXTS and _BRACE not in value:
        return value
    raise _MayHoldTemplateError
