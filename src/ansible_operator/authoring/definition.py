# SPDX-License-Identifier: Apache-2.0
"""The CRD of a kind: written once, after that only the schema of its spec follows the role."""

from collections.abc import Sequence

import yaml

from ansible_operator.authoring.names import KindNames
from ansible_operator.authoring.options import Option
from ansible_operator.authoring.schema import field_name, spec_schema
from ansible_operator.authoring.yaml_text import Json, NotEditableError, documents, replaced
from ansible_operator.errors import ConfigError

_MOST_COLUMNS = 3
_COLUMN_TYPES = {"int": "integer", "bool": "boolean"}
_CONDITIONS: Json = {
    "description": "Running, Successful and Failure tell how the last run of the role ended.",
    "type": "array",
    "items": {
        "type": "object",
        "required": ["type", "status"],
        "properties": {
            "type": {"type": "string"},
            "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
            "reason": {"type": "string"},
            "message": {"type": "string"},
            "lastTransitionTime": {"type": "string", "format": "date-time"},
        },
        "x-kubernetes-preserve-unknown-fields": True,
    },
}


def text(names: KindNames, role: str, options: Sequence[Option]) -> str:
    """The file of a new CRD.

    Raises:
        ConfigError: an option cannot be a field.
    """
    comment = (
        f"The schema of spec follows from the argument specs of the role {role}: after a change\n"
        "of them, `make crd` replaces it. All else in this file is yours to change."
    )
    return documents(definition(names, options), comment=comment)


def definition(names: KindNames, options: Sequence[Option]) -> Json:
    """The CRD as data."""
    status: Json = {
        "type": "object",
        "properties": {"conditions": _CONDITIONS},
        "x-kubernetes-preserve-unknown-fields": True,
    }
    schema: Json = {
        "type": "object",
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": spec_schema(options),
            "status": status,
        },
    }
    version: Json = {
        "name": names.version,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "additionalPrinterColumns": _columns(options),
        "schema": {"openAPIV3Schema": schema},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": names.definition},
        "spec": {
            "group": names.group,
            "names": {
                "kind": names.kind,
                "listKind": f"{names.kind}List",
                "plural": names.plural,
                "singular": names.singular,
            },
            "scope": "Namespaced",
            "versions": [version],
        },
    }


def _columns(options: Sequence[Option]) -> list[Json]:
    """What ``kubectl get`` shows: short values of the spec, the last run, the age."""
    shown = [
        option
        for option in options
        if option.type in _COLUMN_TYPES or (option.type == "str" and option.choices)
    ]
    columns: list[Json] = []
    for option in shown[:_MOST_COLUMNS]:
        field = field_name(option)
        column_type = _COLUMN_TYPES.get(option.type, "string")
        title = field[:1].upper() + field[1:]
        columns.append({"name": title, "type": column_type, "jsonPath": f".spec.{field}"})
    successful = '.status.conditions[?(@.type=="Successful")].status'
    columns.append({"name": "Successful", "type": "string", "jsonPath": successful})
    columns.append({"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"})
    return columns


def updated(old: str, version: str, options: Sequence[Option], path: str) -> str:
    """The file of a CRD with the schema of spec that the options have now.

    Args:
        old: its text, as its author left it.
        version: the version whose schema it is.
        options: of the role.
        path: of the file, for messages.

    Returns:
        The same text if the schema is what it has to be.

    Raises:
        ConfigError: the file is no such CRD, or an option cannot be a field.
    """
    schema = spec_schema(options)
    try:
        content = yaml.safe_load(old)
        versions = content["spec"]["versions"]
        (index,) = (at for at, one in enumerate(versions) if one["name"] == version)
        current = versions[index]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    except (yaml.YAMLError, KeyError, TypeError, ValueError) as error:
        raise ConfigError(
            f"{path} is no CRD with the version {version} and a schema of its spec; correct it, or "
            "delete the file and create it again"
        ) from error
    if current == schema:
        return old
    where = ("spec", "versions", index, "schema", "openAPIV3Schema", "properties", "spec")
    try:
        return replaced(old, where, schema)
    except NotEditableError as error:
        raise ConfigError(
            f"{path}: the schema of spec cannot be replaced, because {error}; write it in block "
            "style, without anchors, or delete the file and create it again"
        ) from error


def plural_in(text: str, group: str, kind: str) -> str:
    """The plural of a kind if a text is its CRD; ``""`` otherwise."""
    try:
        spec = yaml.safe_load(text)["spec"]
        is_it = (spec["group"], spec["names"]["kind"]) == (group, kind)
        return str(spec["names"]["plural"]) if is_it else ""
    except (yaml.YAMLError, KeyError, TypeError):
        return ""
