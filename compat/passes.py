# SPDX-License-Identifier: Apache-2.0
"""What a runner has left of a pass: the events of its plays, the status, the objects."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from compat.comparing import Objects

Json = dict[str, Any]
_ENDED = {
    "runner_on_ok": "ok",
    "runner_on_failed": "failed",
    "runner_on_skipped": "skipped",
    "runner_on_unreachable": "failed",
}
_TIME = "lastTransitionTime"


@dataclass(frozen=True, slots=True)
class Played:
    """The tasks of a play.

    Attributes:
        tasks: how many ended, by result.
        failed_at: name of the task that ended the play, or ended it first; empty if none did.
        message: what that task said.
    """

    tasks: Mapping[str, int]
    failed_at: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class Pass:
    """An object's first pass on a runner.

    Attributes:
        runner: which.
        seconds: from the creation of the object until its conditions reported the end, or until
            its limit.
        cpu: seconds of CPU of the runner with all its processes in that time.
        succeeded: whether the conditions say so.
        played: the tasks.
        conditions: status and message of each condition that the runner maintains.
        objects: what is in the namespace afterwards.
        ended: whether the play ended in the time that it was given.
        status: of the object, as in :func:`status`.
    """

    runner: str
    seconds: float
    cpu: float
    succeeded: bool
    played: Played
    conditions: Mapping[str, str]
    objects: Objects = field(repr=False)
    ended: bool = True
    status: Json = field(default_factory=dict)

    def as_json(self) -> Json:
        """Everything but the objects, of which only the names are kept."""
        return {**asdict(self), "objects": sorted(self.objects)}


def events(artifacts: Path) -> Iterator[Json]:
    """Yield the job events of a run in order, from its folder of artifacts."""
    files = (artifacts / "job_events").glob("*.json")
    numbered = [(path.name.partition("-")[0], path) for path in files]
    for _, path in sorted((int(number), path) for number, path in numbered if number.isdigit()):
        yield json.loads(path.read_text())


def played(recorded: Iterable[Json], output: str = "") -> Played:
    """Return the tasks of a play from its job events; failures that are ignored are none.

    Args:
        recorded: the job events.
        output: what Ansible has printed, with the reason why nothing was played, if so.
    """
    counted: Counter[str] = Counter()
    failed: list[tuple[str, str]] = []
    for event in recorded:
        data = event.get("event_data") or {}
        result = _ENDED.get(str(event.get("event")))
        if result is None:
            continue
        ignored = result == "failed" and data.get("ignore_errors")
        counted["ignored" if ignored else result] += 1
        if result == "failed" and not ignored:
            answer = data.get("res") or {}
            failed.append((str(data.get("task")), str(answer.get("msg", ""))))
    if not counted:
        refused = next((line for line in output.splitlines() if line.startswith("ERROR")), "")
        return Played({}, "" if not refused else "the start", refused)
    return Played(dict(counted), *(failed[-1] if failed else ("", "")))


def has_ended(obj: Json) -> bool:
    """Whether the conditions of an object report the end of a play.

    The CRD of AWX has no ansibleResult and no message in its conditions: only the reason remains.
    """
    conditions = {one["type"]: one for one in (obj.get("status") or {}).get("conditions") or ()}
    if conditions.get("Failure", {}).get("status") == "True":
        return True
    running = conditions.get("Running", {})
    return bool(running.get("ansibleResult")) or running.get("reason") == "Successful"


def conditions(obj: Json) -> dict[str, str]:
    """Return status and message of each condition of the runner."""
    found = (obj.get("status") or {}).get("conditions") or ()
    kept = [one for one in found if one["type"] in {"Running", "Successful", "Failure"}]
    return {one["type"]: f"{one['status']}: {one.get('message', '')}"[:200] for one in kept}


def status(obj: Json) -> Json:
    """Return the status of an object without times; its conditions by type, without an order."""
    found = dict(obj.get("status") or {})
    listed = found.pop("conditions", None) or ()
    return {**found, "conditions": {one["type"]: _without_times(one) for one in listed}}


def _without_times(condition: Json) -> Json:
    kept = {key: value for key, value in condition.items() if key not in {"type", _TIME}}
    if "ansibleResult" in kept:
        result = kept["ansibleResult"]
        kept["ansibleResult"] = {key: result[key] for key in result if key != "completion"}
    return kept
