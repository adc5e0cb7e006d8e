# SPDX-License-Identifier: Apache-2.0
"""All names that the patches touch and Ansible does not promise to keep, and a check of them.

The check needs no run: attributes of objects are found in the code that sets them. What is replaced
must have the parameters that its replacement has. Whether it does the same is what the warm-up play
tests (``self_test``).
"""

import dis
import importlib
import inspect
from collections.abc import Iterator
from typing import Any, NamedTuple

from ansible.release import __version__

from ansible_operator.engine.forking.template import CannotStartError

SUPPORTED = ((2, 18), (2, 19), (2, 20), (2, 21))
"""The releases of ansible-core that the patches were written for and are tested with."""


class Touched(NamedTuple):
    """Names of one module or class.

    Attributes:
        owner: the class; ``""`` for the module itself.
        since: the first release that has them.
        before: the first release that has them no more.
    """

    module: str
    owner: str
    names: tuple[str, ...]
    since: tuple[int, int] = SUPPORTED[0]
    before: tuple[int, int] = (3, 0)


class Replaced(NamedTuple):
    """A function, a method or a constructor.

    Attributes:
        name: in its module, with its class.
        parameters: separated by spaces.
        since: the first release that has it like this.
        before: the first release that has it otherwise.
    """

    module: str
    name: str
    parameters: str
    since: tuple[int, int] = SUPPORTED[0]
    before: tuple[int, int] = (3, 0)


