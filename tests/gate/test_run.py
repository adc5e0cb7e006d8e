# SPDX-License-Identifier: Apache-2.0
"""A run of stages ends in time, excuses little and says what it did not do."""

import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from dev.gate import __main__ as gate
from dev.gate.outcomes import closing_lines, read_report
from dev.gate.stages import BINARIES, STAGES, Stage, When
from testbed import database

Run = Callable[..., tuple[int, str]]


def passing(name: str, **how: object) -> Stage:
    return Stage(name, (sys.executable, "-c", "print('lint: 1 passed, 0 failed')"), 20, 1, **how)


def failing(name: str, **how: object) -> Stage:
    return Stage(name, (sys.executable, "-c", "raise SystemExit('the fault')"), 20, 1, **how)


LINT = passing("lint", ends_early=True, needs_programs=False)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> Run:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setattr(gate, "LOGS", tmp_path)
    monkeypatch.setattr(gate, "ROOT", tmp_path)

    def play(
        *stages: Stage, budget: float = 60, added_until: float | None = None
    ) -> tuple[int, str]:
        left_out = {"molecule": "nothing touched it"}
        code = gate.Gate(stages, budget, left_out, added_until).run()
        return code, capsys.readouterr().out

    return play


def project(folder: Path, text: str, name: str = "given") -> Stage:
    """A stage of pytest for one file of a project of its own."""
    (folder / "pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider\n")
    (folder / f"test_{name}.py").write_text(text)
    chosen = ("-m", "not node", f"test_{name}.py")
    return Stage(name, chosen, 60, 1, is_tests=True)


def test_all_green(run: Run) -> None:
    code, said = run(passing("lint"), passing("unit"))
    assert code == 0
    assert said.endswith("stages: 2 passed, 0 failed\n")
    assert "molecule     nothing touched it" in said


