# SPDX-License-Identifier: Apache-2.0
"""Collections of a project: its own archives, and an answer to commands in containers."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from compat.collections import CollectionError, provide
from tests.support.places import PROGRAMS


def executed(collections: Path, command: str) -> str:
    """What a play gets from a command in a container."""
    arguments = json.dumps({"namespace": "a", "pod": "b", "command": command})
    done = subprocess.run(
        [PROGRAMS / "ansible", "localhost", "-m", "kubernetes.core.k8s_exec", "-a", arguments],
        env={**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(collections)},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return str(json.loads(done.stdout[done.stdout.index("{") :])["stdout"])


def test_commands_are_answered_as_the_recipe_says(tmp_path: Path) -> None:
    answers = {r"version\(": "1.0 'x' {y}", "cat .*VERSION": "15"}
    collections = provide(tmp_path, tmp_path / "collections", answers)

    assert executed(collections, "psql -c 'CREATE DATABASE a'") == ""
    assert executed(collections, "print(version())") == "1.0 'x' {y}"
    assert executed(collections, "cat /data/PG_VERSION") == "15"


def test_given_collections_win_and_stay_as_they_are(tmp_path: Path) -> None:
    given, project = tmp_path / "given", tmp_path / "project"
    module = given / "ansible_collections/kubernetes/core/plugins/modules/k8s_exec.py"
    module.parent.mkdir(parents=True)
    module.write_text("theirs")
    (project / "vendor").mkdir(parents=True)
    (project / "vendor" / "bad.tar.gz").write_bytes(b"no archive")

    collections = provide(project, tmp_path / "collections", {}, given)
    copied = collections / module.relative_to(given)
    assert (module.read_text(), "ANSWERS" in copied.read_text()) == ("theirs", True)


def test_an_archive_that_is_none_is_named(tmp_path: Path) -> None:
    (tmp_path / "vendor").mkdir()
    (tmp_path / "vendor" / "bad.tar.gz").write_bytes(b"no archive")
    with pytest.raises(CollectionError, match="collections of"):
        provide(tmp_path, tmp_path / "collections", {})
