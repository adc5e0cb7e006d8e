# SPDX-License-Identifier: Apache-2.0
"""Extra variables: which of them are data, and how they reach Ansible without becoming templates.

Ansible's own notation marks a text as data by a mapping around it, ``{"__ansible_unsafe": text}``,
so whoever chooses the keys of a mapping can write marks, too. Its reader takes a file that it
cannot read as JSON for YAML, where the same marks mean nothing and all texts are templates: from
ansible-core 2.19 on one unexpected key makes that happen. Hence data and templates are apart here
until they are in the process of the play; the file for ansible-runner, which is read by Ansible
alone, holds no key that could be a mark and cannot be read as YAML.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ansible_operator.errors import EngineError
from ansible_operator.nesting import VALUE_LEVELS

RESERVED = "__ansible_"
"""How the keys begin by which Ansible serializes values of its own types."""
_UNSAFE = "__ansible_unsafe"
_NO_YAML = "\t"
"""JSON may begin with a tab, YAML must not."""
_TEMPLATE_MARKS = ("{{", "{%", "{#")


class NestedTooDeeplyError(EngineError):
    """A value has more levels than Ansible can work with."""


@dataclass(frozen=True, slots=True)
class ExtraVars:
    """Variables with extra-vars precedence.

    Attributes:
        data: those in which no text is a template, at any depth.
        templates: those in whose texts Ansible evaluates templates; of other names than ``data``.
    """

    data: Mapping[str, Any] = field(default_factory=dict)
    templates: Mapping[str, Any] = field(default_factory=dict)

    def check(self) -> None:
        """Refuse what Ansible could take for something else.

        Raises:
            EngineError: a key is reserved by Ansible, or something is nested too deeply; the
                message names the field.
        """
        for variables in (self.data, self.templates):
            for path in reserved_keys(variables):
                raise EngineError(f"the variable {path} has a name that Ansible reserves")


def reserved_keys(value: Any) -> Iterator[str]:
    """The paths of all keys that Ansible reserves, level by level.

    Raises:
        NestedTooDeeplyError: there are more than ``VALUE_LEVELS`` levels.
    """
    level: list[tuple[Any, Any]] = [(None, value)]
    for _ in range(VALUE_LEVELS + 1):
        below: list[tuple[Any, Any]] = []
        for place in level:
            items = place[1]
            if isinstance(items, Mapping):
                for key, item in items.items():
                    if isinstance(key, str) and key.startswith(RESERVED):
                        yield _path((place, key))
                    if isinstance(item, dict | list):
                        below.append(((place, key), item))
            elif isinstance(items, list):
                below += [
                    ((place, index), item)
                    for index, item in enumerate(items)
                    if isinstance(item, dict | list)
                ]
        if not below:
            return
        level = below
    raise NestedTooDeeplyError(
        f"{_path(level[0][0])[:200]}... is nested deeper than {VALUE_LEVELS} levels"
    )


def without_reserved_keys(value: Any) -> tuple[Any, list[str]]:
    """A value without the keys that Ansible reserves, and the paths of those that it had.

    Raises:
        NestedTooDeeplyError: there are more than ``VALUE_LEVELS`` levels.
    """
    paths = list(reserved_keys(value))
    return (_without(value) if paths else value), paths


def file_for_ansible(variables: ExtraVars) -> str:
    """The text of a file for ``ansible-playbook -e @file``.

    Args:
        variables: checked ones.

    Raises:
        EngineError: there is no such text: a key of the data has the form of a template, which
            cannot be marked there, or a value has no JSON.
    """
    marked = {name: _marked(value, name) for name, value in variables.data.items()}
    for name in marked:
        _refuse_template(name, name)
    return _NO_YAML + as_json({**marked, **variables.templates})


def as_json(value: Any) -> str:
    """JSON without escapes of Unicode.

    Raises:
        EngineError: there is none, or it is no Unicode: half of a surrogate pair.
    """
    try:
        text = json.dumps(value, ensure_ascii=False)
        text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise EngineError(f"extra variables cannot be written as JSON: {error}") from error
    return text


def _path(place: Any) -> str:
    """``spec.items[0].name`` of a place: the place above, with what it holds, and a key."""
    steps: list[str] = []
    while place is not None:
        (place, _), key = place
        steps.append(f"[{key}]" if isinstance(key, int) else f".{key}")
    return "".join(reversed(steps)).removeprefix(".")


def _without(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {
            key: _without(item)
            for key, item in value.items()
            if not (isinstance(key, str) and key.startswith(RESERVED))
        }
    if isinstance(value, list):
        return [_without(item) for item in value]
    return value


def _marked(value: Any, path: str) -> Any:
    if isinstance(value, str):
        return {_UNSAFE: value}
    if isinstance(value, Mapping):
        for key in value:
            _refuse_template(key, path)
        return {key: _marked(item, path) for key, item in value.items()}
    if isinstance(value, list):
        return [_marked(item, path) for item in value]
    return value


def _refuse_template(key: Any, variable: str) -> None:
    if isinstance(key, str) and any(mark in key for mark in _TEMPLATE_MARKS):
        raise EngineError(
            f"the variable {variable[:100]} has the key {key[:100]!r}: ansible-runner cannot be "
            "told that it is no template; the warm engine can"
        )
