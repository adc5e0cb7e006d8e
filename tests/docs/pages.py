# SPDX-License-Identifier: Apache-2.0
"""Pages of the documentation as something that can be run.

A page says in HTML comments, which readers do not see, where its commands run:

- ``<!-- session: fake -->`` (or ``node``, or ``s3``: a real node and an object store), once: the
  kind of test bed;
- ``<!-- follows: page.md -->``, once: commands of that page in the same folder run first;
- ``<!-- file: name.yaml -->`` before a fenced block: the block is the content of that file;
- ``<!-- not run: reason -->`` before a fenced ``console`` block: its commands need something that
  no test bed has.

In a ``console`` block, lines that begin with ``$`` are commands (a trailing backslash or an
open quote goes on in the next line); others are what they print, with ``…`` for whatever changes.
"""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

_COMMENT = re.compile(r"<!-- (session|follows|file|not run): (.+?) -->")
_FENCE = re.compile(r"```(\w*)\s*")


class PageError(Exception):
    """A page does not follow the rules above."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command and what the page shows of its output."""

    line: int
    text: str
    shown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class File:
    """A file that the page gives."""

    line: int
    name: str
    content: str


@dataclass(slots=True)
class Page:
    """A page: its session, the page that is run before it, its files and commands in order."""

    path: Path
    session: str = ""
    follows: str = ""
    steps: list[Command | File] = field(default_factory=list)
    not_run: list[tuple[int, str]] = field(default_factory=list)


def read(path: Path) -> Page:
    """Read a page.

    Raises:
        PageError: a ``console`` block without commands, or commands without a session.
    """
    page = Page(path)
    comment: tuple[str, str] | None = None
    lines = iter(enumerate(path.read_text(encoding="utf-8").splitlines(), 1))
    for number, line in lines:
        if found := _COMMENT.fullmatch(line.strip()):
            comment = (found[1], found[2])
            if found[1] == "session":
                page.session, comment = found[2], None
            elif found[1] == "follows":
                page.follows, comment = found[2], None
        elif fence := _FENCE.fullmatch(line.strip()):
            _take(page, fence[1], number, list(_block(lines)), comment)
            comment = None
    if not page.session and any(isinstance(step, Command) for step in page.steps):
        message = f"{path}: no comment says on which session its commands run"
        raise PageError(message)
    return page


def _block(lines: Iterator[tuple[int, str]]) -> Iterator[str]:
    for _number, line in lines:
        if line.strip() == "```":
            return
        yield line


def _take(
    page: Page, language: str, number: int, block: list[str], comment: tuple[str, str] | None
) -> None:
    kind, value = comment or ("", "")
    if kind == "file":
        page.steps.append(File(number, value, "\n".join(block) + "\n"))
    elif language == "console" and kind == "not run":
        page.not_run.append((number, value))
    elif language == "console":
        page.steps.extend(_commands(page.path, number, block))


def _commands(path: Path, number: int, block: list[str]) -> Iterator[Command]:
    begun: list[tuple[int, list[str], list[str]]] = []
    for offset, line in enumerate(block, 1):
        if line.startswith("$ "):
            begun.append((number + offset, [line[2:]], []))
        elif not begun:
            message = f"{path}:{number + offset}: output before any command"
            raise PageError(message)
        elif not begun[-1][2] and _goes_on("\n".join(begun[-1][1])):
            begun[-1][1].append(line)
        else:
            begun[-1][2].append(line)
    if not begun:
        message = f"{path}:{number}: a console block without a command"
        raise PageError(message)
    for line, text, shown in begun:
        yield Command(line, "\n".join(text), tuple(shown))


def _goes_on(text: str) -> bool:
    """Tell whether a command has a next line: a backslash at its end, or a quote left open."""
    try:
        shlex.split(text)
    except ValueError:
        return True
    return text.endswith("\\")


def differs(shown: tuple[str, ...], printed: str) -> str | None:
    """Return the first line that a page shows and the command did not print, spaces aside."""
    lines = [" ".join(line.split()) for line in printed.splitlines()]
    for line in shown:
        wanted = re.escape(" ".join(line.split())).replace("…", ".*")
        if not any(re.fullmatch(wanted, each) for each in lines):
            return line
    return None
