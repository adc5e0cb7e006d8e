# SPDX-License-Identifier: Apache-2.0
"""The options of a role, from its argument specs."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from ansible_operator.errors import ConfigError

TYPES = frozenset(
    "str int float bool list dict path raw json jsonarg bytes bits".split()  # noqa: SIM905
)
"""Types of options that a field of a resource can have."""


class NoArgumentSpecsError(ConfigError):
    """A role does not describe its options."""


_FILES = ("argument_specs.yml", "argument_specs.yaml", "main.yml", "main.yaml")


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a role, or of a dictionary in one.

    Attributes:
        where: its name with those of the options around it, for messages.
        elements: type of the items of a list; ``""`` for any.
        choices: values that it, or each of its items, may have; empty for any.
        default: plain data; None for none.
        options: what a dictionary, or each item of a list, consists of; None if that is open.
    """

    name: str
    where: str
    type: str = "str"
    elements: str = ""
    choices: tuple[object, ...] = ()
    default: object = None
    is_required: bool = False
    is_secret: bool = False
    description: str = ""
    options: tuple["Option", ...] | None = None


def read_options(role: Path) -> tuple[Option, ...]:
    """The options of the entry point ``main`` of a role.

    Raises:
        NoArgumentSpecsError: it has none.
        ConfigError: they are not what Ansible accepts.
    """
    for name in _FILES:
        path = role / "meta" / name
        specs = _specs(path)
        if specs is None:
            continue
        main = specs.get("main")
        if not isinstance(main, Mapping):
            raise ConfigError(f"{path}: argument_specs has no entry point main; add it")
        try:
            return parse(main.get("options") or {})
        except ConfigError as error:
            raise ConfigError(f"{path}: {error}") from error
    raise NoArgumentSpecsError(
        f"{role} has no argument specs, from which its CRD follows; describe its options in "
        f"{role / 'meta' / 'argument_specs.yml'}"
    )


def _specs(path: Path) -> Mapping[str, Any] | None:
    """The argument specs of a file; None if it has none."""
    if not path.is_file():
        return None
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is no YAML: {error}") from error
    specs = content.get("argument_specs") if isinstance(content, Mapping) else None
    return specs if isinstance(specs, Mapping) else None


def parse(options: object, inside: str = "") -> tuple[Option, ...]:
    """Options as an argument spec writes them.

    Args:
        options: mapping of names to what describes them.
        inside: the option that they belong to.

    Raises:
        ConfigError: they are not what Ansible accepts.
    """
    if not isinstance(options, Mapping):
        raise ConfigError(f"options of {inside or 'main'} is no mapping of names")
    return tuple(_option(name, given, inside) for name, given in options.items())


def _option(name: object, given: object, inside: str) -> Option:
    where = f"{inside}.{name}" if inside else str(name)
    if not isinstance(name, str) or not isinstance(given, Mapping):
        raise ConfigError(f"option {where} is no mapping with a name that is text")
    type_ = given.get("type", "str")
    elements = given.get("elements", "") if type_ == "list" else ""
    for kind in (type_, elements or "str"):
        if kind not in TYPES:
            raise ConfigError(f"option {where}: {kind!r} is no type of an argument spec")
    nested = given.get("options")
    choices = given.get("choices") or ()
    if not isinstance(choices, list | tuple):
        raise ConfigError(f"option {where}: choices is no list")
    return Option(
        name=name,
        where=where,
        type=type_,
        elements=elements,
        choices=tuple(choices),
        default=given.get("default"),
        is_required=given.get("required") is True,
        is_secret=given.get("no_log") is True,
        description=_prose(given.get("description", "")),
        options=parse(nested, where) if nested and "dict" in (type_, elements) else None,
    )


def _prose(description: object) -> str:
    lines = description if isinstance(description, list) else [description]
    return " ".join(str(line).strip() for line in lines if line)
