# SPDX-License-Identifier: Apache-2.0
"""What became of stages and of their tests, read from exit codes and pytest's own reports."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

_CLOSING = re.compile(
    r"^(=+ .*(passed|failed|error|no tests ran).* =+"
    r"|(lint|sanity|release|docs|molecule): .*(passed|failed|pages).*"
    r"|ansible-core: .*|scenario .*)$"
)


@dataclass(frozen=True, slots=True)
class Test:
    """One test of a report.

    Attributes:
        node: file and name, as pytest takes them.
        seconds: with its fixtures.
        failures: what it, or a fixture of it, failed with; empty if it passed.
    """

    node: str
    seconds: float
    failures: tuple[str, ...] = ()

    @property
    def has_failed(self) -> bool:
        """Whether it, or a fixture of it, failed."""
        return bool(self.failures)

    @property
    def is_not_set_up(self) -> bool:
        """Whether it did not run, since a fixture of it failed."""
        return all(failure.startswith("failed on setup with ") for failure in self.failures)

    @property
    def file(self) -> str:
        """The file that it stands in."""
        return self.node.partition("::")[0]


@dataclass(slots=True)
class Outcome:
    """What became of one stage.

    Attributes:
        name: of the stage.
        code: its exit code; None while it was not run.
        seconds: how long it took.
        log: all that it printed.
        note: why it was not run, or how it was ended.
        tests: of its report, if it has one.
        second_tries: tests that failed at first and passed when their files were run alone.
    """

    name: str
    code: int | None = None
    seconds: float = 0.0
    log: Path | None = None
    note: str = ""
    tests: list[Test] = field(default_factory=list)
    second_tries: list[Test] = field(default_factory=list)

    @property
    def is_green(self) -> bool:
        """Whether it ran and passed."""
        return self.code == 0

    @property
    def failed_tests(self) -> list[Test]:
        """The tests that failed."""
        return [test for test in self.tests if test.has_failed]


def read_report(path: Path) -> list[Test]:
    """Read pytest's JUnit report of the family xunit1, which names files; empty without one."""
    try:
        cases = list(ElementTree.parse(path).iter("testcase"))  # noqa: S314 (pytest wrote it)
    except (OSError, ElementTree.ParseError):
        return []
    return [
        Test(
            node=f"{case.get('file') or case.get('classname')}::{case.get('name')}",
            seconds=float(case.get("time") or 0),
            failures=tuple(
                one.get("message") or one.tag
                for tag in ("failure", "error")
                for one in case.findall(tag)
            ),
        )
        for case in cases
        if case.get("name")
    ]


def closing_lines(log: Path) -> list[str]:
    """Return the lines with which the runners themselves closed."""
    return [line for line in log.read_text(errors="replace").splitlines() if _CLOSING.match(line)]
