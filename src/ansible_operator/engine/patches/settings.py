# SPDX-License-Identifier: Apache-2.0
"""Ansible's settings, which stock Ansible reads from the environment once per process."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ansible import constants
from ansible.plugins import cache


class Settings:
    """Which of Ansible's constants depend on which environment variable."""

    def __init__(self) -> None:
        self._names: dict[str, list[str]] = {}
        for name, definition in constants.config.get_configuration_definitions().items():
            for entry in definition.get("env", []):
                self._names.setdefault(entry["name"], []).append(name)

    def apply(self, environment: dict[str, str]) -> None:
        """Set variables, and the constants that were computed from them."""
        os.environ.update(environment)
        for variable in environment:
            for name in self._names.get(variable, ()):
                setattr(constants, name, constants.config.get_config_value(name))


def snapshot() -> dict[str, Any]:
    """The settings as they are, for ``change``."""
    return dict(vars(constants))


def change(values: Mapping[str, Any]) -> None:
    """Set settings to these values."""
    vars(constants).update(values)


def keep_facts_private() -> None:
    """Have files of facts written for the operator's user alone, not readable for everyone."""
    cache.S_IRWU_RG_RO = 0o600


@contextmanager
def fact_cache(folder: Path) -> Iterator[None]:
    """Keep facts in files of a folder, as runs do."""
    names = {"CACHE_PLUGIN": "jsonfile", "CACHE_PLUGIN_CONNECTION": str(folder)}
    before = {name: getattr(constants, name) for name in names}
    variables = {f"ANSIBLE_{name}": value for name, value in names.items()}
    os.environ.update(variables)
    change(names)
    try:
        yield
    finally:
        change(before)
        for variable in variables:
            del os.environ[variable]
