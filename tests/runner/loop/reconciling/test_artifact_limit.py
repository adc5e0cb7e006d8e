# SPDX-License-Identifier: Apache-2.0
"""Artifacts of all objects together: the newest stay, runs under way are left alone."""

import os
from pathlib import Path

import pytest

from ansible_operator.engine.artifact_folders import remove_oldest
from ansible_operator.loop.reconciling.artifact_limit import ArtifactLimit
from ansible_operator.loop.settings import RunSettings

HERE = "https://here"


def run(root: Path, place: str, ident: int, *, ended: bool = True, age: int = 0) -> Path:
    """The artifacts of a run; the higher its number, the later it was."""
    folder = root / place / "artifacts" / str(ident)
    (folder / "job_events").mkdir(parents=True)
    (root / place / "env").mkdir(exist_ok=True)
    (root / place / "env" / "envvars").write_text("{}")
    if ended:
        (folder / "rc").write_text("0")
    when = folder.stat().st_mtime - age
    os.utime(folder, (when, when + ident / 1000))
    return folder


def left(root: Path) -> set[int]:
    return {int(path.name) for path in root.glob("**/artifacts/*") if path.name.isdigit()}


def test_the_oldest_of_all_objects_are_removed(tmp_path: Path) -> None:
    for number in range(10):
        run(tmp_path, ("g/v1/K/ns/a", "g/v1/K/ns/b", "g/v1/Cluster/c")[number % 3], number)
    assert remove_oldest(tmp_path, 4) == 6
    assert left(tmp_path) == {6, 7, 8, 9}
    assert remove_oldest(tmp_path, 4) == 0


@pytest.mark.parametrize("name", ["artifacts", "env", "project"])
def test_an_object_may_be_called_like_a_folder_of_its_own(tmp_path: Path, name: str) -> None:
    for number in range(4):
        run(tmp_path, f"g/v1/K/ns/{name}", number, age=100_000)
        run(tmp_path, f"g/v1/K/{name}/artifacts", 10 + number, age=100_000)
        run(tmp_path, f"v1/Cluster/{name}", 20 + number, age=100_000)
    assert remove_oldest(tmp_path, 3) == 9
    assert len(left(tmp_path)) == 3
    for place in (f"g/v1/K/ns/{name}", f"g/v1/K/{name}/artifacts", f"v1/Cluster/{name}"):
        assert (tmp_path / place / "env" / "envvars").exists()


def test_runs_under_way_stay_until_they_must_be_dead(tmp_path: Path) -> None:
    run(tmp_path, "g/v1/K/ns/a", 1, ended=False)
    run(tmp_path, "g/v1/K/ns/a", 2, ended=False, age=100_000)
    run(tmp_path, "g/v1/K/ns/b", 3)
    assert remove_oldest(tmp_path, 1) == 1
    assert left(tmp_path) == {1, 3}


def test_nothing_outside_of_artifacts_is_touched(tmp_path: Path) -> None:
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    run(outside, "x", 1)
    folder = run(tmp_path, "g/v1/K/ns/a", 2)
    (folder.parent / "latest").symlink_to(outside / "x/artifacts/1")
    (tmp_path / "g" / "link").symlink_to(outside)
    assert remove_oldest(tmp_path, 0) == 1
    assert left(outside) == {1}


def test_no_root_is_no_error(tmp_path: Path) -> None:
    assert remove_oldest(tmp_path / "nowhere", 1) == 0


@pytest.mark.parametrize("most", [1, 5, 20, 100])
async def test_there_are_never_more_than_the_limit(tmp_path: Path, most: int) -> None:
    settings = RunSettings(run_root=tmp_path, cluster=HERE, total_artifacts=most)
    for number in range(150):  # of an earlier process
        run(tmp_path, f"g/v1/K/ns/{number % 7}", number)
    (tmp_path / ".cluster").write_text(HERE)
    limit = ArtifactLimit(settings)
    for number in range(150, 400):
        run(tmp_path, f"g/v1/K/ns/{number % 7}", number)
        limit.count_run()
        await limit.wait()
        assert len(left(tmp_path)) <= most + 1
    assert 399 in left(tmp_path)


async def test_the_folder_of_another_cluster_is_left_alone(tmp_path: Path) -> None:
    run(tmp_path, "g/v1/K/ns/a", 1)
    run(tmp_path, "g/v1/K/ns/a", 2)
    (tmp_path / ".cluster").write_text("https://there")
    limit = ArtifactLimit(RunSettings(run_root=tmp_path, cluster=HERE, total_artifacts=1))
    limit.count_run()
    await limit.wait()
    assert left(tmp_path) == {1, 2}
