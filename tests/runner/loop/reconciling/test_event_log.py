# SPDX-License-Identifier: Apache-2.0
"""What a run prints while it goes on, and after it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog.testing

from ansible_operator.logs import LogSettings, configure, get_logger
from ansible_operator.loop.reconciling.event_log import EventLog
from ansible_operator.loop.settings import EventLogLevel

KEYS = {"name": "n", "namespace": "ns", "gvk": "g/v1, Kind=K", "job": "7"}


class Printed:
    """An event log, its lines and its blocks."""

    def __init__(self, level: EventLogLevel, *, raw: bool = False) -> None:
        self.blocks: list[str] = []
        self.log = EventLog(level=level, raw=raw, write=self.blocks.append, **KEYS)

    def take(self, kind: str, stdout: str = "out", **data: Any) -> list[Any]:
        with structlog.testing.capture_logs() as lines:
            self.log.take({"event": kind, "stdout": stdout, "event_data": data})
        return [
            {key: value for key, value in line.items() if key not in {"source", "log_level"}}
            for line in lines
        ]


def line(kind: str, message: str, **more: Any) -> dict[str, Any]:
    return {**KEYS, "event_type": kind, "event": message, **more}


TITLE = f"\n{'-' * 27} Ansible Task StdOut {'-' * 31}\n"


def test_the_start_of_a_task() -> None:
    printed = Printed(EventLogLevel.TASKS)
    kind = "playbook_on_task_start"
    assert printed.take(kind, task_action="k8s", name="Apply", task="Apply") == [
        line(kind, "[playbook task start]", **{"EventData.Name": "Apply"})
    ]
    assert printed.blocks == [f"{TITLE}out\n{'-' * 79}"]


@pytest.mark.parametrize("action", ["debug", "set_fact", "ansible.builtin.debug"])
def test_debug_and_set_fact_start_in_silence_whatever_they_are_called(action: str) -> None:
    printed = Printed(EventLogLevel.TASKS)
    assert printed.take("playbook_on_task_start", task_action=action) == []
    assert printed.blocks == []


@pytest.mark.parametrize("action", ["debug", "ansible.builtin.debug"])
def test_a_debug_task_shows_its_result(action: str) -> None:
    printed = Printed(EventLogLevel.TASKS)
    found = printed.take("runner_on_ok", task_action=action, task="Show", task_args="msg=x")
    arguments = {"EventData.TaskArgs": "msg=x"}
    assert found == [line("runner_on_ok", "[playbook debug]", **arguments)]
    assert printed.blocks == [f"{TITLE} TASK [Show] {'*' * 32} \nout\n{'-' * 79}"]


def test_a_failure_is_an_error_with_its_place() -> None:
    printed = Printed(EventLogLevel.TASKS)
    found = printed.take("runner_on_failed", task="Apply", task_args="", task_path="/r/main.yml:3")
    assert found == [
        line(
            "runner_on_failed",
            "[playbook task failed]",
            **{
                "EventData.Task": "Apply",
                "EventData.TaskArgs": "",
                "EventData.FailedTaskPath": "/r/main.yml:3",
            },
        )
    ]
    assert len(printed.blocks) == 1


def test_items_print_blocks_only_and_other_events_nothing() -> None:
    printed = Printed(EventLogLevel.TASKS)
    assert printed.take("runner_item_on_ok", task="Loop") == []
    assert len(printed.blocks) == 1
    assert printed.take("runner_on_ok", task_action="k8s") == []
    assert printed.take("runner_item_on_ok", stdout="") == []
    assert len(printed.blocks) == 1


def test_raw_output() -> None:
    printed = Printed(EventLogLevel.TASKS, raw=True)
    assert printed.take("runner_on_ok", stdout="plain", task="x") == []
    assert printed.take("playbook_on_stats", stdout="recap") == []
    assert printed.blocks == ["plain"]


def test_nothing_and_everything() -> None:
    silent = Printed(EventLogLevel.NOTHING)
    assert silent.take("runner_on_failed", task="x") == []
    silent.log.recap("RECAP")
    assert silent.blocks == []
    loud = Printed(EventLogLevel.EVERYTHING)
    assert loud.take("runner_on_start", task="x") == [
        line("runner_on_start", "", EventData={"task": "x"})
    ]


def test_the_recap() -> None:
    printed = Printed(EventLogLevel.TASKS)
    printed.log.recap("PLAY RECAP\nlocalhost")
    title = f"{'Ansible Task Status Event StdOut (g/v1, Kind=K, n/ns)':>70}"
    assert printed.blocks == [f"----- {title} -----\n\nPLAY RECAP\nlocalhost\n\n----------"]
    printed.log.debug("all of it")
    assert "Ansible Debug Result (g/v1, Kind=K, n/ns)" in printed.blocks[1]


@pytest.fixture
def fresh() -> Iterator[None]:
    yield
    structlog.reset_defaults()


def written(capsys: pytest.CaptureFixture[str], settings: LogSettings) -> str:
    configure(settings)
    logger = get_logger("cmd")
    logger.debug("hidden")
    logger.info("Watching resource", **{"Options.Kind": "K"})
    return capsys.readouterr().err


def test_log_lines_are_json_with_the_known_keys(
    capsys: pytest.CaptureFixture[str], fresh: None
) -> None:
    (text,) = written(capsys, LogSettings()).splitlines()
    entry = json.loads(text)
    assert list(entry) == ["level", "ts", "logger", "msg", "Options.Kind"]
    assert (entry["level"], entry["logger"], entry["msg"]) == ("info", "cmd", "Watching resource")
    assert entry["ts"][10] == "T"
    assert entry["ts"][-1] == "Z"
    assert '"logger":"cmd","msg":"Watching resource"' in text, "scripts search for whole fragments"


@pytest.mark.parametrize(("level", "expected"), [(None, False), (20, True), (40, False)])
def test_lines_of_a_level_have_a_stack_trace(
    capsys: pytest.CaptureFixture[str], fresh: None, level: int | None, expected: bool
) -> None:
    entry = json.loads(written(capsys, LogSettings(stacktrace=level)))
    assert ("stacktrace" in entry) is expected
    if expected:
        last = entry["stacktrace"].splitlines()[-2]
        assert Path(__file__).name in last, "the frames of the logging library are left out"


@pytest.mark.parametrize("name", ["epoch", "millis", "nano", "iso8601", "rfc3339", "rfc3339nano"])
def test_every_form_of_time_can_be_printed(
    capsys: pytest.CaptureFixture[str], fresh: None, name: str
) -> None:
    entry = json.loads(written(capsys, LogSettings(time=name)))
    assert entry["ts"]


def test_text_for_people(capsys: pytest.CaptureFixture[str], fresh: None) -> None:
    text = written(capsys, LogSettings(level=10, encoding="console"))
    assert "INFO\tcmd\tWatching resource\tOptions.Kind='K'" in text
    assert "hidden" in text
