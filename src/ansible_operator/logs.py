# SPDX-License-Identifier: Apache-2.0
"""Structured logs in the format of the Go runner.

One JSON object per line on standard error: ``level, ts, logger, msg`` and the line's own keys.
Nothing secret may be handed to a logger; request bodies and variables are never logged.
"""

import contextlib
import datetime
import sys
import traceback
from collections.abc import Callable, Iterator, MutableMapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import structlog

Logger: TypeAlias = structlog.typing.FilteringBoundLogger
_Entry: TypeAlias = MutableMapping[str, Any]

LEVELS = {"debug": 10, "info": 20, "warn": 30, "error": 40, "panic": 50}
_LEVEL_NAMES = {"warning": "warn", "critical": "panic", "exception": "error"}


@dataclass(frozen=True, slots=True)
class LogSettings:
    """The ``--zap-*`` flags.

    Attributes:
        level: lowest level that is printed, as a number of the ``logging`` module.
        encoding: JSON lines, or text.
        time: name of the time format.
        stacktrace: lowest level whose lines get a stack trace; None for none. What a
            crash raised is always part of its line.
    """

    level: int = LEVELS["info"]
    encoding: Literal["json", "console"] = "json"
    time: str = "rfc3339"
    stacktrace: int | None = None


def _rfc3339(now: datetime.datetime) -> str:
    return now.strftime("%Y-%m-%dT%H:%M:%SZ")


TIME_FORMATS: dict[str, Callable[[datetime.datetime], Any]] = {
    "epoch": lambda now: now.timestamp(),
    "millis": lambda now: now.timestamp() * 1e3,
    "nano": lambda now: int(now.timestamp() * 1e6) * 1000,
    "iso8601": lambda now: f"{now:%Y-%m-%dT%H:%M:%S}.{now.microsecond // 1000:03d}Z",
    "rfc3339": _rfc3339,
    "rfc3339nano": lambda now: f"{now:%Y-%m-%dT%H:%M:%S.%f}Z",
}


def _shape(settings: LogSettings) -> Callable[[Any, str, _Entry], _Entry]:
    """A processor that puts the four fixed keys first."""
    stamp = TIME_FORMATS[settings.time]

    def shape(_logger: Any, method: str, entry: _Entry) -> _Entry:
        line: _Entry = {
            "level": _LEVEL_NAMES.get(method, method),
            "ts": stamp(datetime.datetime.now(datetime.UTC)),
        }
        if name := entry.pop("source", ""):
            line["logger"] = name
        line["msg"] = entry.pop("event", "")
        line.update(entry)
        if settings.stacktrace is not None and LEVELS.get(line["level"], 0) >= settings.stacktrace:
            line["stacktrace"] = _caller_stack()
        return line

    return shape


def _caller_stack() -> str:
    """Where a line was logged, without the frames of the logging library."""
    frames = traceback.extract_stack()
    while frames and ("structlog" in frames[-1].filename or frames[-1].filename == __file__):
        frames.pop()
    return "".join(traceback.format_list(frames)).rstrip()


def _console(_logger: Any, _method: str, entry: _Entry) -> str:
    known = ("level", "ts", "logger", "msg", "exception", "stacktrace")
    extra = " ".join(f"{key}={value!r}" for key, value in entry.items() if key not in known)
    head = f"{entry['ts']}\t{str(entry['level']).upper()}\t{entry.get('logger', '')}"
    tail = "".join(f"\n{entry[key]}" for key in ("exception", "stacktrace") if key in entry)
    return f"{head}\t{entry['msg']}\t{extra}{tail}".rstrip()


def configure(settings: LogSettings) -> None:
    """Set up logging for the whole process."""
    # Without blanks between keys and values: scripts search for whole fragments.
    json_line = structlog.processors.JSONRenderer(
        ensure_ascii=False, default=str, separators=(",", ":")
    )
    structlog.configure(
        processors=[
            structlog.processors.format_exc_info,
            _shape(settings),
            _console if settings.encoding == "console" else json_line,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(settings.level),
        logger_factory=structlog.PrintLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=True,
    )


@contextlib.contextmanager
def silent() -> Iterator[None]:
    """Log nothing but crashes: what is logged inside is told in another way."""
    before = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(LEVELS["panic"]))
    try:
        yield
    finally:
        structlog.configure(**before)


def get_logger(name: str) -> Logger:
    """A logger whose lines carry this name."""
    logger: Logger = structlog.get_logger(source=name)
    return logger
