# SPDX-License-Identifier: Apache-2.0
"""Everything in which ansible-core 2.18 to 2.21 differ, as far as the engine sees it.

Imported by the template and its forks only: it imports Ansible.
"""

import json
import runpy
import traceback
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import ansible.cli
from ansible.executor import module_common
from ansible.module_utils import basic
from ansible.parsing.dataloader import DataLoader
from ansible.release import __version__
from ansible.utils.display import Display

VERSION = tuple(int(part) for part in __version__.split(".")[:2])
HAS_PROFILES = VERSION >= (2, 19)
"""Whether module arguments and results are serialized by a profile."""
HAS_UNIFIED_RESULTS = VERSION >= (2, 21)
"""Whether results are objects until a callback or a variable needs them, and workers add hosts and
groups to the inventory by requests to the process of the play."""


ROLE_FILE: dict[str, Any] = {"trusted_as_template": True} if HAS_PROFILES else {}
"""The options with which Ansible loads the files of a role."""


def censor_failures() -> None:
    """Keep why a task with ``no_log`` failed out of the output.

    From 2.19 on Ansible prints the message, and the lines of the playbook around it, although it
    censors the result.
    """
    if HAS_UNIFIED_RESULTS:
        from ansible._internal import _task

        _task.PRESERVE -= {"exception"}
        return
    from ansible.executor import task_result

    preserved = getattr(task_result, "_PRESERVE", None)
    if isinstance(preserved, set):
        preserved.discard("exception")


def extra_vars(data: Mapping[str, Any], templates: Mapping[str, Any]) -> dict[str, Any]:
    """Extra variables as Ansible has them after it has read them, marked as what they are.

    Args:
        data: those in which no text is a template, as read from JSON.
        templates: those in whose texts templates are evaluated.
    """
    trusted_templates = {name: trusted(value) for name, value in templates.items()}
    if VERSION >= (2, 19):
        return {**data, **trusted_templates}
    from ansible.utils.unsafe_proxy import wrap_var

    return {**{name: wrap_var(value) for name, value in data.items()}, **trusted_templates}


def trusted(value: Any) -> Any:
    """A value whose texts may be templates, keys included, as in files that Ansible reads.

    Up to 2.18 that is any text which is not marked; from 2.19 on what is not marked is data.
    """
    if VERSION < (2, 19):
        return value
    from ansible.template import trust_as_template

    if isinstance(value, str):
        return trust_as_template(value)
    if isinstance(value, dict):
        return {trusted(key): trusted(item) for key, item in value.items()}
    if isinstance(value, list):
        return [trusted(item) for item in value]
    return value


@contextmanager
def task_context(task: Any, task_vars: dict[str, Any], host_name: str) -> Iterator[Any]:
    """What a worker's process is set up with around a task; None up to 2.18."""
    if HAS_UNIFIED_RESULTS:
        from ansible._internal import _task

        with _task.TaskContext.create(task, task_vars, host_name) as context:
            yield context
        return
    if VERSION >= (2, 19):
        from ansible._internal import _task

        with _task.TaskContext(task) as context:
            yield context
        return
    # 2.18 sets the display's queue in the code that is borrowed from the worker; it refuses to
    # in a process that is no worker.
    display = Display()
    display.set_queue = lambda _queue: None
    try:
        yield None
    finally:
        del display.set_queue


def containers() -> dict[type, Callable[[Any, Any], Any]]:
    """The types that variables are nested in, each with what makes a filled copy alike."""
    plain: dict[type, Callable[[Any, Any], Any]] = {
        dict: lambda _original, filled: filled,
        list: lambda _original, filled: filled,
    }
    if VERSION < (2, 19):
        return plain | _positioned_containers()
    from ansible.module_utils._internal import _datatag

    copy_tags = _datatag.AnsibleTagHelper.tag_copy
    return plain | {_datatag._AnsibleTaggedDict: copy_tags, _datatag._AnsibleTaggedList: copy_tags}


def _positioned_containers() -> dict[type, Callable[[Any, Any], Any]]:
    """The containers of YAML files up to 2.18, which know their place in the file."""
    from ansible.parsing.yaml import objects

    def alike(original: Any, filled: Any) -> Any:
        copied = type(original)(filled)
        vars(copied).update(vars(original))
        return copied

    return {
        objects.AnsibleMapping: alike,
        objects.AnsibleSequence: alike,
        set: lambda _original, filled: set(filled),
    }


def vault_secrets(loader: DataLoader, options: Mapping[str, Any]) -> Any:
    """The vault secrets of a command line and of the configuration."""
    from ansible import constants

    ids = constants.DEFAULT_VAULT_IDENTITY_LIST + list(options["vault_ids"])
    return ansible.cli.CLI.setup_vault_secrets(
        loader,
        vault_ids=ids,
        vault_password_files=list(options["vault_password_files"]),
        ask_vault_pass=False,
        auto_prompt=False,
    )


