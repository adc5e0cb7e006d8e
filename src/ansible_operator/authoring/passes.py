# SPDX-License-Identifier: Apache-2.0
"""What a run of a role has changed, from the events of its play."""

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ansible_operator.authoring.yaml_text import block

_OUTCOMES = {
    "runner_on_ok": "ok",
    "runner_item_on_ok": "ok",
    "runner_on_failed": "failed",
    "runner_item_on_failed": "failed",
    "runner_on_unreachable": "failed",
}
_KEPT_BY_THE_SERVER = frozenset(
    {"managedFields", "resourceVersion", "generation", "uid", "creationTimestamp"}
)
"""Metadata that changes with every write."""
_HIDDEN = frozenset({"Secret"})


@dataclass(frozen=True, slots=True)
class TaskResult:
    """What one task, or one item of its loop, has done.

    Attributes:
        outcome: ``ok``, ``changed`` or ``failed``.
        lines: the difference that it has made, or the error.
    """

    name: str
    outcome: str
    lines: tuple[str, ...] = ()


def results(events: Iterable[Mapping[str, Any]]) -> Iterator[TaskResult]:
    """The tasks of a play, in order; those that were skipped are left out.

    Args:
        events: of the play, as ansible-runner writes them.
    """
    for event in sorted(events, key=lambda one: one.get("counter", 0)):
        outcome = _OUTCOMES.get(event.get("event", ""))
        data = event.get("event_data") or {}
        result = data.get("res") or {}
        if outcome is None or "results" in result:
            continue
        name = _name(data, result)
        if outcome == "failed":
            message = str(result.get("msg") or "no message")
            yield TaskResult(name, outcome, tuple(message.splitlines()))
        elif result.get("changed") is True:
            yield TaskResult(name, "changed", tuple(_difference(result)))
        else:
            yield TaskResult(name, "ok")


def _name(data: Mapping[str, Any], result: Mapping[str, Any]) -> str:
    name = str(data.get("task") or data.get("task_action") or "task")
    item = result.get("_ansible_item_label")
    return name if item is None else f"{name} (item={item})"


def _difference(result: Mapping[str, Any]) -> Iterator[str]:
    written = result.get("result")
    written = written if isinstance(written, Mapping) else {}
    several = written.get("results")
    if isinstance(several, list):
        for one in several:
            yield from _difference(one)
        return
    if written.get("kind") in _HIDDEN:
        yield f"{_object(written)}: its content is not shown"
        return
    if result.get("method") == "create" and written:
        yield f"created {_object(written)}"
        return
    if result.get("method") == "delete":
        yield "deleted"
        return
    given = result.get("diff") or ()
    for diff in given if isinstance(given, list) else [given]:
        if isinstance(diff, Mapping):
            yield from _lines(diff)


def _object(written: Mapping[str, Any]) -> str:
    metadata = written.get("metadata") or {}
    place = "/".join(str(metadata[key]) for key in ("namespace", "name") if key in metadata)
    return f"{written.get('kind')} {place}"


def _lines(diff: Mapping[str, Any]) -> Iterator[str]:
    """A unified difference without headers, of objects as YAML."""
    if "prepared" in diff:
        yield from str(diff["prepared"]).splitlines()
        return
    before, after = (_text(diff.get(key)) for key in ("before", "after"))
    lines = difflib.unified_diff(before, after, n=2, lineterm="")
    yield from (line for line in lines if not line.startswith(("---", "+++", "@@")))


def _text(value: object) -> list[str]:
    if isinstance(value, Mapping):
        return block(_without_noise(value)).splitlines() if _without_noise(value) else []
    return str(value or "").splitlines()


def _without_noise(value: Mapping[str, Any]) -> dict[str, Any]:
    """An object without what the server keeps about it."""
    kept = {key: item for key, item in value.items() if key not in {"metadata", "status"}}
    metadata = value.get("metadata")
    if isinstance(metadata, Mapping):
        named = {key: item for key, item in metadata.items() if key not in _KEPT_BY_THE_SERVER}
        kept |= {"metadata": named} if named else {}
    return kept


def told(title: str, found: Iterable[TaskResult]) -> Iterator[str]:
    """A run as lines for its author: what has changed or failed, and how many tasks have not."""
    unchanged = 0
    yield title
    for one in found:
        unchanged += one.outcome == "ok"
        if one.outcome != "ok":
            yield f"  {one.outcome}: {one.name}"
            yield from (f"    {line}" for line in one.lines)
    yield f"  {unchanged} task{'s' * (unchanged != 1)} ok"
