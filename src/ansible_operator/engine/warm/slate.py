# SPDX-License-Identifier: Apache-2.0
"""A process as it was before a run, so that it can serve another.

Stock Ansible has a process per run, and its plugins rely on that: they keep what they know in
variables of their modules and classes. So everything that a run may have left is taken back:
environment, folder, streams, signal handlers, and the variables of all modules of Ansible, of
collections and of the Kubernetes client, containers in them included. What cannot be taken back
(threads, children, open files, plugins that nobody had foreseen) ends the process with its run.
"""

import contextlib
import functools
import gc
import logging
import multiprocessing
import os
import re
import resource
import signal
import sys
import threading
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ansible.plugins import loader as plugin_loader
from ansible.utils.display import Display

from ansible_operator.engine.warm.dict_versions import DictVersions
from ansible_operator.engine.warm.play import FACT_FOLDER

_WATCHED = ("ansible.", "ansible_collections.", "kubernetes.")
_PLUGIN = re.compile(r"(ansible|ansible_collections\.\w+\.\w+)\.plugins\.(\w+\.)+\w+$")
_UNWATCHED = (
    # What it remembers is where plugins lie; whether it got more folders is looked at.
    "ansible.plugins.loader",
    # Imports whatever it is asked for.
    "ansible.module_utils.six",
    "kubernetes.client.models",
    "kubernetes.client.api.",
)
_LARGEST_GROWTH = 16 * 1024
"""KiB that a process may have grown over its runs."""
_PURELY_CACHED = ("ansible.playbook.", "ansible._internal.", "ansible.module_utils.")
"""Modules whose cached functions depend on nothing but their arguments."""
_CONTAINERS = (dict, list, set)
_CACHED = type(functools.cache(lambda: None))
_DEEPEST = 3
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGALRM, signal.SIGHUP, signal.SIGCHLD)


def _copied(value: Any, depth: int = 0) -> Any:
    """A copy of nested plain containers; anything else is shared."""
    kind = type(value)
    if kind is dict and depth < _DEEPEST:
        return {key: _copied(item, depth + 1) for key, item in value.items()}
    if kind is list and depth < _DEEPEST:
        return [_copied(item, depth + 1) for item in value]
    return set(value) if kind is set else value


def _equal(one: object, other: object) -> bool:
    try:
        return bool(one == other)
    except Exception:  # noqa: BLE001 (foreign values compare as they like)
        return False


