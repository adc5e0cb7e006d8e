# SPDX-License-Identifier: Apache-2.0
"""Plugins found once per process, where nothing that a run does can lead to another answer.

Stock Ansible searches the same directories several times in each play, and marks the classes
that it finds each time with the same names. The directories that a play may add (beside a
playbook, in a role) are searched each time.
"""

import copy
import os
import types
from collections.abc import Callable, Iterator
from typing import Any

from ansible.plugins import loader as plugin_loader
from jinja2 import Environment

_JINJA = Environment()  # noqa: S701 (nothing is rendered with it)
_OF_JINJA = frozenset(_JINJA.filters) | frozenset(_JINJA.tests)
_LEGACY = "ansible.legacy."
_NAMES_ONLY = ({"class_only": True}, {"path_only": True})
"""The options of a search through directories whose answer holds no new objects."""


def install() -> None:
    """Have Ansible's plugin loaders remember what they have found."""
    _mark_once()
    _find_once()
    _list_once()
    _miss_once()


def _mark_once() -> None:
    """Leave a class alone that is marked as it shall be.

    Each change of a class makes Python forget which attributes it and its subclasses have.
    """
    stock = plugin_loader.PluginLoader._update_object

    def update(self: Any, *arguments: Any, **options: Any) -> None:
        obj = options.get("obj")
        if isinstance(obj, type):
            marks = types.SimpleNamespace()
            stock(self, *arguments, **{**options, "obj": marks})
            now = vars(obj)
            if all(name in now and now[name] == mark for name, mark in vars(marks).items()):
                return
        stock(self, *arguments, **options)

    plugin_loader.PluginLoader._update_object = update


def _find_once() -> None:
    """Find what a full name stands for: it lies in a collection, or in Ansible itself."""
    stock = plugin_loader.PluginLoader.find_plugin_with_context
    known: dict[tuple[object, str, str], Any] = {}

    def find(self: Any, name: str, mod_type: str = "", *arguments: Any, **options: Any) -> Any:
        key = (self, name, mod_type)
        found = known.get(key)
        if found is None:
            found = stock(self, name, mod_type, *arguments, **options)
            if not _always_leads_to(found, name):
                return found
            known[key] = found
        return _copied(found)

    plugin_loader.PluginLoader.find_plugin_with_context = find


def _always_leads_to(found: Any, name: str) -> bool:
    """Whether a search warned about nothing, and would find the same again."""
    return bool(
        found.resolved
        and name.count(".") > 1
        and not name.startswith(_LEGACY)
        and found.redirect_list == [name]
        and not (found.deprecated or found.error_list or found.import_error_list)
    )


def _copied(found: Any) -> Any:
    """An answer of which its receiver may change what it likes."""
    result = copy.copy(found)
    for name, value in vars(found).items():
        if isinstance(value, list):
            setattr(result, name, list(value))
    return result


def _list_once() -> None:
    """List the plugins in directories again only when one of these has changed."""
    stock: Callable[..., Iterator[Any]] = plugin_loader.PluginLoader.all
    known: dict[tuple[object, ...], list[Any]] = {}

    def list_all(self: Any, *arguments: Any, **options: Any) -> Iterator[Any]:
        if arguments or options not in _NAMES_ONLY or self._plugin_instance_cache is not None:
            yield from stock(self, *arguments, **options)
            return
        key = (self, *options, *_state_of_folders(self))
        if key not in known:
            known[key] = list(stock(self, **options))
        yield from known[key]

    plugin_loader.PluginLoader.all = list_all


def _state_of_folders(loader: Any) -> Iterator[tuple[str, int]]:
    for folder in loader._get_paths_with_context():
        try:
            yield folder.path, os.stat(folder.path).st_mtime_ns  # noqa: PTH116 (a path as text)
        except OSError:
            yield folder.path, 0


def _miss_once() -> None:
    """Remember which of Jinja's own filters and tests Ansible has not replaced itself.

    Ansible goes through all of its plugins for each of them in each template engine.
    """
    stock = plugin_loader.Jinja2Loader.get_with_context
    missing: dict[tuple[object, str], Any] = {}

    def get_with_context(self: Any, name: str, *arguments: Any, **options: Any) -> Any:
        key = (self, name)
        if key in missing:
            self._ensure_non_collection_wrappers(*arguments)
            if name not in self._cached_non_collection_wrappers:
                return missing[key]
        found = stock(self, name, *arguments, **options)
        if name in _OF_JINJA and found.object is None:
            missing[key] = found
        return found

    plugin_loader.Jinja2Loader.get_with_context = get_with_context
