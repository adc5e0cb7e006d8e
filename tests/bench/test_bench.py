# SPDX-License-Identifier: Apache-2.0
"""The benchmark runs and tells something; how fast anything is, is no test's business."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

import testbed
from bench import cost, report
from bench.peers import GO, peers
from tests.support.places import ROOT


@pytest.mark.api
def test_two_objects(tmp_path: Path) -> None:
    output = tmp_path / "out.json"
    before = testbed.names()
    result = subprocess.run(
        [
            *(sys.executable, "-m", "bench", "--scenarios=burst", "--sizes=2", "--peers=ours"),
            *("--seconds=60", f"--output={output}"),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    content = json.loads(output.read_text())
    (row,) = content["results"]
    assert (row["scenario"], row["size"], row["peer"], row["problem"]) == ("burst", 2, "ours", "")
    assert set(row["measures"]) <= set(report.COLUMNS)
    assert all(value > 0 for value in row["measures"].values())
    assert row["measures"]["runs_per_object"] >= 1
    assert "burst 2" in result.stdout
    assert [name for name in testbed.names() if name.startswith("bench-")] == [
        name for name in before if name.startswith("bench-")
    ]


@pytest.mark.rpc
def test_tasks_of_backups_are_measured() -> None:
    result = subprocess.run(
        [sys.executable, "-m", "bench.backups", "--mebibytes=1", "--rounds=1"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    size, _head, *lines = result.stdout.splitlines()
    assert size.startswith("17 files, 134 MB")
    assert [line.split()[0] for line in lines] == ["verify", "restore:"] * 2 + ["restore:"] * 2 + [
        "delete"
    ]
    assert all("MB/s" in line and "MiB" in line for line in lines)


def test_an_unknown_scenario_is_refused() -> None:
    result = subprocess.run(
        [sys.executable, "-m", "bench", "--scenarios=nothing"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode != 0
    assert "choose from one, burst, resync, start, storm" in result.stderr


def test_the_go_runner_takes_part_when_it_is_named(tmp_path: Path) -> None:
    def missing(environment: dict[str, str]) -> str:
        return next(peer for peer in peers(environment) if peer.name == "go").missing()

    assert GO in missing({})
    assert "cannot be executed" in missing({GO: str(tmp_path / "nothing")})
    assert missing({GO: sys.executable}) == ""


def test_cpu_time_of_ended_children_is_counted() -> None:
    """Also of grandchildren whose parent did not wait for them."""
    burn = "import time\nwhile time.process_time() < 0.6: pass"
    orphan = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {burn!r}])"
    reaper = ROOT / "bench" / "reaper.py"
    run = f"subprocess.run([sys.executable, '-c', {orphan!r}])"
    inner = f"import subprocess, sys, time; {run}; time.sleep(30)"
    process = subprocess.Popen([sys.executable, "-I", "-S", reaper, sys.executable, "-c", inner])
    try:
        deadline = time.monotonic() + 20
        while cost.cpu_seconds(process.pid) < 0.6 or len(cost.tree(process.pid)) > 2:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert cost.memory_mebibytes(process.pid) > 1
    finally:
        process.terminate()
        process.wait(10)


def test_ratios() -> None:
    def row(peer: str, **measures: float) -> report.Result:
        return {"scenario": "burst", "size": 2, "peer": peer, "measures": measures, "problem": ""}

    results = [row("ours", all_s=2.0, p50_s=1.0), row("go", all_s=20.0)]
    found = report.ratios(results)
    assert found == [{"scenario": "burst 2", "of": "go", "to": "ours", "all_s": 10.0}]
    assert "go" in report.table(results)
    assert "10" in report.ratio_lines(found)
