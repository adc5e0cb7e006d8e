# SPDX-License-Identifier: Apache-2.0
"""The private data directory: content, modes, rotation, removal."""

import asyncio
import json
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_operator.engine import ExtraVars, PlaybookTarget, RoleTarget, RunRequest, rundir
from ansible_operator.errors import EngineError
from tests.runner.engine.conftest import ROLES, Stage

async_ = pytest.mark.asyncio(loop_scope="session")


def request(tmp_path: Path, **options: object) -> RunRequest:
    playbook = tmp_path / "play.yml"
    playbook.write_text("[]")
    values = {
        "ident": "1",
        "directory": tmp_path / "ns" / "name",
        "target": PlaybookTarget(playbook),
        "extra_vars": ExtraVars({"a": "{{ 1 }}"}),
    }
    return RunRequest(**(values | options))


def test_nothing_is_readable_by_others(tmp_path: Path) -> None:
    wanted = request(tmp_path, command_line="-v", kubeconfig=tmp_path / "kc")
    directory = rundir.prepare(wanted)
    directory.write_extra_vars(wanted.extra_vars)

    for path in [tmp_path / "ns", *(tmp_path / "ns").rglob("*")]:
        if not path.is_symlink():
            assert not stat.S_IMODE(path.stat().st_mode) & 0o077, path
    kubeconfig = str(tmp_path / "kc")
    environment = json.loads((directory.root / "env/envvars").read_text())
    assert environment == {
        "K8S_AUTH_KUBECONFIG": kubeconfig,
        "KUBECONFIG": kubeconfig,
        "TMPDIR": str(directory.temporary),
    }
    assert (directory.root / "env/cmdline").read_text() == "-v"
    assert (directory.root / "artifacts/latest").resolve() == directory.artifacts


def test_the_working_directory_may_hold_the_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with ``--run-directory=.``: a file without a folder in its path stays where it is."""
    monkeypatch.chdir(tmp_path)
    made: list[str] = []
    rename = os.rename
    monkeypatch.setattr(os, "rename", lambda *paths: (made.append(paths[0]), rename(*paths)))
    assert rundir.claim(Path(), "https://here")

    assert (tmp_path / ".cluster").read_text() == "https://here"
    assert [Path(path).is_absolute() for path in made] == [False]


def test_world_readable_leftovers_are_closed(tmp_path: Path) -> None:
    first = rundir.prepare(request(tmp_path))
    first.write_extra_vars(ExtraVars({"a": 1}))
    first.extra_vars.chmod(0o644)
    second = rundir.prepare(request(tmp_path, ident="2"))
    second.write_extra_vars(ExtraVars({"a": 1}))

    assert stat.S_IMODE(second.extra_vars.stat().st_mode) == 0o600
    assert not (second.root / "env/cmdline").exists()


def test_interpreter_is_pinned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, python: str
) -> None:
    hosts = rundir.prepare(request(tmp_path)).inventory / "hosts"
    line = "localhost ansible_connection=local ansible_python_interpreter="
    assert f'{line}"{python}"\n' == hosts.read_text()

    monkeypatch.setenv("VIRTUAL_ENV", "/opt/venv")
    hosts = rundir.prepare(request(tmp_path)).inventory / "hosts"
    assert f'{line}"/opt/venv/bin/python3"\n' == hosts.read_text()


def test_inventory_file_and_directory_replace_the_hosts(tmp_path: Path) -> None:
    file = tmp_path / "inventory.ini"
    file.write_text("elsewhere\n")
    folder = tmp_path / "inventories"
    (folder / "group_vars").mkdir(parents=True)
    (folder / "one").write_text("one\n")
    script = folder / "dynamic.sh"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)

    directory = rundir.prepare(request(tmp_path, inventory=file))
    assert (directory.inventory / "hosts").read_text() == "elsewhere\n"
    directory = rundir.prepare(request(tmp_path, inventory=folder))
    names = {path.name for path in directory.inventory.iterdir()}
    assert {"group_vars", "one", "dynamic.sh"} == names
    assert (directory.inventory / "dynamic.sh").stat().st_mode & 0o100
    directory = rundir.prepare(request(tmp_path))
    assert [path.name for path in directory.inventory.iterdir()] == ["hosts"]


def test_role_names_and_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANSIBLE_ROLES_PATH", "/project/roles")
    of_collection = RoleTarget("acme.tools.greeter", ROLES / "greeter")
    of_folder = RoleTarget("a.b.c", tmp_path / "a.b.c", gather_facts=False)

    assert rundir.role_name(of_collection) == "acme.tools.greeter"
    assert rundir.play_of_role(of_folder) == [
        {"hosts": "localhost", "gather_facts": False, "roles": [{"name": "a.b.c"}]}
    ]
    environment = rundir.run_environment(request(tmp_path, target=of_collection), tmp_path)
    roles_path = f"{ROLES}:/project/roles"
    assert {"ANSIBLE_ROLES_PATH": roles_path, "TMPDIR": str(tmp_path)} == environment


@pytest.mark.parametrize(("keep", "left"), [(1, 1), (2, 2), (20, 5), (0, 5)])
def test_rotation(tmp_path: Path, keep: int, left: int) -> None:
    for number in range(5):
        directory = rundir.prepare(request(tmp_path, ident=str(number)))
        rundir.finish(directory, keep)

    folders = {p.name for p in (directory.root / "artifacts").iterdir() if not p.is_symlink()}
    assert left == len(folders)
    assert "4" in folders
    assert (directory.root / "artifacts/latest").readlink() == Path("4")


def test_a_missing_inventory_is_named(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"No such file or directory: .*nowhere"):
        rundir.prepare(request(tmp_path, inventory=tmp_path / "nowhere"))


def test_a_folder_belongs_to_one_cluster(tmp_path: Path) -> None:
    assert rundir.claim(tmp_path / "new", "https://one")
    assert rundir.claim(tmp_path / "new", "https://one")
    assert not rundir.claim(tmp_path / "new", "https://two")
    (tmp_path / "used" / "group").mkdir(parents=True)
    assert not rundir.claim(tmp_path / "used", "https://one"), "nobody knows whose it is"


def test_only_what_no_run_has_touched_is_old(tmp_path: Path) -> None:
    directory = rundir.prepare(request(tmp_path))
    began = (directory.root / "artifacts").stat().st_mtime
    assert rundir.untouched(tmp_path, 2, began + 1) == [directory.root]
    assert rundir.untouched(tmp_path, 2, began) == []
    assert rundir.untouched(tmp_path, 1, began + 1) == []
    assert rundir.untouched(tmp_path / "nowhere", 2, began) == []


def test_removal(tmp_path: Path) -> None:
    directory = rundir.prepare(request(tmp_path))
    rundir.remove(directory.root)
    rundir.remove(directory.root)
    assert not directory.root.exists()


@pytest.fixture
def temporary(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the operator and its runs make temporary files.

    From ansible-core 2.21 on ansible-playbook makes a socket there, whose path may have no more
    than 107 characters: the folder of a test would be too long.
    """
    with tempfile.TemporaryDirectory() as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        yield Path(folder)


