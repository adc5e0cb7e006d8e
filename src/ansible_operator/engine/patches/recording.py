# SPDX-License-Identifier: Apache-2.0
"""Has Ansible's display and callbacks recorded as job events."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

from ansible import constants
from ansible.executor.task_queue_manager import TaskQueueManager
from ansible.utils.display import Display


class Recorder(Protocol):
    """What records the events of a run."""

    @property
    def is_open(self) -> bool:
        """Whether an event is being recorded, so that output belongs to it."""
        ...

    @property
    def count(self) -> int:
        """How many events have been recorded."""
        ...

    def streams(self) -> AbstractContextManager[None]:
        """Have Python's streams recorded."""
        ...

    def event(self, name: str, data: dict[str, Any]) -> AbstractContextManager[None]:
        """Record one event around what prints it."""
        ...

    def callback(
        self, method: str, arguments: tuple[Any, ...], options: Any
    ) -> AbstractContextManager[None]:
        """Record a call of callbacks, and what they print."""
        ...


def record_display(current: Callable[[], Recorder | None]) -> None:
    """Have ``Display`` record what it prints outside of callbacks, with the event's kind."""
    kinds: list[str] = []
    for kind in ("debug", "verbose", "deprecated", "warning", "system_warning", "error"):
        original = getattr(Display, kind, None)
        if original is not None:
            setattr(Display, kind, _of_kind(original, kind, kinds))
    Display.debug = _if_debugging(Display.debug)
    display = Display.display

    def recording(self: Any, *arguments: Any, **options: Any) -> Any:
        recorder = current()
        if recorder is None or self._final_q or options.get("log_only"):
            return display(self, *arguments, **options)
        with self._lock, recorder.streams():
            if recorder.is_open:
                return display(self, *arguments, **options)
            with recorder.event(kinds[-1] if kinds else "verbose", {}):
                return display(self, *arguments, **options)

    # A worker proxies a display call by the function's name.
    recording.__name__ = "display"
    Display.display = recording


def record_callbacks(current: Callable[[], Recorder | None]) -> None:
    """Have the task queue manager record the callbacks that it sends."""
    original = TaskQueueManager.send_callback

    def recording(self: Any, method: str, *arguments: Any, **options: Any) -> Any:
        recorder = current()
        if recorder is None:
            return original(self, method, *arguments, **options)
        with (
            Display()._lock,
            recorder.streams(),
            recorder.callback(method, arguments, options),
        ):
            return original(self, method, *arguments, **options)

    TaskQueueManager.send_callback = recording


def _if_debugging(original: Callable[..., Any]) -> Callable[..., Any]:
    """A method that Ansible calls a hundred times in a play of one task, for nothing as a rule."""

    def debug(*arguments: Any, **options: Any) -> Any:
        return original(*arguments, **options) if constants.DEFAULT_DEBUG else None

    debug.__name__ = original.__name__
    return debug


def _of_kind(original: Callable[..., Any], kind: str, kinds: list[str]) -> Callable[..., Any]:
    def wrapped(*arguments: Any, **options: Any) -> Any:
        kinds.append(kind)
        try:
            return original(*arguments, **options)
        finally:
            kinds.pop()

    wrapped.__name__ = original.__name__
    return wrapped
