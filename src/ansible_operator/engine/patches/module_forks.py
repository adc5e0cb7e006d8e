# SPDX-License-Identifier: Apache-2.0
"""A module executed in a fork of the play's process."""

import atexit
import contextlib
import gc
import importlib.abc
import importlib.machinery
import importlib.util
import os
import signal
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ansible_operator.engine.forking.processes import die_with
from ansible_operator.engine.patches import versions as ansible_versions

_LIBRARY = "ansible_operator_library"
"""Package name under which modules outside of collections are executed."""


@dataclass(frozen=True, slots=True)
class Module:
    """A module that can be executed in a fork.

    Attributes:
        name: its import name.
        path: its source file.
    """

    name: str
    path: str


def of_no_package(path: str) -> Module:
    """The module of a source file outside of packages."""
    return Module(f"{_LIBRARY}.{Path(path).stem}", path)


def execute(
    module: Module,
    payload: bytes,
    environment: Mapping[str, str],
    directory: str,
    close: list[int],
) -> tuple[int, str, str]:
    """Execute a module in a fork; answer its exit code, stdout and stderr."""
    out, err = os.memfd_create("stdout"), os.memfd_create("stderr")
    try:
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            die_with(parent)
            _be_module(module, payload, environment, directory, (out, err), close)
        try:
            _, status = os.waitpid(pid, 0)
        except BaseException:
            # The task's timeout or a signal: nothing of the module may stay.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise
        rc = os.waitstatus_to_exitcode(status)
        return rc, _content(out), _content(err)
    finally:
        os.close(out)
        os.close(err)


def _content(descriptor: int) -> str:
    os.lseek(descriptor, 0, os.SEEK_SET)
    with os.fdopen(os.dup(descriptor), "rb") as file:
        return file.read().decode("utf-8", "replace")


def _be_module(
    module: Module,
    payload: bytes,
    environment: Mapping[str, str],
    directory: str,
    outputs: tuple[int, int],
    close: list[int],
) -> None:
    """Become the module; does not return."""
    code = 1
    try:
        os.setsid()
        gc.freeze()
        signal.alarm(0)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _take_streams(outputs)
        for descriptor in close:
            os.close(descriptor)
        atexit._clear()
        os.chdir(directory)
        os.environ.update(environment)
        code = _execute(module, payload)
    finally:
        os._exit(code)


def _take_streams(outputs: tuple[int, int]) -> None:
    null = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((null, 0), (outputs[0], 1), (outputs[1], 2)):
        os.dup2(source, target)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115


def _execute(module: Module, payload: bytes) -> int:
    code = 0
    try:
        if module.name.startswith(_LIBRARY):
            sys.meta_path.append(_Library(module))
        ansible_versions.leave_controller()
        ansible_versions.run_module(module.name, payload)
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
        if isinstance(error.code, str):
            sys.stderr.write(error.code)
    except BaseException:  # noqa: BLE001 (the end of the process: what an interpreter does)
        sys.excepthook(*sys.exc_info())
        code = 1
    finally:
        with contextlib.suppress(Exception):
            # As the interpreter does when it ends: wait for threads that are no daemons.
            vars(threading)["_shutdown"]()
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
    return code


class _Library(importlib.abc.MetaPathFinder):
    """Finds one module file that belongs to no package."""

    def __init__(self, module: Module) -> None:
        self._module = module

    def find_spec(
        self, fullname: str, _path: Any = None, _target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Answer for the module and the package that it pretends to be in."""
        if fullname == _LIBRARY:
            return importlib.machinery.ModuleSpec(fullname, None, is_package=True)
        if fullname == self._module.name:
            return importlib.util.spec_from_file_location(fullname, self._module.path)
        return None
