# SPDX-License-Identifier: Apache-2.0
"""What Ansible keeps about the one command line that a process of stock Ansible has."""

import argparse
import secrets
from collections.abc import Mapping
from typing import Any

import ansible.utils.vars
from ansible import context
from ansible.parsing import vault
from ansible.plugins.loader import get_all_plugin_loaders
from ansible.plugins.vars import host_group_vars
from ansible.utils.context_objects import CLIArgs
from ansible.utils.display import Display
from ansible.utils.vars import combine_vars, load_extra_vars, load_options_vars


def set_options(options: argparse.Namespace) -> None:
    """Set the options of the command line."""
    context.CLIARGS = CLIArgs.from_options(options)


def set_extra_vars(loader: Any, variables: Mapping[str, Any]) -> None:
    """Set extra variables, which win over those of the command line."""
    reader: Any = load_extra_vars
    vars(reader).clear()
    reader.extra_vars = combine_vars(reader(loader), variables)


def draw_ids() -> None:
    """Have ids differ from those of other forks: a number drawn in the template is part of them."""
    ansible.utils.vars.random_int = f"{secrets.randbelow(1 << 32):08x}"


def forget() -> None:
    """Forget options, extra variables, vault secrets, files of inventories and past warnings."""
    context.CLIARGS = CLIArgs({})
    for function in (load_extra_vars, load_options_vars):
        vars(function).clear()
    display: Any = Display()
    for messages in (display._warns, display._deprecations, display._errors):
        messages.clear()
    for found in (host_group_vars.CANONICAL_PATHS, host_group_vars.FOUND, host_group_vars.NAK):
        found.clear()
    secrets: Any = getattr(vault, "VaultSecretsContext", None)  # new in 2.19
    if secrets is not None:
        secrets._current = None


def plugin_folders() -> list[list[str]]:
    """The directories of plugins that playbooks and roles have added, by kind of plugin."""
    return [list(loader._extra_dirs) for _, loader in get_all_plugin_loaders()]