def test_temporary_files_of_a_killed_operator_go_with_the_next_run(
    tmp_path: Path, temporary: Path
) -> None:
    killed = rundir.prepare(request(tmp_path))
    (killed.temporary / "key").write_text("secret")
    following = rundir.prepare(request(tmp_path, ident="2"))
    assert [following.temporary] == list(temporary.iterdir())
    assert stat.S_IMODE(following.temporary.stat().st_mode) == 0o700

    rundir.remove(following.root)
    assert not list(temporary.iterdir())


def content(folder: Path) -> list[Path]:
    return list(folder.iterdir())


_SCRATCH = """
- name: Files
  ansible.builtin.tempfile: {state: file}
  register: made
- name: Programs
  ansible.builtin.shell: {cmd: 'mktemp; stat -c %a "$TMPDIR"'}
- name: Actions
  ansible.builtin.copy: {content: secret, dest: "{{ made.path }}"}
"""


@async_
async def test_nothing_stays_in_the_temporary_folder(stage: Stage, temporary: Path) -> None:
    played = await stage.play(stage.tasks(_SCRATCH))

    results = played.results()
    program, mode = results["Programs"]["stdout_lines"]
    folder = Path(results["Files"]["path"]).parent
    assert (folder, "700") == (Path(program).parent, mode)
    assert not folder.exists()
    assert not content(temporary)


@async_
async def test_nothing_of_a_killed_run_stays(stage: Stage, temporary: Path) -> None:
    path = stage.tasks(f"{_SCRATCH}\n- name: Hang\n  ansible.builtin.command: {{cmd: sleep 60}}")
    reached = asyncio.Event()

    def watch(event: dict[str, Any]) -> None:
        if event["event"] == "runner_on_start" and event["event_data"]["task"] == "Hang":
            reached.set()

    playing = asyncio.create_task(stage.play(path, on_event=watch))
    await asyncio.wait_for(reached.wait(), 60)
    folder = (stage.folder / "run/.temporary").readlink()
    assert content(folder)
    playing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await playing

    assert not folder.exists()
    assert not content(temporary)


def test_unusable_directory(tmp_path: Path) -> None:
    (tmp_path / "ns").write_text("a file")
    with pytest.raises(EngineError, match="cannot prepare run directory"):
        rundir.prepare(request(tmp_path))


@async_
async def test_artifacts_of_a_run(stage: Stage) -> None:
    keep = "- ansible.builtin.set_fact: {found: a secret, cacheable: true}"
    say = "- name: Say\n  ansible.builtin.debug: {msg: hello}"
    played = await stage.play(stage.tasks(f"{keep}\n{say}"))

    assert list((played.artifacts / "fact_cache").iterdir())
    assert (
        (played.artifacts / "rc").read_text(),
        (played.artifacts / "status").read_text(),
    ) == ("0", "successful")
    assert (played.artifacts / "stdout").read_text() == played.result.stdout
    for event in played.events:
        path = played.artifacts / "job_events" / f"{event['counter']}-{event['uuid']}.json"
        assert event == json.loads(path.read_text())
    assert len(list((played.artifacts / "job_events").iterdir())) == len(played.events)
    command = json.loads((played.artifacts / "command").read_text())
    assert command["command"][0].endswith("ansible-playbook")
    assert "PATH" not in command["env"]
    for path in played.directory.rglob("*"):
        if path.is_file() and not path.is_symlink():
            assert not stat.S_IMODE(path.stat().st_mode) & 0o077, path


@async_
@pytest.mark.parametrize("keep", [1, 2])
async def test_few_artifacts_work_run_after_run(stage: Stage, keep: int) -> None:
    path = stage.tasks("- ansible.builtin.debug:")
    for _ in range(3):
        played = await stage.play(path, artifacts_to_keep=keep)
        assert played.result.rc == 0
    folders = [p for p in played.artifacts.parent.iterdir() if not p.is_symlink()]
    assert keep == len(folders)
