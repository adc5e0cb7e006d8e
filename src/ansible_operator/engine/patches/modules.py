# SPDX-License-Identifier: Apache-2.0
"""Python modules of a local connection run in a fork instead of a fresh interpreter.

Stock Ansible packs a module with its imports into a zip file, writes it out, and starts a shell
and a Python that imports everything again. The fork of a play has all of that loaded. Modules
that cannot be served (other interpreters, become, asynchronous tasks, binary modules, modules
that start themselves again or that use module utilities of a role) take the stock path.
"""

import functools
import inspect
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from ansible import constants
from ansible.executor import module_common
from ansible.executor.interpreter_discovery import InterpreterDiscoveryRequiredError
from ansible.plugins.action import ActionBase
from ansible.plugins.loader import module_loader, module_utils_loader

from ansible_operator.engine.patches import module_forks
from ansible_operator.engine.patches import versions as ansible_versions
from ansible_operator.engine.patches.module_forks import Module

_SHEBANG = re.compile(rb"#!\s*\S*/(?:env\s+)?python[0-9.]*\s*$", re.MULTILINE)
_UNSERVABLE = (b"module_utils.common.respawn", b"WANT_JSON", b"serialization_profile")
_UTILITY = re.compile(rb"ansible\.module_utils\.(\w+)|from ansible\.module_utils import (\w+)")
_REMOTE_TEMPORARY = "~/.ansible/tmp"
"""Ansible's default place for an action's files; what is left there by killed runs stays."""


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
        return module_forks.of_no_package(path)


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
            remote_is_local=False,  # true of connections to network devices alone
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
        rc, out, err = module_forks.execute(
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
