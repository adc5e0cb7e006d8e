# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Results of actions that change objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...module_utils.clients.kubernetes.differences import shown_difference, without_payload
from ...module_utils.clients.kubernetes.errors import KubeError
from ...module_utils.clients.kubernetes.outcomes import Change, Outcome
from .action import failed


@dataclass(slots=True)
class Changes:
    """What an action has done to objects so far; what was done before an error counts."""

    done: list[Outcome] = field(default_factory=list)

    def add(self, outcomes: Iterable[Outcome]) -> list[Outcome]:
        """Change one object after the other, as the iterable does, and return the outcomes."""
        begin = len(self.done)
        for outcome in outcomes:
            self.done.append(outcome)
        return self.done[begin:]

    def failed(self, error: KubeError) -> dict[str, Any]:
        """Build the result of a task that an error has ended."""
        return {**self.result(), **failed(error)}

    def result(self, *, diff: bool = False) -> dict[str, Any]:
        """Build the result: what changed, the objects as they are now, and as they were."""
        changed = [one for one in self.done if one.change is not Change.UNCHANGED]
        result: dict[str, Any] = {
            "changed": bool(changed),
            "changes": [f"{outcome.title} {outcome.change.value}" for outcome in changed],
            "done": [_named(outcome) for outcome in changed],
            "objects": {
                _key(one.after): without_payload(one.after)
                for one in self.done
                if one.after is not None
            },
            "before": {
                _key(outcome.after): without_payload(outcome.before)
                for outcome in changed
                if outcome.after is not None and outcome.before is not None
            },
        }
        if diff:
            shown = [
                shown_difference(outcome.title, outcome.before, outcome.after)
                for outcome in changed
            ]
            result["diff"] = shown
        return result


def _key(found: Mapping[str, Any]) -> str:
    return f"{found['kind']}/{found['metadata']['name']}"


def _named(outcome: Outcome) -> dict[str, str]:
    about = outcome.after or outcome.before or {}
    name = str(about["metadata"]["name"])
    return {"kind": str(about["kind"]), "name": name, "change": outcome.change.value}
