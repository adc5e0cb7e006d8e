# SPDX-License-Identifier: Apache-2.0
"""Tasks and plays in files, with their lines."""

from collections.abc import Iterator
from dataclasses import dataclass

from ansible_operator.check.documents import Located

BLOCKS = ("block", "rescue", "always")
SECTIONS = ("pre_tasks", "tasks", "post_tasks", "handlers")
KEYWORDS = frozenset(
    {
        "action",
        "any_errors_fatal",
        "args",
        "async",
        "become",
        "become_exe",
        "become_flags",
        "become_method",
        "become_user",
        "changed_when",
        "check_mode",
        "collections",
        "connection",
        "debugger",
        "delay",
        "delegate_facts",
        "delegate_to",
        "diff",
        "environment",
        "failed_when",
        "ignore_errors",
        "ignore_unreachable",
        "listen",
        "local_action",
        "loop",
        "loop_control",
        "module_defaults",
        "name",
        "no_log",
        "notify",
        "poll",
        "port",
        "register",
        "remote_user",
        "retries",
        "run_once",
        "tags",
        "throttle",
        "timeout",
        "until",
        "vars",
        "when",
        "block",
        "rescue",
        "always",
    }
)
_INCLUDES = frozenset({"include_tasks", "import_tasks", "import_playbook"})
PLAY_KEYWORDS = frozenset({"hosts", "import_playbook", "ansible.builtin.import_playbook"})


@dataclass(frozen=True, slots=True)
class Task:
    """One task, or a block.

    Attributes:
        module: as written; ``""`` for a block.
        arguments: of the module.
        line: of the task's first key, from 1.
    """

    module: str
    arguments: Located
    keys: dict[str, Located]
    line: int


def is_playbook(document: Located) -> bool:
    """Whether it is a list of plays."""
    return bool(document.items) and all(PLAY_KEYWORDS & item.keys.keys() for item in document.items)


def tasks_of(document: Located) -> Iterator[Task]:
    """All tasks of a playbook or of a file of tasks, those in blocks included."""
    if is_playbook(document):
        for play in document.items:
            for section in SECTIONS:
                if section in play.keys:
                    yield from _tasks(play.keys[section])
    else:
        yield from _tasks(document)


def _tasks(listed: Located) -> Iterator[Task]:
    for item in listed.items:
        if not item.keys:
            continue
        if "block" in item.keys:
            yield Task("", Located(None, item.line), item.keys, item.line)
            for part in BLOCKS:
                if part in item.keys:
                    yield from _tasks(item.keys[part])
            continue
        yield _task(item)


def _task(item: Located) -> Task:
    for name, arguments in item.keys.items():
        if name in {"action", "local_action"}:
            module = arguments.text.split(" ", 1)[0] or _named(arguments)
            return Task(module, arguments, item.keys, arguments.line)
        if name not in KEYWORDS and not name.startswith("with_"):
            return Task(name, arguments, item.keys, arguments.line)
    return Task("", Located(None, item.line), item.keys, item.line)


def included(document: Located) -> Iterator[Located]:
    """The names of the files of tasks and plays that a file includes, as written."""
    for play in document.items:
        for key in ("import_playbook", "ansible.builtin.import_playbook"):
            if key in play.keys:
                yield play.keys[key]
    for task in tasks_of(document):
        if task.module.rpartition(".")[2] in _INCLUDES:
            named = task.arguments.keys.get("file") or task.arguments
            if named.text:
                yield named


def roles_of(document: Located) -> Iterator[Located]:
    """The names of the roles that plays, or the dependencies of a role, list."""
    plays = [play.keys["roles"] for play in document.items if "roles" in play.keys]
    listed = document.keys.get("dependencies")
    for item in (one for part in [*plays, *([listed] if listed else [])] for one in part.items):
        for key in ("role", "name"):
            if item.text or key in item.keys:
                yield item if item.text else item.keys[key]
                break


def _named(arguments: Located) -> str:
    return arguments.keys["module"].text if "module" in arguments.keys else ""
