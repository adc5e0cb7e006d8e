# SPDX-License-Identifier: Apache-2.0
"""What a check reports, and how it is printed."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum


class Severity(StrEnum):
    """How much a finding matters, the worst first."""

    ERROR = "error"
    """It does not work."""
    WARNING = "warning"
    """It may not work; that depends on values that the project does not contain."""
    NOTE = "note"
    """It works, but differently from the Go runner or not with a newer ansible-core."""


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One problem at one place.

    Attributes:
        path: of the file, relative to the project.
        line: from 1; 0 for the file as a whole.
        code: name of the rule.
        since: the ansible-core that begins to refuse it; ``""`` for any.
    """

    path: str
    line: int
    severity: Severity
    code: str
    message: str
    since: str = ""


Release = tuple[int, ...]


def release(text: str) -> Release:
    """The first two numbers of a version.

    Raises:
        ValueError: it does not begin with two numbers.
    """
    major, minor = text.split(".")[:2]
    return int(major), int(minor)


def for_release(finding: Finding, target: Release) -> Finding:
    """The finding under an ansible-core: what only a newer one refuses is a note."""
    if not finding.since or target >= release(finding.since):
        return finding
    message = f"{finding.message}, from ansible-core {finding.since} on"
    return replace(finding, severity=Severity.NOTE, message=message)


def as_text(findings: Sequence[Finding], core: str) -> str:
    """One line per finding, as compilers print them, and a summary."""
    lines = [
        f"{item.path}:{item.line}: {item.severity}: {item.message} [{item.code}]"
        for item in findings
    ]
    counts = Counter(item.severity for item in findings)
    summary = ", ".join(f"{counts[one]} {one}{'s' * (counts[one] != 1)}" for one in Severity)
    return "\n".join([*lines, f"{summary}; checked for ansible-core {core}"])


def as_json(findings: Sequence[Finding], core: str) -> str:
    """The same for programs: ``{"ansibleCore": …, "findings": […]}``."""
    return json.dumps(
        {"ansibleCore": core, "findings": [asdict(finding) for finding in findings]}, indent=2
    )
