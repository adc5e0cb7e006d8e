# SPDX-License-Identifier: Apache-2.0
"""ConfigMaps: immutable ones named by their content, and the TOML inside."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..api import digests as digest
from ..api import names, toml
from ..api.errors import InvalidSpec, TomlError
from ..api.fields import Fields
from ..api.toml import Table
from ..api.types import Manifest
from . import storage
from .sets import SetContext


def user_config(spec: Fields, instance_keys: Iterable[tuple[str, ...]] = ()) -> Table:
    """Return the user's configuration without what start scripts write per instance.

    Args:
        spec: the set's spec.
        instance_keys: paths that the start script inserts; a second definition would be an error.
    """
    config = toml.parse(spec.raw("config"), spec.at("config"))
    for path in instance_keys:
        toml.delete(config, path)
    return config


def operator_config(
    context: SetContext, service_type: str, fileservices: list[Table] | None
) -> Table:
    """Return the keys that every component's configuration has."""
    config: Table = {
        "service-type": service_type,
        "data-dir": names.DATA_DIR,
        "fileservice": fileservices or [storage.local_fileservice()],
    }
    if context.spec.flag("exportToPrometheus"):
        toml.put(config, ("observability", "enableMetricToProm"), value=True)
    return config


def config_text(spec: Fields, user: Table, operator: Table) -> str:
    """Return the complete TOML: the operator's keys over the user's.

    Raises:
        InvalidSpec: The user's part has a value that TOML cannot hold.
    """
    try:
        return toml.dump(toml.merge(user, operator))
    except TomlError as error:
        raise InvalidSpec(spec.at("config"), str(error)) from error


def config_map(context: SetContext, data: Mapping[str, str]) -> Manifest:
    """Return the immutable ConfigMap of a set, named by its content."""
    name = f"{context.base}-config-{digest.config_suffix(data)}"
    return fixed_config_map(context, name, data, immutable=True)


def set_config_map(context: SetContext, start_script: str, text: str) -> Manifest:
    """Return the ConfigMap with start script and TOML."""
    key = names.CONFIG_FILES.get(context.kind, names.CONFIG_FILE)
    return config_map(context, {names.START_SCRIPT: start_script, key: text})


def fixed_config_map(
    context: SetContext, name: str, data: Mapping[str, str], *, immutable: bool
) -> Manifest:
    """Return a ConfigMap under a name of its own."""
    body: dict[str, Any] = {"data": dict(data)}
    if immutable:
        body["immutable"] = True
    return context.manifest("v1", "ConfigMap", name, body)
