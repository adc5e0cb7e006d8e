# SPDX-License-Identifier: Apache-2.0
"""The schema of a resource's spec, from the options of the role that is run for it.

An object that the schema admits passes the validation of arguments that Ansible performs before the
role. The schema is the stricter one: Ansible also takes the text ``"3"`` for a number.
"""

import re
from collections.abc import Iterable

from ansible_operator.authoring.options import Option
from ansible_operator.authoring.yaml_text import Json
from ansible_operator.errors import ConfigError
from ansible_operator.loop.reconciling.snake_case import snake_case

_ANYTHING: Json = {"x-kubernetes-preserve-unknown-fields": True}
_SIZE: Json = {
    "x-kubernetes-int-or-string": True,
    "minimum": 0,
    "pattern": r"^[0-9]+(\.[0-9]+)?[KMGTPEZY]?$",
}
"""What is a number of bytes or bits for Ansible: both take a letter without a unit."""
_SCHEMAS: dict[str, Json] = {
    "str": {"type": "string"},
    "path": {"type": "string"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "bytes": _SIZE,
    "bits": _SIZE,
    "raw": _ANYTHING,
    "json": _ANYTHING,
    "jsonarg": _ANYTHING,
    "dict": {"type": "object", **_ANYTHING},
}
_PYTHON: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list,),
}
_MARKUP = re.compile(r"\b[A-Z]{1,3}\(([^()]*)\)")
_ANSIBLES_OWN = ("ansible_", "_ansible_", "__ansible_")
"""Beginnings of variables that the runner does not pass to plays."""


def spec_schema(options: Iterable[Option]) -> Json:
    """The schema of ``spec``.

    Raises:
        ConfigError: an option cannot be a field; the message says which, and what to change.
    """
    return _object(options)


def field_name(option: Option) -> str:
    """The field whose value the runner passes to the role as this option.

    Raises:
        ConfigError: there is none.
    """
    first, *rest = option.name.split("_")
    camel = first + "".join(word[:1].upper() + word[1:] for word in rest)
    is_passed = bool(option.name) and not option.name.startswith(_ANSIBLES_OWN)
    for name in (camel if first else option.name, option.name):
        if is_passed and snake_case(name) == option.name:
            return name
    raise ConfigError(
        f"option {option.where}: no field of a spec becomes this variable; use words of "
        "lower-case letters and digits that are joined by underscores, and do not begin with "
        "ansible_"
    )


def _object(options: Iterable[Option]) -> Json:
    given = [(field_name(option), option) for option in options]
    schema: Json = {"type": "object"}
    required = [name for name, option in given if option.is_required]
    if required:
        schema["required"] = required
    if given:
        schema["properties"] = {name: _property(option) for name, option in given}
    return schema


def _property(option: Option) -> Json:
    schema: Json = {}
    if option.description:
        schema["description"] = _MARKUP.sub(r"\1", option.description)
    if option.type == "list":
        schema |= {"type": "array", "items": _value(option, option.elements or "raw")}
    else:
        schema |= _value(option, option.type)
    if option.is_secret and schema.get("type") == "string":
        schema["format"] = "password"
    default = _default(option)
    if default is not None:
        if not fits(default, schema):
            raise ConfigError(
                f"option {option.where}: its default {default!r} is no value of its type "
                f"{option.type}{' and its choices' if option.choices else ''}; correct the default"
            )
        schema["default"] = default
    return schema


def _value(option: Option, type_: str) -> Json:
    """The schema of a value, or of an item of a list."""
    if type_ == "dict" and option.options is not None:
        return _object(option.options)
    if type_ == "list":
        return {"type": "array", "items": dict(_ANYTHING)}
    schema = dict(_SCHEMAS[type_])
    for choice in option.choices:
        if not fits(choice, schema):
            raise ConfigError(
                f"option {option.where}: the choice {choice!r} is no value of its type {type_}; "
                "quote it if it is meant as text"
            )
    return {**schema, "enum": list(option.choices)} if option.choices else schema


def _default(option: Option) -> object:
    """The default as the resource has it; None for none, and for a template."""
    if option.default is None or _is_template(option.default):
        return None
    return _as_fields(option.default, option.options)


def _is_template(value: object) -> bool:
    if isinstance(value, dict):
        return any(map(_is_template, (*value, *value.values())))
    if isinstance(value, list):
        return any(map(_is_template, value))
    return isinstance(value, str) and ("{{" in value or "{%" in value)


def _as_fields(value: object, options: tuple[Option, ...] | None) -> object:
    if isinstance(value, list):
        return [_as_fields(item, options) for item in value]
    if options is None or not isinstance(value, dict):
        return value
    known = {option.name: option for option in options}
    return {
        field_name(known[name]) if name in known else name: _as_fields(
            item, known[name].options if name in known else None
        )
        for name, item in value.items()
    }


def fits(value: object, schema: Json) -> bool:
    """Whether the API server would accept a value, as the default of its field for instance."""
    if "enum" in schema and value not in schema["enum"]:
        return False
    if schema.get("x-kubernetes-int-or-string"):
        return _is_size(value)
    if "type" not in schema:
        return True
    is_bool = isinstance(value, bool)
    if not isinstance(value, _PYTHON[schema["type"]]) or is_bool != (schema["type"] == "boolean"):
        return False
    if isinstance(value, list):
        return all(fits(item, schema["items"]) for item in value)
    return _has_fields(value, schema) if isinstance(value, dict) else True


def _has_fields(value: Json, schema: Json) -> bool:
    if _ANYTHING.items() <= schema.items():
        return True
    properties = schema.get("properties", {})
    return (
        value.keys() <= properties.keys()
        and all(
            name in value or "default" in properties[name] for name in schema.get("required", ())
        )
        and all(fits(item, properties[name]) for name, item in value.items())
    )


def _is_size(value: object) -> bool:
    if isinstance(value, str):
        return re.fullmatch(_SIZE["pattern"], value) is not None
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