def test_a_stage_has_its_variables_and_those_of_the_gate(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MATRIXONE", "1.3")
    monkeypatch.setenv("OTHER", "kept")
    read = "import os; print(os.environ['MATRIXONE'], os.environ['OTHER'])"
    command = (sys.executable, "-c", read)
    run(Stage("own", command, 20, 1, variables={"MATRIXONE": "2.0"}), Stage("none", command, 20, 1))
    printed = [(tmp_path / f"{name}.log").read_text().split() for name in ("own", "none")]
    assert printed == [["2.0", "kept"], ["1.3", "kept"]]


def test_every_database_that_can_be_built_runs_in_a_stage() -> None:
    """The default one everywhere else."""
    lines = {stage.variables["MATRIXONE"] for stage in STAGES if "MATRIXONE" in stage.variables}
    assert {*lines, database.DEFAULT} == set(database.BUILT)


def test_a_red_stage_shows_its_log_and_ends_red(run: Run) -> None:
    code, said = run(passing("lint"), failing("api"))
    assert code == 1
    assert "the fault" in said
    assert "red: api" in said


def test_nothing_runs_after_a_red_stage_that_ends_early(run: Run) -> None:
    code, said = run(failing("lint", ends_early=True), passing("unit"), passing("api"))
    assert code == 1
    assert "unit         NOT RUN   lint is red" in said
    assert "api          NOT RUN   lint is red" in said


def test_nothing_runs_without_the_programs_it_needs(run: Run) -> None:
    code, said = run(failing(BINARIES), LINT, passing("api"))
    assert code == 1
    assert "lint         passed" in said
    assert "api          NOT RUN" in said


def test_unit_tests_begin_before_the_programs_are_built_but_not_first(run: Run) -> None:
    unit = passing("unit", ends_early=True)
    _, said = run(failing(BINARIES), LINT, unit)
    assert "unit         passed" in said
    _, said = run(failing(BINARIES), unit)
    assert "unit         NOT RUN   the programs that it needs could not be built" in said


def test_programs_are_said_to_take_as_long_as_they_did(run: Run) -> None:
    """They are built beside stages that take longer."""
    lint = replace(sleeping("lint", 3), ends_early=True, needs_programs=False)
    code, said = run(passing(BINARIES), lint, passing("api"))
    assert code == 0
    seconds = re.search(r"binaries +passed in ([0-9]+) s", said)
    assert seconds is not None
    assert int(seconds.group(1)) < 3


def test_a_stage_is_ended_at_its_limit(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    endless = Stage("api", (sys.executable, "-c", "import time; time.sleep(600)"), 1, 1)
    code, said = run(endless, passing("node"))
    assert code == 1
    assert "ended after its limit of 1 s" in said
    assert "node         passed" in said


def sleeping(name: str, seconds: float, **how: object) -> Stage:
    return Stage(name, (sys.executable, "-c", f"import time; time.sleep({seconds})"), 20, 1, **how)


MEETING = """
import sys, time
from pathlib import Path
own, other = (Path(sys.argv[number]) for number in (1, 2))
own.write_text("")
end = time.monotonic() + 15
while not other.exists():
    assert time.monotonic() < end
    time.sleep(0.01)
"""


CLEANING = """
import sys, time
from pathlib import Path
try:
    time.sleep(60)
except KeyboardInterrupt:
    Path(sys.argv[1]).touch()
"""


def test_what_a_shell_runs_cleans_up_when_its_stage_is_ended(run: Run, tmp_path: Path) -> None:
    """`make e2e` waits for pytest, which has to remove its test beds."""
    cleaned = tmp_path / "cleaned"
    command = ("sh", "-c", '"$@"; exit 1', "sh", sys.executable, "-c", CLEANING, str(cleaned))
    code, said = run(Stage("deployed", command, 2, 1))
    assert code == 1
    assert "ended after its limit of 2 s" in said
    assert cleaned.exists()


def test_a_stage_runs_beside_another(run: Run, tmp_path: Path) -> None:
    one, other = str(tmp_path / "one"), str(tmp_path / "other")
    code, said = run(
        Stage("api", (sys.executable, "-c", MEETING, one, other), 20, 1),
        passing("docs"),
        Stage("database", (sys.executable, "-c", MEETING, other, one), 20, 1, beside="api"),
    )
    assert code == 0
    assert "stages: 3 passed" in said
    assert said.count("test database: passed") == 1


def test_a_stage_runs_alone_without_the_one_it_runs_beside(run: Run) -> None:
    code, said = run(passing("database", beside="api"))
    assert code == 0
    assert "database     passed" in said


def test_what_runs_beside_has_its_own_limit_and_result(run: Run) -> None:
    endless = Stage("database", (sys.executable, "-c", "import time; time.sleep(600)"), 1, 1)
    code, said = run(sleeping("api", 3), replace(endless, beside="api"))
    assert code == 1
    assert "test api: passed" in said
    assert "red: database" in said
    assert "database     FAILED in 1 s  (ended after its limit of 1 s)" in said


def test_what_no_time_is_left_for_is_named_and_red(run: Run) -> None:
    code, said = run(passing("lint"), budget=10)
    assert code == 1
    assert "NOT RUN   no time was left in the budget" in said


def test_an_added_stage_that_does_not_fit_is_named(run: Run) -> None:
    long = Stage("node", ("true",), 3600, 1500, when=When.TOUCHED)
    code, said = run(passing("lint"), long)
    assert code == 0
    assert "node         takes 1500 s" in said


def test_added_stages_leave_the_rest_of_the_budget_alone(run: Run) -> None:
    added = passing("docs", when=When.TOUCHED)
    code, said = run(added, passing("lint"), added_until=0)
    assert code == 0
    assert "docs         takes 1 s, 0 s are left" in said
    assert "lint         passed" in said


FLAKY = """
from pathlib import Path
import pytest
@pytest.mark.parametrize("number", range({count}))
def test_once(number):
    before = Path(f"{{__file__}}-{{number}}")
    seen, _ = before.exists(), before.write_text("")
    assert seen
def test_always():
    pass
"""


@pytest.mark.parametrize(("count", "code"), [(1, 0), (2, 0), (3, 1)])
def test_at_most_two_tests_pass_on_a_second_try(
    run: Run, tmp_path: Path, count: int, code: int
) -> None:
    found, said = run(project(tmp_path, FLAKY.format(count=count)))
    assert found == code
    assert ("passed on a second try" in said) is (code == 0)
    if code == 0:
        assert said.count("  test_given.py::test_once[") >= count


def test_all_tests_of_a_fixture_that_failed_once_are_tried_again(run: Run, tmp_path: Path) -> None:
    text = """
from pathlib import Path
import pytest

@pytest.fixture(scope="module")
def bed():
    before = Path(f"{__file__}-bed")
    seen, _ = before.exists(), before.write_text("")
    if not seen:
        raise OSError("no bed")

@pytest.mark.parametrize("number", range(5))
def test_in(bed, number): ...
"""
    code, said = run(project(tmp_path, text))
    assert code == 0
    assert "5 on a second try" in said


def test_second_tries_count_over_the_whole_run(run: Run, tmp_path: Path) -> None:
    code, said = run(*(project(tmp_path, FLAKY.format(count=2), name) for name in ("a", "b")))
    assert code == 1
    assert "a            passed" in said
    assert "b            FAILED" in said


def test_a_test_that_fails_again_is_red(run: Run, tmp_path: Path) -> None:
    code, said = run(project(tmp_path, "def test_broken():\n    assert False\n"))
    assert code == 1
    assert "1 failed" in said


def test_the_last_lines_tell_what_failed_with_what(run: Run, tmp_path: Path) -> None:
    text = """
import pytest

@pytest.fixture
def bed():
    raise OSError("no room\\nfor a bed")

def test_in(bed): ...
def test_sum():
    assert 1 + 1 == 3, "wrong sum"
def test_well(): ...
"""
    _, said = run(project(tmp_path, text))
    assert re.sub(r"\d+ s", "S", said).splitlines()[-7:] == [
        "--- failed (2):",
        "  test_given.py::test_in",
        '    failed on setup with "OSError: no room for a bed"',
        "  test_given.py::test_sum",
        "    AssertionError: wrong sum assert (1 + 1) == 3",
        "whole run: S; red: given",
        "stages: 0 passed, 1 failed",
    ]


def test_a_second_try_tells_what_the_first_failed_with(run: Run, tmp_path: Path) -> None:
    _, said = run(project(tmp_path, FLAKY.format(count=1)))
    end = said.partition("--- passed on a second try")[2]
    assert "  test_given.py::test_once[0]\n    " in end


def test_a_file_that_cannot_be_collected_is_red(run: Run, tmp_path: Path) -> None:
    code, _ = run(project(tmp_path, "import nothing_of_this_name\n"))
    assert code == 1


def test_the_slowest_tests_are_named(run: Run, tmp_path: Path) -> None:
    text = "import time\ndef test_slow():\n    time.sleep(0.2)\n"
    code, said = run(project(tmp_path, text))
    assert code == 0
    assert "0.2 s  test_given.py::test_slow" in said


def test_a_report_that_is_missing_or_broken_is_empty(tmp_path: Path) -> None:
    broken = tmp_path / "broken.xml"
    broken.write_text("<testsuite")
    assert read_report(tmp_path / "none.xml") == read_report(broken) == []


def test_the_runners_own_closing_lines_are_kept(tmp_path: Path) -> None:
    log = tmp_path / "log"
    kept = [
        "===== 3 passed, 1 failed in 2.00s =====",
        "lint: 9 passed, 0 failed",
        "docs: 28 pages, 0 warnings",
    ]
    log.write_text("\n".join(["noise", *kept, "more 3 passed noise"]))
    assert closing_lines(log) == kept
