# SPDX-License-Identifier: Apache-2.0
"""What the objects hold that Ansible hands to callbacks."""

from typing import Any

from ansible_operator.engine.patches.versions import HAS_PROFILES, HAS_UNIFIED_RESULTS


def identity(play_or_task: Any) -> str:
    """The id of a play or task."""
    return str(play_or_task._uuid)


def set_identity(play: Any, value: str) -> None:
    """Give a play another id, which its tasks and callbacks see, too."""
    play._uuid = value


def role_of(task: Any) -> tuple[str, str] | None:
    """The name by which a task's role was called, and its full name; None without a role."""
    role = getattr(task, "_role", None)
    return (role._role_name, role.get_name()) if role else None


def file_of(playbook: Any) -> str:
    """The path of a playbook."""
    return str(playbook._file_name)


def file_of_include(included: Any) -> str | None:
    """The path of an included file."""
    name = getattr(included, "_filename", None)
    return None if name is None else str(name)


def host_of(result: Any) -> Any:
    """The host of a task's result."""
    return result._host


def task_of(result: Any) -> Any:
    """The task of a result."""
    return result._task


def content_of(result: Any) -> Any:
    """What a task's module or action returned."""
    return result._result


def cleaned(result: Any) -> Any:
    """The copy of a task result that callbacks get: cleaned, censored for ``no_log``."""
    if HAS_UNIFIED_RESULTS:
        from ansible.executor.task_result import CallbackTaskResult

        return CallbackTaskResult(host=result.host, task=result.task, utr=result.utr)
    return result.as_callback_task_result() if HAS_PROFILES else result.clean_copy()


def ciphertext_of(value: object) -> str | None:
    """What a vaulted value looks like in a file; None for any other value."""
    ciphertext = getattr(value, "_ciphertext", None)
    return ciphertext.decode() if isinstance(ciphertext, bytes) else ciphertext
