# SPDX-License-Identifier: Apache-2.0
"""What a change adds to the gate: never less than what always runs, and everything where it is unknown."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from dev.gate.changes import added_stages, changed_paths
from dev.gate.stages import STAGES, When
from tests.support.places import ROOT

TOUCHED = {stage.name for stage in STAGES if stage.when is When.TOUCHED}
Git = Callable[..., str]


@pytest.mark.parametrize(
    ("paths", "added"),
    [
        ([], set()),
        (["src/ansible_operator/loop/control.py"], set()),
        (["roles/logset/files/start.sh"], {"molecule", "node"}),
        (["plugins/modules/apply.py"], {"docsite", "release", "sanity"}),
        (["plugins/module_utils/logservice/failover.py"], {"node", "sanity"}),
        (["src/ansible_operator/engine/rundir.py"], {"ansible-core"}),
        (["testbed/api.py"], {"testbed"}),
        (["testbed/object_store.py"], {"backup", "testbed"}),
        (["plugins/module_utils/backup/program/restoring.py"], {"backup", "sanity"}),
        (["plugins/module_utils/clients/objectstore/s3.py"], {"backup", "sanity"}),
        (["tests/backup/test_chains.py"], set()),
        (["a-new-folder/file"], TOUCHED),
        (["tests/api/test_toml.py", "Makefile"], TOUCHED),
    ],
)
def test_what_a_change_adds(paths: list[str], added: set[str]) -> None:
    assert set(added_stages(STAGES, paths)) == added


def test_an_unknown_change_adds_everything() -> None:
    assert set(added_stages(STAGES, None)) == TOUCHED


def test_nothing_that_always_runs_names_paths_it_could_be_left_out_by() -> None:
    always = [stage for stage in STAGES if stage.when is When.ALWAYS]
    assert {"lint", "unit", "rpc", "api", "database"} <= {stage.name for stage in always}
    assert [stage.name for stage in always if stage.protects] == []


@pytest.mark.parametrize("name", ["api", "rpc"])
def test_what_a_stage_leaves_out_runs_somewhere(name: str) -> None:
    """A folder or file that a stage of tests leaves out exists, and has a stage of its own."""
    leaving = next(stage for stage in STAGES if stage.name == name)
    option = "--ignore="
    ignored = {one.removeprefix(option) for one in leaving.command if one.startswith(option)}
    alone = {argument for stage in STAGES if stage is not leaving for argument in stage.command}
    assert ignored
    assert ignored <= alone
    assert [path for path in ignored if not (ROOT / path).exists()] == []


def test_what_the_backups_need_adds_them() -> None:
    """What their stage protects exists: a file that moves would silently leave it out."""
    backup = next(stage for stage in STAGES if stage.name == "backup")
    found = [prefix for prefix in backup.protects if [*ROOT.glob(f"{prefix}*")]]
    assert found == list(backup.protects)


@pytest.fixture
def git(tmp_path: Path) -> Git:
    """A repository with two commits, a day apart."""

    def run(*arguments: str, date: str = "2026-01-02T12:00:00Z", folder: str = "repo") -> str:
        names = {
            f"GIT_{who}_{what}": "x"
            for who in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        }
        dates = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
        done = subprocess.run(
            ["git", *arguments],
            cwd=tmp_path / folder,
            env={**names, **dates, "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    (tmp_path / "repo").mkdir()
    run("init", "-q", "-b", "main")
    for name, date in (("old", "2026-01-01T12:00:00Z"), ("new", "2026-01-02T12:00:00Z")):
        (tmp_path / "repo" / name).write_text(name)
        run("add", name)
        run("commit", "-qm", name, date=date)
    return run


def test_recent_commits_count_where_nothing_is_ahead_of_upstream(git: Git, tmp_path: Path) -> None:
    assert changed_paths(tmp_path / "repo") == ["new"]


def test_what_is_not_committed_counts(git: Git, tmp_path: Path) -> None:
    (tmp_path / "repo" / "draft").write_text("")
    assert changed_paths(tmp_path / "repo") == ["draft", "new"]


def test_a_branch_is_compared_with_where_it_left_upstream(git: Git, tmp_path: Path) -> None:
    git("clone", "-q", str(tmp_path / "repo"), "clone", folder=".")
    (tmp_path / "clone" / "ahead").write_text("")
    git("add", "ahead", folder="clone")
    git("commit", "-qm", "ahead", folder="clone")
    assert changed_paths(tmp_path / "clone") == ["ahead"]


def test_the_base_may_be_given(git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GATE_BASE", "HEAD")
    assert changed_paths(tmp_path / "repo") == []


def test_without_history_the_change_is_unknown(tmp_path: Path) -> None:
    assert changed_paths(tmp_path) is None
