# SPDX-License-Identifier: Apache-2.0
"""``event_data`` of every job event: what ansible-runner records of a callback."""

import collections
import copy
import datetime
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ansible import constants

from ansible_operator.engine.patches import callback_arguments as given

CENSORED = (
    "the output has been hidden due to the fact that 'no_log: true' was specified for this result"
)
_WITHOUT_PLAY = {"playbook_on_start", "playbook_on_stats"}
_WITHOUT_TASK = {
    *_WITHOUT_PLAY,
    "playbook_on_notify",
    "playbook_on_no_hosts_matched",
    "playbook_on_no_hosts_remaining",
}

Described: TypeAlias = tuple[str, dict[str, Any]]


@dataclass(slots=True)
class Facts:
    """What was played so far: the context of the next event."""

    playbook: dict[str, Any] = field(default_factory=dict)
    play: dict[str, Any] = field(default_factory=dict)
    task: dict[str, Any] = field(default_factory=dict)
    started: dict[str, datetime.datetime] = field(default_factory=dict)
    seen: collections.Counter[str] = field(default_factory=collections.Counter)
    leaves_behind: bool = False
    """Whether a task was started that the play does not wait for (``poll: 0``)."""

    def context(self, event: str) -> dict[str, Any]:
        """The fields that an event inherits."""
        context = dict(self.playbook)
        if event not in _WITHOUT_PLAY:
            context |= self.play
        if event not in _WITHOUT_TASK:
            context |= self.task
        return context

    def unique(self, identity: str) -> str:
        """The id, with a count behind it from its second use on (``serial``, ``free``)."""
        self.seen[identity] += 1
        count = self.seen[identity]
        return identity if count == 1 else f"{identity}_{count}"


def describe(
    facts: Facts, method: str, arguments: tuple[Any, ...], options: Any
) -> Described | None:
    """The event of a callback.

    Returns:
        Its name and its own data, or None when ansible-runner records none for it.
    """
    if any(getattr(argument, "implicit", False) for argument in arguments):
        return None
    special = _SPECIAL.get(method)
    if special is not None:
        return special(facts, arguments)
    name = _OF_RESULT.get(method)
    if name is None:
        return None
    return name, _of_result(facts, name, given.cleaned(arguments[0]), options)


def task_fields(task: Any) -> dict[str, Any]:
    """The fields that name the task of an event."""
    fields = {
        "task": task.name or task.action,
        "task_uuid": given.identity(task),
        "task_action": task.action,
        "resolved_action": getattr(task, "resolved_action", task.action),
        "task_args": _task_args(task),
        "task_path": task.get_path(),
    }
    role = given.role_of(task)
    if role:
        fields["role"], full_name = role
        if full_name != fields["role"]:
            fields["resolved_role"] = full_name
    elif getattr(task, "role_name", ""):
        fields["role"] = task.role_name
    return fields


def _task_args(task: Any) -> str:
    if not constants.DISPLAY_ARGS_TO_STDOUT:
        return ""
    return CENSORED if task.no_log else ", ".join(f"{k}={v}" for k, v in task.args.items())


def _playbook_start(facts: Facts, arguments: tuple[Any, ...]) -> Described:
    identity = str(uuid.uuid4())
    facts.playbook = {"playbook": given.file_of(arguments[0]), "playbook_uuid": identity}
    facts.play, facts.task = {}, {}
    return "playbook_on_start", {"uuid": identity}


def _play_start(facts: Facts, arguments: tuple[Any, ...]) -> Described:
    play = arguments[0]
    identity = facts.unique(given.identity(play))
    given.set_identity(play, identity)
    pattern = ",".join(play.hosts) if isinstance(play.hosts, list) else play.hosts or ""
    name = play.get_name().strip() or pattern
    facts.play = {"play": name, "play_uuid": identity, "play_pattern": pattern}
    facts.task = {}
    return "playbook_on_play_start", {"name": name, "pattern": pattern, "uuid": identity}


def _task_start(facts: Facts, arguments: tuple[Any, ...], *, handler: bool = False) -> Described:
    task = arguments[0]
    facts.task = task_fields(task)
    identity = given.identity(task) if handler else facts.unique(given.identity(task))
    data = {"name": task.get_name(), "is_conditional": handler, "uuid": identity}
    return "playbook_on_task_start", data


def _handler_start(facts: Facts, arguments: tuple[Any, ...]) -> Described:
    return _task_start(facts, arguments, handler=True)


def _host_start(facts: Facts, arguments: tuple[Any, ...]) -> Described:
    host, task = arguments[:2]
    facts.started[host.get_name()] = datetime.datetime.now(datetime.UTC)
    # Either may be a template still.
    facts.leaves_behind |= bool(task.async_val) and (isinstance(task.poll, str) or not task.poll)
    return "runner_on_start", {"host": host.get_name(), **task_fields(task)}