_2_19 = (2, 19)
_2_21 = (2, 21)
TOUCHED = (
    Touched("ansible.constants", "", ("config", "INVENTORY_ENABLED", "DEFAULT_LOCAL_TMP")),
    Touched("ansible.context", "", ("CLIARGS",)),
    Touched("ansible.errors", "AnsibleError", ("_exit_code",), since=_2_19),
    Touched("ansible.executor.module_common", "", ("NEW_STYLE_PYTHON_MODULE_RE",)),
    Touched("ansible.executor.module_common", "", ("_get_ansible_module_fqn", "_get_shebang")),
    Touched("ansible.executor.module_common", "", ("_BuiltModule",), since=_2_19),
    Touched(
        "ansible.executor.process.worker",
        "WorkerProcess",
        (
            *("_final_q", "_host", "_loader", "_play_context", "_run", "_shared_loader_obj"),
            *("_task", "_task_vars", "_variable_manager"),
        ),
    ),
    Touched("ansible.executor.process.worker", "WorkerProcess", ("_new_stdin",), before=_2_19),
    Touched("ansible.executor.process.worker", "WorkerProcess", ("_cliargs",), since=_2_19),
    Touched("ansible.executor.playbook_executor", "PlaybookExecutor", ("_tqm",)),
    Touched(
        "ansible.executor.task_queue_manager",
        "TaskQueueManager",
        ("_callback_plugins", "_run_additional_callbacks", "load_callbacks", "send_callback"),
    ),
    Touched(
        "ansible.executor.task_queue_manager",
        "TaskQueueManager",
        ("_stdout_callback",),
        before=_2_19,
    ),
    Touched(
        "ansible.executor.task_queue_manager",
        "TaskQueueManager",
        ("_stdout_callback_name",),
        since=_2_19,
    ),
    Touched("ansible._internal._task", "", ("PRESERVE",), since=_2_21),
    Touched("ansible._internal._task", "TaskContext", ("inventory_rpc_client",), since=_2_21),
    Touched(
        "ansible._internal._worker._inventory_rpc",
        "InventoryRPC",
        ("add_group", "add_host", "get_client"),
        since=_2_21,
    ),
    Touched("ansible.executor.process.worker", "", ("current_worker",), since=_2_21),
    Touched(
        "ansible.executor.process.worker",
        "WorkerProcess",
        ("worker_id", "worker_queue"),
        since=_2_21,
    ),
    Touched("multiprocessing.queues", "Queue", ("_reader", "_writer"), since=_2_21),
    Touched("ansible.plugins.cache", "", ("S_IRWU_RG_RO",)),
    Touched("ansible.plugins.strategy", "StrategyBase", ("_rpc_queue", "_workers"), since=_2_21),
    Touched("ansible.executor.task_queue_manager", "", ("_rpc_host",), since=_2_21),
    Touched("ansible.executor.task_result", "", ("_PRESERVE",), before=_2_21),
    Touched(
        "ansible.executor.task_result",
        "TaskResult",
        ("_host", "_result", "_task", "clean_copy"),
        before=_2_19,
    ),
    Touched(
        "ansible.executor.task_result",
        "CallbackTaskResult",
        ("_host", "_result", "_task"),
        since=_2_19,
    ),
    Touched(
        "ansible.executor.task_result",
        "_RawTaskResult",
        ("as_callback_task_result",),
        since=_2_19,
        before=_2_21,
    ),
    Touched("ansible.inventory.manager", "InventoryManager", ("_fetch_inventory_plugins",)),
    Touched("ansible.module_utils.basic", "", ("_ANSIBLE_ARGS",)),
    Touched(
        "ansible.module_utils._internal",
        "",
        ("import_controller_module", "is_controller"),
        since=_2_19,
    ),
    Touched("ansible.module_utils._internal._ansiballz._loader", "", ("run_module",), since=_2_19),
    Touched(
        "ansible.module_utils._internal._datatag",
        "",
        (
            *("AnsibleTagHelper", "AnsibleTaggedObject", "_AnsibleTaggedDict"),
            *("_AnsibleTaggedList", "_known_tag_types"),
        ),
        since=_2_19,
    ),
    Touched(
        "ansible.module_utils._internal._json._profiles",
        "",
        ("_common_module_types",),
        since=_2_19,
    ),
    Touched(
        "ansible.module_utils._internal._json._profiles",
        "_JSONSerializationProfile",
        ("allowed_ansible_serializable_types", "serialize_map", "serialize_serializable_object"),
        since=_2_19,
    ),
    Touched(
        "ansible.module_utils._internal._json._profiles",
        "AnsibleProfileJSONEncoder",
        ("_profile",),
        since=_2_19,
    ),
    Touched(
        "ansible.module_utils._internal._traceback",
        "",
        ("_is_module_traceback_enabled", "_is_traceback_enabled"),
        since=_2_19,
    ),
    Touched("ansible.parsing.dataloader", "DataLoader", ("load_from_file",)),
    Touched("ansible.parsing.dataloader", "DataLoader", ("get_text_file_contents",), since=_2_19),
    Touched("ansible.parsing.vault", "VaultSecretsContext", ("_current",), since=_2_19),
    Touched("ansible.parsing.vault", "EncryptedString", ("_ciphertext",), since=_2_19),
    Touched(
        "ansible.parsing.yaml.objects",
        "AnsibleVaultEncryptedUnicode",
        ("_ciphertext",),
        before=_2_19,
    ),
    Touched("ansible.playbook", "Playbook", ("_basedir", "_entries", "_file_name", "load")),
    Touched("ansible.playbook.attribute", "Attribute", ("alias", "name")),
    Touched("ansible.playbook.base", "FieldAttributeBase", ("copy", "fattributes")),
    Touched("ansible.playbook.included_file", "IncludedFile", ("_filename",)),
    Touched("ansible.playbook.block", "Block", ("_parent", "_uuid")),
    Touched("ansible.playbook.play", "Play", ("_uuid",)),
    Touched(
        "ansible.playbook.role",
        "Role",
        ("_dependencies", "_handler_blocks", "_role_name", "_role_path", "_task_blocks"),
    ),
    Touched("ansible.playbook.task_include", "TaskInclude", ("_parent",)),
    Touched("ansible.playbook.task", "Task", ("_parent", "_role", "_uuid", "implicit")),
    Touched(
        "ansible.plugins.action",
        "ActionBase",
        (
            *("_cleanup_remote_tmp", "_compute_environment_string", "_configure_module"),
            *("_connection", "_execute_module", "_is_pipelining_enabled", "_loader"),
            *("_low_level_execute_command", "_make_tmp_path", "_remove_tmp_path"),
            *("_should_remove_tmp_path", "_task", "_templar"),
        ),
    ),
    Touched("ansible.plugins.callback", "CallbackBase", ("_init_callback_methods",), since=_2_19),
    Touched("ansible.plugins.connection", "ConnectionBase", ("_shell",)),
    Touched(
        "ansible.plugins.loader",
        "PluginLoader",
        (
            *("_extra_dirs", "_get_paths", "_get_paths_with_context"),
            *("_plugin_instance_cache", "_update_object", "all", "find_plugin_with_context"),
        ),
    ),
    Touched(
        "ansible.plugins.loader",
        "Jinja2Loader",
        ("_cached_non_collection_wrappers", "_ensure_non_collection_wrappers", "get_with_context"),
    ),
    Touched("ansible.plugins.lookup.template", "", ("deepcopy",)),
    Touched("ansible.plugins.shell", "ShellBase", ("_generate_temp_dir_name",)),
    Touched(
        "ansible.plugins.strategy", "", ("StrategySentinel", "results_thread_main", "threading")
    ),
    Touched(
        "ansible.plugins.strategy",
        "StrategyBase",
        (
            *("_final_q", "_hosts_cache_all", "_loader", "_pending_results", "_queue_task"),
            *("_queued_task_cache", "_results_thread", "_step", "_tqm", "_variable_manager"),
        ),
    ),
    Touched("ansible.plugins.vars.host_group_vars", "", ("CANONICAL_PATHS", "FOUND", "NAK")),
    Touched(
        "ansible.utils.collection_loader._collection_finder",
        "",
        ("_get_collection_name_from_path", "_get_collection_role_path"),
    ),
    Touched("ansible.utils.context_objects", "CLIArgs", ("from_options",)),
    Touched(
        "ansible.utils.display",
        "Display",
        ("_deprecations", "_errors", "_final_q", "_lock", "_warns", "display", "set_queue"),
    ),
    Touched("ansible.vars.manager", "VariableManager", ("get_vars",)),
    Touched(
        "ansible.utils.vars",
        "",
        ("combine_vars", "load_extra_vars", "load_options_vars", "random_int"),
    ),
    Touched("ansible.template", "", ("_create_overlay", "_escape_backslashes"), before=_2_19),
    Touched("ansible.template", "AnsibleEnvironment", ("compile", "concat"), before=_2_19),
    Touched("ansible.template", "Templar", ("template",), before=_2_19),
    Touched(
        "ansible.template.native_helpers", "", ("_is_unsafe", "ansible_eval_concat"), before=_2_19
    ),
    Touched("ansible.utils.unsafe_proxy", "AnsibleUnsafeText", ("_strip_unsafe",), before=_2_19),
    Touched("ansible._internal._task", "TaskContext", (), since=_2_19),
    Touched(
        "ansible._internal._templating._engine",
        "TemplateEngine",
        ("_compile_expression", "_compile_template"),
        since=_2_19,
    ),
    Touched("ansible._internal._templating._engine", "TemplateOptions", (), since=_2_19),
    Touched(
        "ansible._internal._templating._jinja_bits",
        "",
        (
            *("AnsibleEnvironment", "TemplateExpression", "_TEMPLATE_OVERRIDE_FIELD_NAMES"),
            "_TemplateCompileContext",
        ),
        since=_2_19,
    ),
)