class _Container:
    """A dict, list or set, and what was in it."""

    __slots__ = ("before", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self.before = _copied(value)

    @property
    def is_flat(self) -> bool:
        """Whether it is a dict with nothing in it that could change by itself."""
        return type(self.value) is dict and not any(
            type(one) in _CONTAINERS for one in self.value.values()
        )

    def restore(self) -> None:
        """Put back what was in it."""
        if _equal(self.before, self.value):
            return
        self.value.clear()
        if isinstance(self.value, list):
            self.value.extend(_copied(self.before))
        else:
            self.value.update(_copied(self.before))


class _Names:
    """The variables of a module, a class or an object."""

    __slots__ = ("_before", "_owner")

    def __init__(self, owner: object) -> None:
        self._owner = owner
        self._before = dict(vars(owner))

    def restore(self) -> None:
        """Bind every name as it was bound."""
        now = dict(vars(self._owner))
        for name, value in self._before.items():
            if now.pop(name, None) is not value and not name.startswith("__"):
                setattr(self._owner, name, value)
        for name, value in now.items():
            # A submodule is no state: it stays where its import has put it.
            if not isinstance(value, types.ModuleType) and not name.startswith("__"):
                delattr(self._owner, name)


class _Cache:
    """The cache of a function."""

    __slots__ = ("_before", "_function")

    def __init__(self, function: Any) -> None:
        self._function = function
        self._before = function.cache_info().currsize

    def restore(self) -> None:
        """Empty it when something was added."""
        if self._function.cache_info().currsize != self._before:
            self._function.cache_clear()
            self._before = 0


class Slate:
    """What a process was like when this was made: in the template, once all is loaded."""

    def __init__(self) -> None:
        self._modules = frozenset(sys.modules)
        owners = list(_owners())
        containers, self._caches, self._empty = _state([*owners, Display()])
        flat = [one for one in containers if one.is_flat]
        # What versions do not tell of: attributes of an object, lists, sets, and what nests them.
        nested = [one for one in containers if not one.is_flat]
        self._others: list[_Names | _Container] = [_Names(Display()), *nested]
        self._dicts: list[_Names | _Container] = [*map(_Names, owners), *flat]
        self._versions = DictVersions([*map(vars, owners), *(one.value for one in flat)])
        self._folders = _plugin_folders()
        self._imports = _import_settings()
        self._environment: dict[str, str] = {}
        self._handlers: dict[int, Any] = {}
        self._files = self._largest = 0

    def begin(self) -> None:
        """Note what is a fork's own, before its first run."""
        self._environment = dict(os.environ)
        self._handlers = {number: signal.getsignal(number) for number in _SIGNALS}
        self._files = len(_open_files())
        self._largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss + _LARGEST_GROWTH

    def wipe(self) -> str:
        """Take back what a run has left.

        Returns:
            Why that is impossible, so that the process must not serve another run; ``""`` when
            it may.
        """
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in self._handlers.items():
            if signal.getsignal(number) is not handler:
                signal.signal(number, handler)
        os.chdir("/")
        os.umask(0o022)
        if os.environ != self._environment:
            os.environ.clear()
            os.environ.update(self._environment)
        self._restore()
        gc.collect(1)
        return self._what_stays()

    def _restore(self) -> None:
        for position in self._versions.written():
            self._dicts[position].restore()
        for one in self._others:
            one.restore()
        for cache in self._caches:
            cache.restore()
        for attributes in filter(None, self._empty):
            attributes.clear()
        self._versions.look()

    def _what_stays(self) -> str:
        new = [name for name in sys.modules.keys() - self._modules if _PLUGIN.match(name)]
        leftovers = {
            "threads": threading.active_count() > 1,
            "processes": _has_children(),
            f"plugins that were not loaded ahead ({', '.join(sorted(new))})": bool(new),
            "places of plugins": _plugin_folders() != self._folders,
            "places of modules": _import_settings() != self._imports,
            "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > self._largest,
            "open files": self._has_more_files(),
        }
        return ", ".join(name for name, stays in leftovers.items() if stays)

    def _has_more_files(self) -> bool:
        if len(_open_files()) > self._files:
            _close_fact_files()
            gc.collect()
        return len(_open_files()) > self._files


def _state(owners: list[object]) -> tuple[list[_Container], list[_Cache], list[dict[str, Any]]]:
    """All that a run may change in modules, and the attributes of functions that have none."""
    containers: list[_Container] = []
    caches: list[_Cache] = []
    empty: list[dict[str, Any]] = []
    for owner in owners:
        containers += _containers_of(owner)
        caches += _caches_of(owner)
        attributes = [value.__dict__ for value in _functions(owner)]
        empty += [one for one in attributes if not one]
        containers += [_Container(one) for one in attributes if one]
    return containers, caches, empty


def _owners() -> Iterator[object]:
    """Whose variables are watched: modules and the classes that they define."""
    for name, module in list(sys.modules.items()):
        if name.startswith(_WATCHED) and not name.startswith(_UNWATCHED):
            yield module
            for value in list(vars(module).values()):
                if isinstance(value, type) and value.__module__ == name:
                    yield value


def _containers_of(owner: object) -> Iterator[_Container]:
    for name, value in list(vars(owner).items()):
        if type(value) in _CONTAINERS and not name.startswith("__"):
            yield _Container(value)
    for function in _functions(owner):
        defaults = (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
        yield from (_Container(one) for one in defaults if type(one) in _CONTAINERS)


def _caches_of(owner: object) -> Iterator[_Cache]:
    if not _home(owner).startswith(_PURELY_CACHED):
        for value in list(vars(owner).values()):
            if type(_bare(value)) is _CACHED:
                yield _Cache(_bare(value))


def _functions(owner: object) -> Iterator[types.FunctionType]:
    """The functions that a module or class defines itself."""
    home = _home(owner)
    for value in list(vars(owner).values()):
        function = _bare(value)
        if isinstance(function, types.FunctionType) and function.__module__ == home:
            yield function


def _home(owner: object) -> str:
    """The name of the module that an object is or belongs to."""
    if isinstance(owner, types.ModuleType):
        return owner.__name__
    return str((owner if isinstance(owner, type) else type(owner)).__module__)


def _bare(value: object) -> object:
    return value.__func__ if isinstance(value, classmethod | staticmethod) else value


def _plugin_folders() -> list[list[str]]:
    return [list(loader._extra_dirs) for _, loader in plugin_loader.get_all_plugin_loaders()]


def _import_settings() -> tuple[list[Any], ...]:
    return list(sys.path), list(sys.meta_path), list(sys.argv), list(logging.root.handlers)


def _has_children() -> bool:
    multiprocessing.active_children()  # reaps workers that have ended
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _open_files() -> list[str]:
    return os.listdir("/proc/self/fd")  # noqa: PTH208 (names are all that is wanted)


def _close_fact_files() -> None:
    """Close what Ansible's cache of facts leaves open each time that it writes a file."""
    for number in _open_files():
        with contextlib.suppress(OSError):
            if FACT_FOLDER in Path(f"/proc/self/fd/{number}").readlink().parts:
                os.close(int(number))
