# SPDX-License-Identifier: Apache-2.0
"""Points have names that repeat them, are chosen by a seed, and end in a report."""

import json
import random
from pathlib import Path

import pytest

from faults import __main__ as program
from faults import report, running
from faults.points import Fault, Method, Point, chosen


def _method(name: str, count: int, weight: float = 1.0) -> Method:
    def run(point: Point) -> None:
        if point.place == "3":
            raise Fault("three does not hold")
        if point.place == "4":
            raise KeyError(point.place)

    return Method(
        name,
        "for tests",
        lambda kind, _rng: (Point(name, kind, str(number)) for number in range(count)),
        run,
        weight,
    )


def test_the_name_of_a_point_is_the_point() -> None:
    point = Point("fields", "CNSet", "spec.overlay.env.[].name:blank-after")
    assert Point.read(str(point)) == point
    for wrong in ("fields/CNSet", "fields", "fields//x"):
        with pytest.raises(ValueError, match="METHOD/KIND/PLACE"):
            Point.read(wrong)


def test_the_same_seed_chooses_the_same_points_of_all_kinds() -> None:
    methods = [_method("a", 50), _method("b", 50, weight=3.0)]
    first, again = (chosen(methods, ["X", "Y"], 40, 7) for _ in range(2))
    assert first == again
    assert first != chosen(methods, ["X", "Y"], 40, 8)
    assert len(set(first)) == 40
    assert {point.kind for point in first} == {"X", "Y"}
    assert len(chosen(methods, ["X"], 1000, 1)) == 100


def test_a_run_tells_what_does_not_hold_and_how_to_repeat_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    methods = (_method("a", 5),)
    monkeypatch.setattr(program, "METHODS", methods)
    monkeypatch.setattr(running, "METHODS", methods)
    file = tmp_path / "faults.json"
    options = ["--seed", "5", "--kind", "LogSet", "--output", str(file), "--processes", "1"]
    assert program.main(options) == 1
    printed = capsys.readouterr().out
    assert "5 points, seed 5" in printed
    assert "three does not hold" in printed
    assert "make faults POINT='a/LogSet/3'" in printed
    assert "a/LogSet/4 (the harness itself)" in printed
    written = json.loads(file.read_text())
    assert [one["point"] for one in written["failed"]] != []
    assert written["counts"] == [{"kind": "LogSet", "method": "a", "points": 5}]
    assert program.main(["--point", "a/LogSet/1", "--output", str(file)]) == 0


def test_a_point_that_does_not_end_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def forever(_point: Point) -> None:
        while True:
            random.random()  # noqa: S311

    slow = Method("slow", "for tests", lambda _kind, _rng: (), forever)
    monkeypatch.setattr(running, "METHODS", (slow,))
    assert "does not end" in running.run_point(Point("slow", "X", "y"), seconds=1).fault


def test_the_table_counts_by_kind_and_method() -> None:
    points = [Point("a", "X", "1"), Point("a", "X", "2"), Point("b", "Y", "1")]
    lines = report.table(points, ["a", "b"]).splitlines()
    assert [line.split() for line in lines] == [
        ["kind", "a", "b", "all"],
        ["X", "2", "0", "2"],
        ["Y", "0", "1", "1"],
        ["all", "2", "1", "3"],
    ]
