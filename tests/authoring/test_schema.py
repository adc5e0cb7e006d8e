# SPDX-License-Identifier: Apache-2.0
"""Options as fields: tables, and agreement with Ansible's own validation of arguments."""

import json
from typing import Any

import jsonschema
import pytest
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from hypothesis import given
from hypothesis import strategies as st

from ansible_operator.authoring.options import parse
from ansible_operator.authoring.schema import field_name, spec_schema
from ansible_operator.errors import ConfigError
from ansible_operator.loop.reconciling.snake_case import snake_case, snake_case_keys
from tests.authoring.specs import JSON, NAMES, SCALARS, option_specs

ANY = {"x-kubernetes-preserve-unknown-fields": True}


@pytest.mark.parametrize(
    ("spec", "schema"),
    [
        ({}, {"type": "string"}),
        ({"type": "path"}, {"type": "string"}),
        ({"type": "int"}, {"type": "integer"}),
        ({"type": "float", "default": 1}, {"type": "number", "default": 1}),
        ({"type": "bool", "default": False}, {"type": "boolean", "default": False}),
        ({"type": "raw"}, ANY),
        ({"type": "json"}, ANY),
        ({"type": "dict"}, {"type": "object", **ANY}),
        ({"type": "list"}, {"type": "array", "items": ANY}),
        ({"type": "list", "elements": "int"}, {"type": "array", "items": {"type": "integer"}}),
        (
            {"type": "list", "elements": "str", "choices": ["a", "b"], "default": ["a"]},
            {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "default": ["a"]},
        ),
        ({"choices": ["a", "b"], "default": "a"}, {"type": "string", "enum": ["a", "b"], "default": "a"}),
        ({"no_log": True}, {"type": "string", "format": "password"}),
        ({"default": "{{ other }}"}, {"type": "string"}),
        ({"default": None}, {"type": "string"}),
        (
            {"description": ["Uses C(x) and O(a.b=1).", "V(1)"]},
            {"description": "Uses x and a.b=1. 1", "type": "string"},
        ),
        (
            {
                "type": "dict",
                "default": {"max_size": 3, "items": []},
                "options": {
                    "max_size": {"type": "int", "required": True},
                    "items": {
                        "type": "list",
                        "elements": "dict",
                        "options": {"host_name": {"required": True}, "port": {"type": "int"}},
                    },
                },
            },
            {
                "type": "object",
                "required": ["maxSize"],
                "properties": {
                    "maxSize": {"type": "integer"},
                    "items": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["hostName"],
                            "properties": {
                                "hostName": {"type": "string"},
                                "port": {"type": "integer"},
                            },
                        },
                    },
                },
                "default": {"maxSize": 3, "items": []},
            },
        ),
    ],
    ids=lambda value: json.dumps(value)[:40],
)  # fmt: skip
def test_an_option_is_a_field(spec: Any, schema: Any) -> None:
    assert spec_schema(parse({"some_option": spec})) == {
        "type": "object",
        "properties": {"someOption": schema},
    }