REPLACED = (
    Replaced(
        "ansible.executor.process.worker",
        "WorkerProcess.__init__",
        "self final_q task_vars host task play_context loader variable_manager "
        "shared_loader_obj worker_id",
        before=(2, 19),
    ),
    Replaced(
        "ansible.executor.process.worker",
        "WorkerProcess.__init__",
        "self final_q task_vars host task play_context loader variable_manager "
        "shared_loader_obj worker_id cliargs",
        since=(2, 19),
    ),
    Replaced("ansible.executor.process.worker", "WorkerProcess._run", "self"),
    Replaced(
        "ansible.executor.task_queue_manager",
        "TaskQueueManager.send_callback",
        "self method_name args kwargs",
    ),
    Replaced("ansible.executor.task_queue_manager", "TaskQueueManager.load_callbacks", "self"),
    Replaced("ansible.inventory.manager", "InventoryManager._fetch_inventory_plugins", "self"),
    Replaced(
        "ansible.parsing.dataloader",
        "DataLoader.load_from_file",
        "self file_name cache unsafe json_only",
        before=(2, 19),
    ),
    Replaced(
        "ansible.parsing.dataloader",
        "DataLoader.load_from_file",
        "self file_name cache unsafe json_only trusted_as_template",
        since=(2, 19),
    ),
    Replaced("ansible.playbook", "Playbook.load", "file_name variable_manager loader"),
    Replaced("ansible.playbook.base", "FieldAttributeBase.copy", "self"),
    Replaced(
        "ansible.playbook.role",
        "Role.__init__",
        "self play from_files from_include validate public static",
        before=_2_21,
    ),
    Replaced(
        "ansible.playbook.role",
        "Role.__init__",
        "self play from_files from_include validate public static rescuable",
        since=_2_21,
    ),
    Replaced(
        "ansible._internal._task",
        "TaskContext.create",
        "task task_vars host_name",
        since=_2_21,
    ),
    Replaced("ansible.executor.task_result", "CallbackTaskResult", "host task utr", since=_2_21),
    Replaced(
        "ansible._internal._worker._inventory_rpc", "InventoryRPC.get_client", "", since=_2_21
    ),
    Replaced(
        "ansible._internal._worker._inventory_rpc",
        "InventoryRPC.add_host",
        "host_info",
        since=_2_21,
    ),
    Replaced(
        "ansible._internal._worker._inventory_rpc",
        "InventoryRPC.add_group",
        "host_name group_info",
        since=_2_21,
    ),
    Replaced(
        "ansible.plugins.action",
        "ActionBase._execute_module",
        "self module_name module_args tmp task_vars persist_files delete_remote_tmp "
        "wrap_async ignore_unknown_opts",
    ),
    Replaced(
        "ansible.plugins.action",
        "ActionBase._configure_module",
        "self module_name module_args task_vars",
    ),
    Replaced("ansible.plugins.action", "ActionBase._make_tmp_path", "self remote_user"),
    Replaced("ansible.plugins.action", "ActionBase._remove_tmp_path", "self tmp_path force"),
    Replaced(
        "ansible.plugins.loader",
        "PluginLoader._update_object",
        "self obj name path redirected_names resolved",
    ),
    Replaced("ansible.plugins.loader", "PluginLoader.all", "self args kwargs"),
    Replaced(
        "ansible.plugins.loader",
        "PluginLoader.find_plugin_with_context",
        "self name mod_type ignore_deprecated check_aliases collection_list",
    ),
    Replaced(
        "ansible.plugins.strategy",
        "StrategyBase._queue_task",
        "self host task task_vars play_context",
    ),
    Replaced("ansible.plugins.strategy", "results_thread_main", "strategy"),
    Replaced(
        "ansible.utils.display",
        "Display.display",
        "self msg color stderr screen_only log_only newline caplevel",
    ),
    Replaced("ansible.utils.display", "Display.debug", "self msg host"),
    Replaced("ansible.utils.vars", "combine_vars", "a b merge"),
    Replaced("ansible.utils.vars", "load_extra_vars", "loader"),
    Replaced(
        "ansible.vars.manager",
        "VariableManager.get_vars",
        "self play host task include_hostvars include_delegate_to use_cache "
        "_hosts _hosts_all stage",
        before=(2, 19),
    ),
    Replaced(
        "ansible.vars.manager",
        "VariableManager.get_vars",
        "self play host task include_hostvars use_cache _hosts _hosts_all stage",
        since=(2, 19),
    ),
    Replaced(
        "ansible.vars.manager", "VariableManager.__init__", "self loader inventory version_info"
    ),
    Replaced(
        "ansible.template",
        "Templar.template",
        "self variable convert_bare preserve_trailing_newlines escape_backslashes "
        "fail_on_undefined overrides convert_data static_vars disable_lookups",
        before=(2, 19),
    ),
    Replaced(
        "ansible.template",
        "AnsibleEnvironment.compile",
        "self source name filename raw defer_init",
        before=(2, 19),
    ),
    Replaced("ansible.template", "AnsibleEnvironment.concat", "nodes", before=(2, 19)),
    Replaced(
        "ansible._internal._templating._engine",
        "TemplateEngine._compile_template",
        "self template options",
        since=(2, 19),
    ),
    Replaced(
        "ansible._internal._templating._engine",
        "TemplateEngine._compile_expression",
        "self expression options",
        since=(2, 19),
    ),
)
"""What is replaced, or called in place of what is, with its parameters in their order."""


