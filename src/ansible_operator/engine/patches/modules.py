# SPDX-License-Identifier: Apache-2.0
"""Python modules of a local connection run in a fork instead of a fresh interpreter.

Stock Ansible packs a module with its imports into a zip file, writes it out, and starts a shell
and a Python that imports everything again. The fork of a play has all of that loaded. Modules
that cannot be served (other interpreters, become, asynchronous tasks, binary modules, modules
that start themselves again or that use module utilities of a role) take the stock path.
"""

import atexit
import contextlib
import functools
import gc
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import os
import re
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ansible import constants
from ansible.executor import module_common
from ansible.executor.interpreter_discovery import InterpreterDiscoveryRequiredError
from ansible.plugins.action import ActionBase
from ansible.plugins.loader import module_loader, module_utils_loader

from ansible_operator.engine.forking.processes import die_with
from ansible_operator.engine.patches import versions as ansible_versions

_SHEBANG = re.compile(rb"#!\s*\S*/(?:env\s+)?python[0-9.]*\s*$", re.MULTILINE)
_UNSERVABLE = (b"module_utils.common.respawn", b"WANT_JSON", b"serialization_profile")
_UTILITY = re.compile(rb"ansible\.module_utils\.(\w+)|from ansible\.module_utils import (\w+)")
_REMOTE_TEMPORARY = "~/.ansible/tmp"
"""Ansible's default place for an action's files; what is left there by killed runs stays."""
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


def install(run_sockets: list[int]) -> None:
    """Replace the module execution of action plugins where a fork can serve.

    Args:
        run_sockets: descriptors that a module's fork must not keep open; filled by the run.
    """
    stock = ActionBase._execute_module
    signature = inspect.signature(stock)

    @functools.wraps(stock)
    def execute_module(self: Any, *arguments: Any, **options: Any) -> Any:
        given = signature.bind(self, *arguments, **options).arguments
        name = given.get("module_name") or self._task.action
        task_vars = given.get("task_vars") or {}
        module = None if given.get("wrap_async") else _find(self, name, task_vars)
        if module is None:
            return stock(self, *arguments, **options)
        with _Served(self, module, run_sockets):
            return stock(self, *arguments, **options)

    ActionBase._execute_module = execute_module
    _serve_temporary_folders()


def is_plain(action: Any) -> bool:
    """Whether an action talks to this very host, as this user, and waits for the answer."""
    connection = action._connection
    return (
        connection.transport == "local"
        and type(connection).__module__ == "ansible.plugins.connection.local"
        and connection.become is None
        and not action._task.async_val
    )


@functools.cache
def servable(path: str) -> Module | None:
    """The module of a source file, or None when only the stock path can execute it."""
    if not path.endswith(".py"):
        return None
    source = Path(path).read_bytes()
    # Without a shebang a module is meant for Python, too.
    if source.startswith(b"#!") and not _SHEBANG.match(source):
        return None
    if any(word in source for word in _UNSERVABLE):
        return None
    if not module_common.NEW_STYLE_PYTHON_MODULE_RE.search(source) or not _has_utilities(source):
        return None
    try:
        return Module(module_common._get_ansible_module_fqn(path), path)
    except ValueError:
        return Module(f"{_LIBRARY}.{Path(path).stem}", path)


def _has_utilities(source: bytes) -> bool:
    """Whether all module utilities come from ansible-core itself."""
    import ansible.module_utils

    core = Path(next(iter(ansible.module_utils.__path__)))
    extra = [Path(p) for p in module_utils_loader._get_paths() if Path(p) != core]
    for match in _UTILITY.finditer(source):
        name = (match[1] or match[2]).decode()
        if any((folder / name).exists() or (folder / f"{name}.py").exists() for folder in extra):
            return False
        if not (core / name).exists() and not (core / f"{name}.py").exists():
            return name == "six"
    return True


def _find(action: Any, name: str, task_vars: Any) -> Module | None:
    """The module of this name, when a fork can execute it for this action."""
    if not is_plain(action) or constants.DEFAULT_KEEP_REMOTE_FILES:
        return None
    found = module_loader.find_plugin_with_context(
        name, ".py", collection_list=action._task.collections
    )
    module = servable(found.plugin_resolved_path) if found.resolved else None
    if module is None or not _same_interpreter(action, task_vars):
        return None
    limit = constants.config.get_config_value("PYTHON_MODULE_RLIMIT_NOFILE", variables=task_vars)
    return module if limit in (0, "0") else None


