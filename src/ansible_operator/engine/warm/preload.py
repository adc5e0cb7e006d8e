# SPDX-License-Identifier: Apache-2.0
"""What the template loads and plays before its first fork."""

import ast
import contextlib
import importlib
import importlib.util
import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from ansible.cli import CLI
from ansible.executor.playbook_executor import PlaybookExecutor
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.loader import (
    action_loader,
    filter_loader,
    lookup_loader,
    module_loader,
    test_loader,
)
from ansible.vars.manager import VariableManager

from ansible_operator.engine.patches import collection_paths, run_state, self_test, versions
from ansible_operator.engine.patches.settings import fact_cache
from ansible_operator.engine.warm import play, read_ahead

_ACTION = re.compile(
    r"^[ \t-]*[\"']?([a-z_][a-z0-9_]*\.[a-z_][a-z0-9_]*\.[a-z0-9_]+)[\"']?[ \t]*:", re.MULTILINE
)
_FILTER = re.compile(r"\|\s*([a-z_][a-z0-9_]*\.[a-z_][a-z0-9_]*\.[a-z0-9_]+)")
_ROLE_NAME = re.compile(
    r"\b(?:name|role):[ \t]*[\"']?([a-z_][a-z0-9_.]*)[\"']?[ \t]*$", re.MULTILINE
)
_ALWAYS = (
    "kubernetes.client",
    "kubernetes.config",
    "kubernetes.dynamic",
    "ansible.modules.command",
    "ansible.modules.setup",
)
_PLAY = [
    {
        "name": "Warm up",
        "hosts": "localhost",
        "gather_facts": True,
        "strategy": "ansible.builtin.linear",
        "connection": "ansible.builtin.local",
        "become": False,
        "any_errors_fatal": False,
        "force_handlers": False,
        "no_log": False,
        "tags": ["always"],
        "roles": ["warm"],
    }
]
"""Says what settings of a project would say otherwise."""
_ROLE = {
    "defaults/main.yml": "words: [a, b]",
    "meta/argument_specs.yml": "argument_specs: {main: {options: {words: {type: list}}}}",
    "handlers/main.yml": """
- name: Handle
  ansible.builtin.debug: {msg: handled}
""",
    "tasks/more.yml": """
- name: Module
  ansible.builtin.command: {cmd: "true"}
  changed_when: false
""",
    "tasks/main.yml": """
- name: Compute
  ansible.builtin.set_fact: {joined: "{{ words | map('upper') | join(',') }}"}
  changed_when: true
  notify: Handle
- name: Show
  ansible.builtin.debug: {var: item}
  loop: "{{ words }}"
  when: joined is defined and item is string
- name: Check
  ansible.builtin.assert: {that: ["joined == 'A,B'"], quiet: true}
- name: Include
  ansible.builtin.include_tasks: more.yml
- name: Recover
  block:
    - name: Fail
      ansible.builtin.fail: {msg: expected}
  rescue:
    - name: Rescued
      ansible.builtin.debug: {msg: rescued}
""",
}
"""A role that uses what roles use, so that its plugins and their options are known."""


def preload(roles: Sequence[Path]) -> list[str]:
    """Import what the tasks of these roles will need.

    Returns:
        The names of the actions that were found in the roles.
    """
    for name in _ALWAYS:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    roles = _with_used(roles)
    read_ahead.read(roles)
    actions, filters = _used(roles)
    followed: set[Path] = set()
    for name in sorted(actions):
        for loader, kind in ((action_loader, "action"), (module_loader, "modules")):
            found = loader.find_plugin_with_context(name, ".py")
            if found.resolved and found.plugin_resolved_path:
                package = f"ansible_collections.{name.rpartition('.')[0]}.plugins.{kind}"
                _import_needs(Path(found.plugin_resolved_path), package, followed)
        action_loader.get(name, class_only=True)
    for name in filters:
        with contextlib.suppress(KeyError):
            filter_loader.get(name)
    _load_own_plugins()
    return sorted(actions)