def exit_code(error: BaseException) -> int:
    """The exit code of ansible-playbook for an error that ended it."""
    from ansible.errors import AnsibleError, AnsibleOptionsError, AnsibleParserError

    if not isinstance(error, AnsibleError):
        return 250
    if VERSION >= (2, 19):
        return int(error._exit_code)
    if isinstance(error, AnsibleOptionsError):
        return 5
    return 4 if isinstance(error, AnsibleParserError) else 1


def display_error(display: Any, error: BaseException) -> None:
    """Print an error that ended the play as ansible-playbook does."""
    if VERSION >= (2, 19):
        display.error(error)
    else:
        display.error(str(error), wrap_text=False)


def encode_module_args(arguments: Mapping[str, Any]) -> bytes:
    """The arguments of a module as it reads them."""
    wrapped = {"ANSIBLE_MODULE_ARGS": arguments}
    if HAS_PROFILES:
        from ansible.module_utils.common.json import Direction, get_module_encoder

        encoder = get_module_encoder("legacy", Direction.CONTROLLER_TO_MODULE)
        return json.dumps(wrapped, cls=encoder).encode()
    from ansible.module_utils.common.json import AnsibleJSONEncoder

    return json.dumps(wrapped, cls=AnsibleJSONEncoder, vault_to_text=True).encode()


def built_module(shebang: str) -> Any:
    """What ``_configure_module`` answers for a module that is not packed."""
    if HAS_PROFILES:
        return module_common._BuiltModule(
            b_module_data=b"", module_style="new", shebang=shebang, serialization_profile="legacy"
        )
    return ("new", shebang, b"")


def configured(built: Any, path: str) -> Any:
    """The complete answer of ``_configure_module``."""
    return (built, path) if HAS_PROFILES else (*built, path)


def leave_controller() -> None:
    """Make the module utilities believe that they run on a managed node (in a module's fork)."""
    if not HAS_PROFILES:
        return
    from ansible.module_utils import _internal
    from ansible.module_utils._internal import _traceback

    _internal.is_controller = False
    _internal.import_controller_module = lambda _name, /: None
    _traceback._is_traceback_enabled = _traceback._is_module_traceback_enabled
    _leave_tags_behind()


def _leave_tags_behind() -> None:
    """Have a module return values without the tags that only a controller knows.

    A fork finds such values where a plugin of the play has left them: in a module utility that
    caches. On their way to a fresh interpreter they would have lost their tags.
    """
    from ansible.module_utils._internal import _datatag
    from ansible.module_utils._internal._json import _profiles
    from ansible.module_utils.common.json import Direction, get_module_encoder

    encoder: Any = get_module_encoder("legacy", Direction.MODULE_TO_CONTROLLER)
    profile = encoder._profile
    unknown = _datatag._known_tag_types - profile.allowed_ansible_serializable_types

    def serialize(value: Any) -> Any:
        known = _datatag.AnsibleTagHelper.untag(value, *unknown)
        if isinstance(known, _datatag.AnsibleTaggedObject):
            return profile.serialize_serializable_object(known)
        return known

    profile.serialize_map |= dict.fromkeys(_profiles._common_module_types, serialize)


def run_module(name: str, arguments: bytes) -> None:
    """Execute a module by its import name; it prints its result and raises SystemExit."""
    if HAS_PROFILES:
        from ansible.module_utils._internal._ansiballz import _loader

        _loader.run_module(
            json_params=arguments,
            profile="legacy",
            module_fqn=name,
            modlib_path="",
            extensions={},
        )
        return
    basic._ANSIBLE_ARGS = arguments
    try:
        runpy.run_module(
            name,
            init_globals={"_module_fqn": name, "_modlib_path": ""},
            run_name="__main__",
            alter_sys=True,
        )
    except Exception:  # noqa: BLE001 (what a fresh interpreter does with it: print and exit 1)
        traceback.print_exc()
        raise SystemExit(1) from None


def use_callback_alone(executor: Any, callback: Any) -> None:
    """Have a callback told of what an executor plays, and none of a project or of its settings."""
    queue_manager = executor._tqm
    queue_manager._run_additional_callbacks = False
    name = "_stdout_callback_name" if VERSION >= (2, 19) else "_stdout_callback"
    setattr(queue_manager, name, "ansible.builtin.default")
    queue_manager.load_callbacks()
    if VERSION >= (2, 19):
        callback._init_callback_methods()
    queue_manager._callback_plugins.append(callback)


def worker_of(attributes: Mapping[str, Any]) -> Any:
    """A worker that was never started, to borrow the code that executes a task."""
    from ansible.executor.process.worker import WorkerProcess

    worker = WorkerProcess.__new__(WorkerProcess)
    for name, value in attributes.items():
        setattr(worker, name, value)
    return worker


def strategy_module() -> types.ModuleType:
    """The module of the strategies' base class."""
    import ansible.plugins.strategy

    return ansible.plugins.strategy
