# SPDX-License-Identifier: Apache-2.0
"""What the template loads and plays before its first fork."""

import ast
import contextlib
import importlib
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ansible import context
from ansible.executor.playbook_executor import PlaybookExecutor
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.loader import action_loader, filter_loader, module_loader, test_loader
from ansible.utils.context_objects import CLIArgs
from ansible.utils.display import Display
from ansible.utils.vars import load_extra_vars, load_options_vars
from ansible.vars.manager import VariableManager

from ansible_operator.engine.warm import play

_ACTION = re.compile(
    r"^[ \t-]*[\"']?([a-z_][a-z0-9_]*\.[a-z_][a-z0-9_]*\.[a-z0-9_]+)[\"']?[ \t]*:", re.MULTILINE
)
_FILTER = re.compile(r"\|\s*([a-z_][a-z0-9_]*\.[a-z_][a-z0-9_]*\.[a-z0-9_]+)")
_ALWAYS = (
    "kubernetes.client",
    "kubernetes.config",
    "kubernetes.dynamic",
    "ansible.modules.command",
)
_WARM_UP = """
- name: Warm up
  hosts: localhost
  gather_facts: false
  vars: {words: [a, b]}
  handlers:
    - name: Handle
      ansible.builtin.debug: {msg: handled}
  tasks:
    - name: Compute
      ansible.builtin.set_fact: {joined: "{{ words | map('upper') | join(',') }}"}
      changed_when: joined is not defined
      notify: Handle
    - name: Show
      ansible.builtin.debug: {var: item}
      loop: "{{ words }}"
      when: joined is defined and item is string
    - name: Check
      ansible.builtin.assert: {that: ["joined == 'A,B'"], quiet: true}
    - name: Module
      ansible.builtin.command: {cmd: "true"}
      changed_when: false
    - name: Recover
      block:
        - name: Fail
          ansible.builtin.fail: {msg: expected}
      rescue:
        - name: Clear
          ansible.builtin.meta: clear_host_errors
"""


def preload(roles: Sequence[Path]) -> list[str]:
    """Import what the tasks of these roles will need.

    Returns:
        The names of the actions that were found in the roles.
    """
    for name in _ALWAYS:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    actions, filters = _used(roles)
    for name in actions:
        action_loader.get(name, class_only=True)
        found = module_loader.find_plugin_with_context(name, ".py")
        if found.resolved and found.plugin_resolved_path:
            _import_needs(Path(found.plugin_resolved_path))
    for name in filters:
        with contextlib.suppress(KeyError):
            filter_loader.get(name)
    for loader in (filter_loader, test_loader):
        for _ in loader.all():
            pass
    return sorted(actions)


def warm_up(folder: Path) -> None:
    """Play a small play in this process.

    Raises:
        RuntimeError: it failed; Ansible does not work here.
    """
    playbook = folder / "warm_up.yml"
    playbook.write_text(_WARM_UP)
    options = vars(play.parse(["-i", "localhost,", "-c", "local", str(playbook)]))
    context.CLIARGS = CLIArgs(options)
    loader = DataLoader()
    inventory = InventoryManager(loader=loader, sources=["localhost,"])
    variables = VariableManager(loader=loader, inventory=inventory, version_info=_version())
    variables.extra_vars["ansible_python_interpreter"] = sys.executable
    executor = PlaybookExecutor([str(playbook)], inventory, variables, loader, {})
    code = executor.run()
    _forget()
    if code != 0:
        raise RuntimeError(f"the warm-up play ended with {code}")


def _forget() -> None:
    """Take back what Ansible remembers of the one command line that a process has."""
    context.CLIARGS = CLIArgs({})
    for function in (load_extra_vars, load_options_vars):
        vars(function).clear()
    display = Display()
    for said in (display._warns, display._deprecations, display._errors):
        said.clear()


def _version() -> dict[str, Any]:
    from ansible.cli import CLI

    return dict(CLI.version_info(gitinfo=False))


def _used(roles: Sequence[Path]) -> tuple[set[str], set[str]]:
    actions: set[str] = set()
    filters: set[str] = set()
    for role in roles:
        for file in _yaml_files(role):
            text = file.read_text(errors="replace")
            actions.update(_ACTION.findall(text))
            filters.update(_FILTER.findall(text))
    return actions, filters


def _yaml_files(role: Path) -> Iterator[Path]:
    for folder in ("tasks", "handlers", "defaults", "vars"):
        for pattern in ("*.yml", "*.yaml"):
            yield from sorted((role / folder).rglob(pattern))


def _import_needs(module: Path) -> None:
    """Import everything that a module imports, at its top or in its functions."""
    try:
        tree = ast.parse(module.read_bytes())
    except (OSError, SyntaxError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            _import(node.module)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                _import(alias.name)


def _import(name: str) -> None:
    # A module's optional dependency may be missing or broken; the module says so when it runs.
    with contextlib.suppress(Exception):
        importlib.import_module(name)
