# SPDX-License-Identifier: Apache-2.0
"""When each stage was last green, and last red, in this checkout: ``build/last-seen.json``.

The file holds, by the name of a stage and then by ``green`` or ``red``, the commit that was checked
out (``-dirty`` where files differed from it), the time of the end (RFC 3339, UTC) and the seconds::

    {"unit": {"green": {"commit": "1f…", "time": "2026-01-02T03:04:05Z", "seconds": 231.0}}}

Git does not know the file: it tells what was seen on this machine.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dev.gate.outcomes import Outcome

_RESULTS = ("green", "red")
_SHORT_COMMIT = 10

Seen = dict[str, dict[str, dict[str, Any]]]


class LastSeenError(Exception):
    """The file cannot be read or written; the message says what to do."""


def read(path: Path) -> Seen:
    """Return what the file says; nothing where there is none.

    Raises:
        LastSeenError: it cannot be read, or is not as this module writes it.
    """
    try:
        seen = json.loads(path.read_text())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise _broken(path, str(error)) from error
    wrong = _wrong(seen)
    if wrong:
        raise _broken(path, wrong)
    return dict(seen)


def record(path: Path, outcome: Outcome, commit: str) -> None:
    """Write down what became of a stage that ran; others keep what is known of them.

    Raises:
        LastSeenError: the file cannot be read or written.
    """
    seen = read(path)
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    seen.setdefault(outcome.name, {})["green" if outcome.is_green else "red"] = {
        "commit": commit,
        "time": now,
        "seconds": round(outcome.seconds, 1),
    }
    try:
        _replace(path, json.dumps(seen, indent=1, sort_keys=True) + "\n")
    except OSError as error:
        raise LastSeenError(f"{path} cannot be written: {error}") from error


def table(seen: Seen, names: Iterable[str]) -> Iterator[str]:
    """Yield when each stage was last green and whether it was red since, then those never seen."""
    unseen = []
    for name in names:
        green, red = (seen.get(name, {}).get(result) for result in _RESULTS)
        told = f"{_said(green)} in {green['seconds']:.0f} s" if green else "never"
        if red and (not green or red["time"] > green["time"]):
            told += f"; red {_said(red)}"
        if green or red:
            yield f"{name:<17} {told}"
        else:
            unseen.append(name)
    if unseen:
        yield f"never seen here: {' '.join(unseen)}"


def _said(entry: Mapping[str, Any]) -> str:
    commit, _, dirty = entry["commit"].partition("-")
    return f"{entry['time']} at {commit[:_SHORT_COMMIT]}{'-' * bool(dirty)}{dirty}"


def _wrong(seen: Any) -> str:
    """Return what is not as `record` writes it; empty if nothing is."""
    if not isinstance(seen, dict):
        return "it is no object"
    for name, results in seen.items():
        if not isinstance(results, dict) or not set(results) <= set(_RESULTS):
            return f"{name} has other keys than {' and '.join(_RESULTS)}"
        if not all(_is_entry(entry) for entry in results.values()):
            return f"{name} lacks a commit, a time or the seconds"
    return ""


def _is_entry(entry: Any) -> bool:
    return (
        isinstance(entry, dict)
        and isinstance(entry.get("commit"), str)
        and isinstance(entry.get("time"), str)
        and isinstance(entry.get("seconds"), int | float)
    )


def _broken(path: Path, why: str) -> LastSeenError:
    return LastSeenError(f"{path} is not kept, since it is broken ({why}): correct or delete it")


def _replace(path: Path, text: str) -> None:
    """Put a file in place as a whole: a run that is killed leaves the old one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w") as file:
            file.write(text)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