def test_required_options_are_required_fields() -> None:
    schema = spec_schema(parse({"first_one": {"required": True}, "second": {}}))
    assert schema["required"] == ["firstOne"]


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"type": "int", "default": "3"}, "option x: its default '3' is no value of its type int"),
        ({"type": "int", "default": True}, "its default True is no value"),
        ({"type": "bool", "default": 1}, "its default 1 is no value"),
        ({"default": 1.6}, "its default 1.6 is no value of its type str"),
        ({"choices": ["a"], "default": "b"}, "no value of its type str and its choices"),
        ({"choices": [True, False]}, "the choice True is no value of its type str; quote it"),
        ({"type": "int", "choices": ["1"]}, "the choice '1' is no value of its type int"),
        ({"type": "integer"}, "'integer' is no type of an argument spec"),
        ({"type": "list", "elements": "x"}, "'x' is no type of an argument spec"),
        ({"choices": "ab"}, "choices is no list"),
        ({"type": "dict", "options": {"a": {"type": "dict", "options": {"B": {}}}}}, "option x.a.B: no field"),
        ({"type": "dict", "default": {}, "options": {"a": {"required": True}}}, "its default {} is no value"),
        ({"type": "dict", "options": ["a"]}, "options of x is no mapping"),
        ([], "option x is no mapping"),
    ],
)  # fmt: skip
def test_what_cannot_be_a_field_is_named(spec: Any, said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        spec_schema(parse({"x": spec}))
    assert said in str(raised.value)


@pytest.mark.parametrize(
    ("option", "field"),
    [
        ("size", "size"),
        ("max_memory", "maxMemory"),
        ("memcached_http_port", "memcachedHttpPort"),
        ("size2", "size2"),
        ("replica_2", "replica_2"),
        ("_state", "_state"),
        ("a_b_c", "a_b_c"),
    ],
)
def test_names_of_fields(option: str, field: str) -> None:
    (parsed,) = parse({option: {}})
    assert field_name(parsed) == field
    assert snake_case(field) == option


@pytest.mark.parametrize(
    "name", ["ansible_host", "_ansible_x", "maxSize", "A", "a-b", "a b", "", "a0a0"]
)
def test_options_that_no_field_becomes(name: str) -> None:
    with pytest.raises(ConfigError, match="no field of a spec becomes this variable"):
        field_name(parse({name: {}})[0])


def values(spec: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Values that are of use often enough."""
    if spec["type"] == "list":
        return st.lists(values({**spec, "type": spec["elements"]}), max_size=3) | JSON
    if "choices" in spec:
        return st.sampled_from(spec["choices"]) | JSON
    if spec["type"] == "dict" and "options" in spec:
        return objects(spec["options"]) | JSON
    good = SCALARS.get(spec["type"], JSON)
    if spec["type"] in ("bytes", "bits"):
        good = st.integers(0, 9) | st.sampled_from(["5", "5K", "1.5G", "5Q", "5KB", "-1", "5k", ""])
    return good | JSON


@st.composite
def objects(draw: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Draw the arguments of a role: some are missing or of another type."""
    return {
        name: draw(values(spec))
        for name, spec in options.items()
        if draw(st.sampled_from([True, True, True, spec["required"]]))
    }


def in_schema(value: Any, schema: dict[str, Any]) -> bool:
    """Whether the API server takes it: it knows a few keywords that JSON Schema lacks."""
    return bool(jsonschema.Draft7Validator(_plain(schema)).is_valid(value))


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    plain = dict(schema)
    if plain.pop("x-kubernetes-int-or-string", False):
        plain["type"] = ["integer", "string"]
    if "properties" in plain:
        plain["properties"] = {name: _plain(one) for name, one in plain["properties"].items()}
        plain["additionalProperties"] = False  # the API server prunes them before Ansible sees them
        needed = plain.get("required", [])
        plain["required"] = [one for one in needed if "default" not in plain["properties"][one]]
    if "items" in plain:
        plain["items"] = _plain(plain["items"])
    return plain


def as_fields(value: Any, options: dict[str, Any]) -> Any:
    """Return arguments as the resource has them."""
    parsed = {option.name: field_name(option) for option in parse(options)}
    if not isinstance(value, dict):
        return value
    return {
        parsed.get(name, name): _inner_fields(item, options.get(name, {}).get("options"))
        for name, item in value.items()
    }


def _inner_fields(value: Any, options: dict[str, Any] | None) -> Any:
    if options is None:
        return value
    if isinstance(value, list):
        return [as_fields(one, options) for one in value]
    return as_fields(value, options)


@st.composite
def roles_and_arguments(draw: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    options = draw(st.dictionaries(NAMES, option_specs(), min_size=1, max_size=4))
    return options, draw(objects(options))


@given(roles_and_arguments())
def test_ansible_takes_what_the_api_server_takes(
    drawn: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    options, arguments = drawn
    fields = as_fields(arguments, options)
    if in_schema(fields, spec_schema(parse(options))):
        assert snake_case_keys(fields) == arguments or _has_open_keys(options)
        result = ArgumentSpecValidator(options).validate(snake_case_keys(fields))
        assert result.error_messages == []


def _has_open_keys(options: dict[str, Any]) -> bool:
    """Tell whether keys of users reach the role in snake case, as `replica_2` instead of `replica2`."""
    return any(
        (spec["type"] in ("dict", "raw") or spec.get("elements") == "dict")
        and ("options" not in spec or _has_open_keys(spec["options"]))
        for spec in options.values()
    )


@given(roles_and_arguments())
def test_the_api_server_takes_what_ansible_makes_of_arguments(
    drawn: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    """Ansible takes more, such as the text "3" for a number; then it is the number that counts."""
    options, arguments = drawn
    try:
        result = ArgumentSpecValidator(options).validate(arguments)
    except TypeError:  # Ansible itself fails on what is no dictionary
        return
    if not result.error_messages and not _bools_are_numbers(arguments):
        fields = as_fields(_given(result.validated_parameters), options)
        schema = spec_schema(parse(options))
        errors = list(jsonschema.Draft7Validator(_plain(schema)).iter_errors(fields))
        assert errors == []


def _given(value: Any) -> Any:
    """Leave out options that nobody has set, which Ansible has as None."""
    if isinstance(value, dict):
        return {name: _given(item) for name, item in value.items() if item is not None}
    return [_given(item) for item in value] if isinstance(value, list) else value


def _bools_are_numbers(value: Any) -> bool:
    """Tell whether there is a bool anywhere, which is a number for Python but not for JSON."""
    if isinstance(value, dict):
        return any(map(_bools_are_numbers, value.values()))
    if isinstance(value, list):
        return any(map(_bools_are_numbers, value))
    return isinstance(value, bool)