def _same_interpreter(action: Any, task_vars: Any) -> bool:
    delegate = action._task.delegate_to
    if delegate:
        task_vars = task_vars.get("ansible_delegated_vars", {}).get(delegate, task_vars)
    try:
        _, interpreter = module_common._get_shebang(
            "/usr/bin/python",
            task_vars,
            action._templar,
            [],
            remote_is_local=bool(getattr(action._connection, "_remote_is_local", False)),
        )
    except InterpreterDiscoveryRequiredError:
        return False
    return _is_this_python(str(interpreter))


class _Served:
    """For the time of one ``_execute_module``: its steps, replaced on the action itself."""

    def __init__(self, action: Any, module: Module, run_sockets: list[int]) -> None:
        self._action = action
        self._module = module
        self._run_sockets = run_sockets
        self._payload = b""
        self._environment: dict[str, str] = {}

    def __enter__(self) -> None:
        self._action._is_pipelining_enabled = lambda *_a, **_o: True
        self._action._configure_module = self._configure_module
        self._action._low_level_execute_command = self._low_level_execute_command

    def __exit__(self, *_: object) -> None:
        for name in (
            "_is_pipelining_enabled",
            "_configure_module",
            "_low_level_execute_command",
        ):
            self._action.__dict__.pop(name, None)

    def _configure_module(self, module_name: str, module_args: Any, task_vars: Any) -> Any:
        del module_name, task_vars
        environment: dict[str, Any] = {}
        self._action._compute_environment_string(environment)
        self._environment = {name: str(value) for name, value in environment.items()}
        self._payload = ansible_versions.encode_module_args(module_args)
        built = ansible_versions.built_module(f"#!{sys.executable}")
        return ansible_versions.configured(built, self._module.path)

    def _low_level_execute_command(self, *_: Any, **__: Any) -> dict[str, Any]:
        rc, out, err = _in_fork(
            self._module,
            self._payload,
            self._environment,
            self._action._loader.get_basedir(),
            self._run_sockets,
        )
        return {
            "rc": rc,
            "stdout": out,
            "stdout_lines": out.splitlines(),
            "stderr": err,
            "stderr_lines": err.splitlines(),
        }


@functools.cache
def _is_this_python(interpreter: str) -> bool:
    if interpreter == sys.executable:
        return True
    other, this = Path(interpreter), Path(sys.executable)
    try:
        return (
            other.parent.resolve() == this.parent.resolve()
            and other.resolve(strict=True) == this.resolve()
        )
    except OSError:
        return False


def _in_fork(
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


def _serve_temporary_folders() -> None:
    """Make and remove the temporary folder of an action without a shell."""
    stock_make, stock_remove = ActionBase._make_tmp_path, ActionBase._remove_tmp_path

    def make(self: Any, remote_user: Any = None) -> str:
        if not is_plain(self):
            return str(stock_make(self, remote_user))
        parent = self.get_shell_option("remote_tmp", default=_REMOTE_TEMPORARY)
        if parent == _REMOTE_TEMPORARY:
            parent = tempfile.gettempdir()
        folder = Path(parent).expanduser() / self._connection._shell._generate_temp_dir_name()
        try:
            folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder.mkdir(mode=0o700)
        except OSError:
            return str(stock_make(self, remote_user))
        self._cleanup_remote_tmp = True
        self._connection._shell.tmpdir = f"{folder}/"
        return f"{folder}/"

    def remove(self: Any, tmp_path: Any, force: bool = False) -> None:
        if not is_plain(self):
            stock_remove(self, tmp_path, force=force)
            return
        path = tmp_path or self._connection._shell.tmpdir
        if path and (force or self._should_remove_tmp_path(path)):
            shutil.rmtree(path, ignore_errors=True)
            self._connection._shell.tmpdir = None

    ActionBase._make_tmp_path = make
    ActionBase._remove_tmp_path = remove