def check() -> None:
    """Refuse a release of ansible-core that lacks a name, or that is not supported.

    Raises:
        CannotStartError: says which name is missing, which release this is, which are supported.
    """
    version = tuple(int(part) for part in __version__.split(".")[:2])
    lacking = [*missing(version), *changed(version)]
    if version in SUPPORTED and not lacking:
        return
    supported = ", ".join(f"{major}.{minor}" for major, minor in SUPPORTED)
    lacks = f", and lacks {', '.join(lacking[:3])}" if lacking else ""
    raise CannotStartError(
        f"ansible-core {__version__} is not one that the warm engine knows{lacks}: supported are "
        f"{supported} (--engine ansible-runner takes others)"
    )


def missing(version: tuple[int, ...]) -> Iterator[str]:
    """The listed names that this ansible-core lacks, in full."""
    for module, owner, names, since, before in TOUCHED:
        if not since <= version < before:
            continue
        where = ".".join(filter(None, (module, owner)))
        try:
            place: Any = importlib.import_module(module)
            place = getattr(place, owner) if owner else place
        except (ImportError, AttributeError):
            yield where
            continue
        yield from (f"{where}.{name}" for name in names if not _has(place, name))


def changed(version: tuple[int, ...]) -> Iterator[str]:
    """What is replaced and has other parameters than the patch expects, in full."""
    for module, name, parameters, since, before in REPLACED:
        if not since <= version < before:
            continue
        try:
            place: Any = importlib.import_module(module)
            for part in name.split("."):
                place = getattr(place, part)
            found = " ".join(inspect.signature(place).parameters)
        except (ImportError, AttributeError, TypeError, ValueError):
            yield f"{module}.{name}"
            continue
        if found != parameters:
            yield f"{module}.{name}({parameters.replace(' ', ', ')})"


def _has(place: Any, name: str) -> bool:
    if hasattr(place, name):
        return True
    return inspect.isclass(place) and any(_sets(one, name) for one in place.__mro__)


def _sets(one: type, name: str) -> bool:
    """Whether objects of a class have an attribute: its code sets it, or a field declares it."""
    if name in getattr(one, "__annotations__", {}):
        return True
    functions = (inspect.unwrap(value) for value in [*vars(one).values()] if callable(value))
    codes = (code for code in (getattr(one, "__code__", None) for one in functions) if code)
    return any(
        instruction.opname == "STORE_ATTR" and instruction.argval == name
        for code in codes
        if name in code.co_names
        for instruction in dis.get_instructions(code)
    )