def _load_own_plugins() -> None:
    """Load the plugins of Ansible itself that tasks use, by both of their names."""
    for loader in (filter_loader, test_loader):
        for _ in loader.all():
            pass
    for loader in (action_loader, lookup_loader):
        for path in list(loader.all(path_only=True)):
            name = Path(path).stem
            if not path.endswith(".py") or name.startswith("_"):
                continue
            for full_name in (name, f"ansible.builtin.{name}"):
                with contextlib.suppress(Exception):  # it may need a package that is not here
                    loader.get(full_name, class_only=True)


def warm_up(folder: Path) -> None:
    """Play a small role in this process, the way runs are played.

    Raises:
        RuntimeError: it failed, or had other results than with stock Ansible.
    """
    for name, text in _ROLE.items():
        file = folder / "roles" / "warm" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (folder / "warm_up.json").write_text(json.dumps(_PLAY))
    inventory = folder / "inventory"
    inventory.mkdir(exist_ok=True)
    hosts = f'localhost ansible_connection=local ansible_python_interpreter="{sys.executable}"\n'
    (inventory / "hosts").write_text(hosts)
    playbook = folder / "warm_up.json"
    run_state.set_options(play.parse(["-i", str(inventory), str(playbook)]))
    notes = self_test.Notes()
    with fact_cache(folder / "facts"):
        code = _play(playbook, inventory, notes)
    run_state.forget()
    if code != 0:
        raise RuntimeError(f"the warm-up play ended with {code}")
    notes.check()


def _play(playbook: Path, inventory: Path, notes: self_test.Notes) -> int:
    loader = DataLoader()
    hosts = InventoryManager(loader=loader, sources=[str(inventory)])
    version = CLI.version_info(gitinfo=False)
    variables = VariableManager(loader=loader, inventory=hosts, version_info=version)
    executor = PlaybookExecutor([str(playbook)], hosts, variables, loader, {})
    versions.use_callback_alone(executor, notes)
    return int(executor.run())


def _used(roles: Sequence[Path]) -> tuple[set[str], set[str]]:
    actions: set[str] = set()
    filters: set[str] = set()
    for role in roles:
        for file in read_ahead.yaml_files(role):
            text = file.read_text(errors="replace")
            actions.update(_ACTION.findall(text))
            filters.update(_FILTER.findall(text))
    return actions, filters


def _with_used(roles: Sequence[Path]) -> list[Path]:
    """The roles and those that they import, include or depend on, as far as named literally."""
    found = list(dict.fromkeys(roles))
    for role in found:
        for file in read_ahead.yaml_files(role):
            for name in _ROLE_NAME.findall(file.read_text(errors="replace")):
                used = _role_path(name, role)
                if used is not None and used not in found:
                    found.append(used)
    return found


def _role_path(name: str, beside: Path) -> Path | None:
    """The directory of a role of a collection, or of one beside another."""
    if name.count(".") == 2:
        return collection_paths.role_path(name)
    path = beside.parent / name
    return path if (path / "tasks").is_dir() else None


def _import_needs(source: Path, package: str, followed: set[Path]) -> None:
    """Import everything that a plugin imports, at its top or in its functions, and so on.

    What it imports from collections is followed; other packages import what they need.

    Args:
        source: file of the plugin.
        package: that contains it.
        followed: files that need not be followed again, because another plugin imports them, too;
            those of this plugin are added.
    """
    waiting = [(source, package)]
    followed.add(source)
    while waiting:
        file, package = waiting.pop()
        for name in _imports(file, package):
            module = _import(name)
            found = Path(getattr(module, "__file__", None) or "/")
            if name.startswith("ansible_collections.") and found.suffix == ".py":
                if found not in followed:
                    waiting.append((found, name.rpartition(".")[0]))
                followed.add(found)


def _imports(file: Path, package: str) -> Iterator[str]:
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            with contextlib.suppress(ImportError):
                name = "." * node.level + (node.module or "")
                yield importlib.util.resolve_name(name, package)


def _import(name: str) -> object:
    # A module's optional dependency may be missing or broken; the module says so when it runs.
    with contextlib.suppress(Exception, SystemExit):
        return importlib.import_module(name)
    return None
