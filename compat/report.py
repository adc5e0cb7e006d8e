# SPDX-License-Identifier: Apache-2.0
"""Passes as text."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from compat.comparing import differences, fields
from compat.passes import Pass

_LONGEST = 120


def table(passes: Sequence[Pass]) -> str:
    """Return a table in Markdown with a column per runner."""
    rows = [("", [one.runner for one in passes]), ("---", ["---"] * len(passes))]
    rows += [
        ("succeeded", ["yes" if one.succeeded else "no" for one in passes]),
        ("seconds", [f"{one.seconds:.1f}" for one in passes]),
        ("CPU seconds", [f"{one.cpu:.1f}" for one in passes]),
        ("tasks", [_counted(one.played.tasks) for one in passes]),
        ("objects", [_kinds(one) for one in passes]),
        ("conditions", [_states(one) for one in passes]),
        ("ended at", [_end(one) for one in passes]),
    ]
    return "\n".join(f"| {name} | {' | '.join(cells)} |" for name, cells in rows)


def compared(left: Pass, right: Pass) -> str:
    """Return the fields in which objects and status of two runners differ, a line each."""
    found = differences(left.objects, right.objects)
    if left.ended and right.ended:
        found += [("status", *one) for one in fields(left.status, right.status)]
    else:  # what only one of them has, the other had yet to create
        found = [one for one in found if one[1]]
    lines = [
        f"{name} {path}: {_short(one)} ({left.runner}), {_short(other)} ({right.runner})"
        for name, path, one, other in found
    ]
    return "\n".join(lines) or "no field differs"


def _counted(numbers: Any) -> str:
    return ", ".join(f"{number} {what}" for what, number in sorted(numbers.items()))


def _kinds(one: Pass) -> str:
    return _counted(Counter(name.partition("/")[0] for name in one.objects))


def _states(one: Pass) -> str:
    return ", ".join(f"{name} {said.partition(':')[0]}" for name, said in one.conditions.items())


def _end(one: Pass) -> str:
    if not one.ended:
        return f"not within {one.seconds:.0f} s"
    if not one.played.failed_at:
        return "its last task"
    return _short(f"{one.played.failed_at}: {one.played.message}").replace("|", "\\|")


def _short(what: Any) -> str:
    text = " ".join(str(what).split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
