# SPDX-License-Identifier: Apache-2.0
"""When stages were last green is kept over runs, and never stands in the way of one."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dev.gate import __main__ as gate
from dev.gate import last_seen
from dev.gate.changes import checked_out
from dev.gate.last_seen import LastSeenError, read, record, table
from dev.gate.outcomes import Outcome
from dev.gate.stages import STAGES, Stage

RFC_3339 = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")
COMMIT = "0123456789abcdef0123456789abcdef01234567"
Run = Callable[..., tuple[int, str]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "build" / "last-seen.json"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> Run:
    monkeypatch.setattr(gate, "LOGS", tmp_path)
    monkeypatch.setattr(gate, "ROOT", tmp_path)

    def play(**codes: int) -> tuple[int, str]:
        stages = [
            Stage(name, (sys.executable, "-c", f"raise SystemExit({code})"), 20, 1)
            for name, code in codes.items()
        ]
        return gate.Gate(stages, 60, {}).run(), capsys.readouterr().out

    return play


def test_a_run_keeps_what_became_of_each_stage(run: Run, path: Path) -> None:
    code, said = run(binaries=0, unit=0, api=3)
    seen = read(path)
    assert code == 1
    assert {name: list(results) for name, results in seen.items()} == {
        "binaries": ["green"],
        "unit": ["green"],
        "api": ["red"],
    }
    entry = seen["unit"]["green"]
    assert set(entry) == {"commit", "time", "seconds"}
    assert RFC_3339.fullmatch(entry["time"])
    assert 0 <= entry["seconds"] < 20
    assert f"unit              {entry['time']} at unknown in {entry['seconds']:.0f} s" in said
    assert f"api               never; red {seen['api']['red']['time']} at unknown" in said
    assert " rpc " in said.partition("never seen here: ")[2]


def test_every_stage_is_named_before_what_ran(run: Run) -> None:
    _, said = run(unit=0)
    lines = said.splitlines()
    unit, unseen = lines[
        lines.index("--- last green here") + 1 : lines.index("--- the slowest tests")
    ]
    assert unit.startswith("unit ")
    names = unseen.removeprefix("never seen here: ").split()
    assert names == [one.name for one in STAGES if one.name != "unit"]
    assert lines[-2].startswith("whole run: ")


def test_what_ran_before_is_kept(run: Run, path: Path) -> None:
    run(unit=0)
    before = read(path)["unit"]["green"]
    run(unit=1, rpc=0)
    seen = read(path)
    assert seen["unit"]["green"] == before
    assert set(seen["unit"]) == {"green", "red"}
    assert set(seen) == {"unit", "rpc"}


def test_what_was_not_run_is_not_recorded(run: Run, path: Path) -> None:
    run(binaries=1, api=0)
    assert set(read(path)) == {"binaries"}


def entry(time: str, seconds: float = 4.0, commit: str = COMMIT) -> dict[str, object]:
    return {"commit": commit, "time": time, "seconds": seconds}


GREEN = "unit              2026-01-02T00:00:00Z at 0123456789 in 4 s"


@pytest.mark.parametrize(
    ("results", "line"),
    [
        ({}, "never seen here: unit"),
        (
            {"green": entry("2026-01-02T00:00:00Z")},
            GREEN,
        ),
        (
            {"green": entry("2026-01-02T00:00:00Z", commit=f"{COMMIT}-dirty")},
            "unit              2026-01-02T00:00:00Z at 0123456789-dirty in 4 s",
        ),
        (
            {"green": entry("2026-01-02T00:00:00Z"), "red": entry("2026-01-01T00:00:00Z")},
            GREEN,
        ),
        (
            {"green": entry("2026-01-02T00:00:00Z"), "red": entry("2026-01-03T00:00:00Z")},
            f"{GREEN}; red 2026-01-03T00:00:00Z at 0123456789",
        ),
        (
            {"red": entry("2026-01-03T00:00:00Z")},
            "unit              never; red 2026-01-03T00:00:00Z at 0123456789",
        ),
    ],
)
def test_what_is_said_of_a_stage(results: dict, line: str) -> None:
    assert list(table({"unit": results}, ["unit"])) == [line]


BROKEN = [
    "",
    "{",
    "[]",
    '{"unit": []}',
    '{"unit": {"blue": {}}}',
    '{"unit": {"green": {"commit": "1", "time": "2"}}}',
    '{"unit": {"green": {"commit": "1", "time": 2, "seconds": 3}}}',
    '{"unit": {"green": {"commit": "1", "time": "2", "seconds": "3"}}}',
    "\udcff",
]


@pytest.mark.parametrize("text", BROKEN)
def test_a_broken_file_is_named_and_left_alone(run: Run, path: Path, text: str) -> None:
    path.parent.mkdir()
    content = text.encode(errors="surrogateescape")
    path.write_bytes(content)
    code, said = run(unit=0)
    assert code == 0
    assert len(re.findall(r"last-seen\.json is not kept, since it is broken \(.+\)", said)) == 1
    assert said.endswith("stages: 1 passed, 0 failed\n")
    assert path.read_bytes() == content


def test_a_file_that_cannot_be_written_is_named(run: Run, tmp_path: Path) -> None:
    (tmp_path / "build").write_text("a file where the folder should be")
    code, said = run(unit=0)
    assert code == 0
    assert "last-seen.json" in said


def test_a_write_that_fails_leaves_the_old_file(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(path, Outcome("unit", code=0), COMMIT)
    before = path.read_bytes()

    def full(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(last_seen.Path, "replace", full)
    with pytest.raises(LastSeenError, match="cannot be written: no space left"):
        record(path, Outcome("unit", code=1), COMMIT)
    assert path.read_bytes() == before
    assert [*path.parent.iterdir()] == [path]
    assert set(json.loads(before)["unit"]) == {"green"}


def test_the_commit_tells_of_changes_that_are_not_committed(tmp_path: Path) -> None:
    assert checked_out(tmp_path) == "unknown"
    git = ("git", "-c", "user.name=x", "-c", "user.email=x")
    file = tmp_path / "file"
    file.write_text("1")
    for arguments in (("init", "-q"), ("add", "."), ("commit", "-qm", "one"), ("tag", "v1")):
        subprocess.run([*git, *arguments], cwd=tmp_path, check=True)
    clean = checked_out(tmp_path)
    assert re.fullmatch("[0-9a-f]{40}", clean)
    file.write_text("2")
    assert checked_out(tmp_path) == f"{clean}-dirty"