def _notify(_facts: Facts, arguments: tuple[Any, ...]) -> Described:
    handler, host = arguments
    return "playbook_on_notify", {"host": host.get_name(), "handler": handler.get_name()}


def _include(_facts: Facts, arguments: tuple[Any, ...]) -> Described:
    return "playbook_on_include", {"included_file": given.file_of_include(arguments[0])}


def _prompt(_facts: Facts, arguments: tuple[Any, ...]) -> Described:
    return "playbook_on_vars_prompt", {"varname": arguments[0]}


def _stats(facts: Facts, arguments: tuple[Any, ...]) -> Described:
    stats = arguments[0]
    facts.play, facts.task = {}, {}
    counts = ("changed", "dark", "failures", "ignored", "ok", "processed", "rescued", "skipped")
    data: dict[str, Any] = {name: dict(getattr(stats, name)) for name in counts}
    data["artifact_data"] = stats.custom.get("_run", {})
    return "playbook_on_stats", data


def _of_result(facts: Facts, event: str, result: Any, options: Any) -> dict[str, Any]:
    task, response = given.task_of(result), given.content_of(result)
    host = given.host_of(result).get_name()
    data: dict[str, Any] = {"host": host, **task_fields(task)}
    if event in _TIMED:
        data |= {"remote_addr": given.host_of(result).address, **_timing(facts, host)}
        data["event_loop"] = getattr(task, "loop_with", None)
    if event == "runner_on_failed":
        data["ignore_errors"] = options.get("ignore_errors", False)
    if event == "runner_on_ok" and _gathers(task.action):
        response.get("ansible_facts", {}).pop("ansible_env", None)
    if event == "runner_on_file_diff":
        return data | {"diff": response.get("diff")}
    if event.startswith("runner_on_async"):
        data["jid"] = response.get("ansible_job_id")
    if event != "runner_on_skipped":
        data["res"] = _censored(response)
    return data


def _gathers(action: str) -> bool:
    return action.rpartition(".")[2] in ("setup", "gather_facts")


def _timing(facts: Facts, host: str) -> dict[str, Any]:
    start = facts.started.get(host)
    if start is None:
        return {"start": None, "end": None, "duration": None}
    end = datetime.datetime.now(datetime.UTC)
    seconds = (end - start).total_seconds()
    return {"start": start.isoformat(), "end": end.isoformat(), "duration": seconds}


def _censored(response: Any) -> Any:
    if not response:
        return response
    if response.get("_ansible_no_log"):
        return {"censored": CENSORED}
    items = response.get("results")
    if isinstance(items, list) and any(_is_secret(item) for item in items):
        response = copy.copy(response)
        response["results"] = [{"censored": CENSORED} if _is_secret(i) else i for i in items]
    return response


def _is_secret(item: object) -> bool:
    return isinstance(item, dict) and bool(item.get("_ansible_no_log"))


_SPECIAL: dict[str, Callable[[Facts, tuple[Any, ...]], Described]] = {
    "v2_playbook_on_start": _playbook_start,
    "v2_playbook_on_play_start": _play_start,
    "v2_playbook_on_task_start": _task_start,
    "v2_playbook_on_handler_task_start": _handler_start,
    "v2_playbook_on_cleanup_task_start": _handler_start,
    "v2_playbook_on_no_hosts_matched": lambda _f, _a: ("playbook_on_no_hosts_matched", {}),
    "v2_playbook_on_no_hosts_remaining": lambda _f, _a: ("playbook_on_no_hosts_remaining", {}),
    "v2_playbook_on_notify": _notify,
    "v2_playbook_on_include": _include,
    "v2_playbook_on_vars_prompt": _prompt,
    "v2_playbook_on_stats": _stats,
    "v2_runner_on_start": _host_start,
}
_OF_RESULT = {
    "v2_runner_on_ok": "runner_on_ok",
    "v2_runner_on_failed": "runner_on_failed",
    "v2_runner_on_skipped": "runner_on_skipped",
    "v2_runner_on_unreachable": "runner_on_unreachable",
    "v2_runner_on_async_poll": "runner_on_async_poll",
    "v2_runner_on_async_ok": "runner_on_async_ok",
    "v2_runner_on_async_failed": "runner_on_async_failed",
    "v2_on_file_diff": "runner_on_file_diff",
    "v2_runner_item_on_ok": "runner_item_on_ok",
    "v2_runner_item_on_failed": "runner_item_on_failed",
    "v2_runner_item_on_skipped": "runner_item_on_skipped",
    "v2_runner_retry": "runner_retry",
}
_TIMED = {
    "runner_on_ok",
    "runner_on_failed",
    "runner_on_skipped",
    "runner_on_unreachable",
}
