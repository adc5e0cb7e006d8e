# SPDX-License-Identifier: Apache-2.0
"""Job events in ansible-runner's shape, recorded where Ansible calls its callbacks.

What the stdout callback prints while it handles a callback is that event's ``stdout``; anything
that is printed elsewhere becomes an event of its own (``verbose``, ``warning``, ...). So every
stdout callback that a project configures works, and the concatenated events are the output.
"""

import datetime
import io
import os
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ansible_operator.engine.event_json import encoded
from ansible_operator.engine.patches.callback_arguments import ciphertext_of
from ansible_operator.engine.warm.event_data import Facts, describe

_LARGEST_RESULT = 700_000
"""Characters of a result above which ansible-runner leaves it out of the event."""


class EventRecorder:
    """Numbers the events of one run, cuts the output among them and sends them."""

    def __init__(self, ident: str, send: Callable[[str, bytes], None]) -> None:
        """``send`` gets the name of each event and the event as JSON, in order."""
        self._ident = ident
        self._send = send
        self._facts = Facts()
        self._counter = 0
        self._line = 0
        self._depth = 0
        self._text = io.StringIO()
        self._stream: Any = RecordedStream(self)
        self.has_stats = False

    @property
    def leaves_behind(self) -> bool:
        """Whether a task may go on when the play has ended."""
        return self._facts.leaves_behind

    @property
    def is_open(self) -> bool:
        """Whether an event is being recorded, so that output belongs to it."""
        return self._depth > 0

    @property
    def count(self) -> int:
        """How many events have been recorded."""
        return self._counter

    def write(self, text: str) -> None:
        """Take output; outside of an event each piece becomes one."""
        if self._depth:
            self._text.write(text)
        else:
            with self.event("verbose", {}):
                self._text.write(text)

    @contextmanager
    def streams(self) -> Iterator[None]:
        """Have Python's streams recorded, also inside of a task that has its own."""
        before = sys.stdout, sys.stderr
        sys.stdout = sys.stderr = self._stream
        try:
            yield
        finally:
            sys.stdout, sys.stderr = before

    @contextmanager
    def callback(self, method: str, arguments: tuple[Any, ...], options: Any) -> Iterator[None]:
        """Record a call of callbacks, and what they print."""
        described = describe(self._facts, method, arguments, options)
        if described is None:
            yield
            return
        name, data = described
        self.has_stats |= name == "playbook_on_stats"
        with self.event(name, data):
            yield

    @contextmanager
    def event(self, name: str, data: dict[str, Any]) -> Iterator[None]:
        """Record one event around what prints it."""
        created = datetime.datetime.now(datetime.UTC).isoformat()
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            if not self._depth:
                self._emit(name, created, data)

    def _emit(self, name: str, created: str, data: dict[str, Any]) -> None:
        text = self._text.getvalue()
        if text:
            self._text = io.StringIO()
        self._counter += 1
        lines = text.count("\n")
        identity = data.setdefault("uuid", str(uuid.uuid4()))
        event = {
            "uuid": identity,
            "counter": self._counter,
            "stdout": text.rstrip("\r\n"),
            "start_line": self._line,
            "end_line": self._line + lines,
            "runner_ident": self._ident,
            "event": name,
            "pid": os.getpid(),
            "created": created,
        }
        self._line += lines
        data = _bounded({**self._facts.context(name), **data})
        for key in ("task_uuid", "play_uuid", "playbook_uuid"):
            if data.get(key) and data[key] != identity:
                event["parent_uuid"] = data[key]
                break
        event["event_data"] = data
        self._send(name, encoded(event, _plain))


class RecordedStream(io.TextIOBase):
    """Stands in for ``sys.stdout`` and ``sys.stderr`` of a run."""

    encoding = "utf-8"
    errors = "replace"

    def __init__(self, recorder: EventRecorder) -> None:
        self._recorder = recorder

    def write(self, text: str) -> int:
        """Hand the text to the recorder."""
        self._recorder.write(text)
        return len(text)

    def writable(self) -> bool:
        """Return True."""
        return True

    def isatty(self) -> bool:
        """Return False: output goes to files and logs, so it has no colours unless asked for."""
        return False


def _bounded(data: dict[str, Any]) -> dict[str, Any]:
    if "res" in data and _size(data["res"]) > _LARGEST_RESULT:
        data["res"] = {}
    return data


def _size(result: Any) -> int:
    try:
        return len(str(result))
    except (ValueError, RecursionError):
        return len(encoded({"res": result}, _plain))


def _plain(value: object) -> Any:
    """JSON for what is none: a vault value stays encrypted, times are ISO 8601."""
    ciphertext = ciphertext_of(value)
    if ciphertext is not None:
        return {"__ansible_vault": ciphertext}
    if isinstance(value, (datetime.date, datetime.datetime)):
        return value.isoformat()
    if isinstance(value, (set, frozenset, tuple)):
        return list(value)
    return str(value)
