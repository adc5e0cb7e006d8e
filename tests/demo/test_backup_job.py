# SPDX-License-Identifier: Apache-2.0
"""The demo follows its BackupJob to an end, and repeats one that has failed."""

import json
from typing import Any

import pytest

from demo import backup_job, backups, operator_process
from demo.clusters import ClusterError

COMPLETED = {"phase": "Completed", "step": "Record", "size": "2Mi", "backup": "mo-full-1"}
RUNNING = {"phase": "Running", "step": "Backup"}
FAILED = {"phase": "Failed", "message": "the bucket is missing"}
NO_STATUS: dict[str, Any] = {}


class Recorder:
    """A cluster that answers with one status of the job after the other, and keeps the last."""

    launcher = None

    def __init__(self, *statuses: dict[str, Any] | None) -> None:
        self.statuses = list(statuses)
        self.verbs: list[str] = []

    def kubectl(self, *args: str, input: str | None = None) -> str:  # noqa: A002
        assert args[:2] == ("-n", "default")
        verb = args[2]
        if verb != "get":
            self.verbs.append(verb)
            if verb == "apply":
                assert json.loads(input or "")["metadata"]["name"] == backups.JOB
            return ""
        status = self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]
        return "" if status is None else json.dumps({"status": status})


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backup_job, "_POLL_SECONDS", 0.001)
    monkeypatch.setattr(operator_process, "require_running", lambda _: None)


@pytest.mark.parametrize(
    ("statuses", "verbs", "lines"),
    [
        (
            (None, NO_STATUS, RUNNING, RUNNING, COMPLETED),
            ["apply"],
            ["backup: Running Backup", "backup: Completed Record 2Mi"],
        ),
        ((COMPLETED,), ["apply"], ["backup: Completed Record 2Mi"]),
        (
            (FAILED, RUNNING, COMPLETED),
            ["delete", "apply"],
            ["backup: Running Backup", "backup: Completed Record 2Mi"],
        ),
    ],
)
def test_a_job_is_followed_to_its_backup(
    statuses: tuple[dict[str, Any] | None, ...], verbs: list[str], lines: list[str]
) -> None:
    cluster, printed = Recorder(*statuses), list[str]()
    assert backup_job.completed(cluster, printed.append, None) == "mo-full-1"  # type: ignore[arg-type]
    assert cluster.verbs == verbs
    assert printed == lines


def test_a_failed_job_is_an_error_with_its_reason() -> None:
    cluster = Recorder(None, RUNNING, FAILED)
    with pytest.raises(ClusterError, match="the backup failed: the bucket is missing; `make demo`"):
        backup_job.completed(cluster, lambda _: None, None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("status", "seen"),
    [(RUNNING, "backup: Running Backup"), (NO_STATUS, "no status")],
)
def test_a_job_without_end_is_an_error_in_time(
    status: dict[str, Any], seen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backup_job, "_SECONDS", 0.05)
    with pytest.raises(ClusterError, match=f"has not ended after 0 s, last seen: {seen}; see `kub"):
        backup_job.completed(Recorder(status), lambda _: None, None)  # type: ignore[arg-type]


def test_an_operator_that_has_ended_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def ended(_: Any) -> None:
        raise operator_process.OperatorError("the operator has ended: …")

    monkeypatch.setattr(operator_process, "require_running", ended)
    with pytest.raises(operator_process.OperatorError):
        backup_job.completed(Recorder(RUNNING), lambda _: None, None)  # type: ignore[arg-type]
