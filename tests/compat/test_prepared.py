# SPDX-License-Identifier: Apache-2.0
"""The copy of a project that is played."""

import sys
from pathlib import Path

from compat.running import prepared


def test_tasks_that_name_the_python_of_the_image_find_one(tmp_path: Path) -> None:
    project = tmp_path / "operator"
    tasks = project / "roles" / "app" / "tasks" / "main.yml"
    tasks.parent.mkdir(parents=True)
    tasks.write_text("- shell: x\n  args:\n    executable: /usr/local/bin/python3\n")
    (project / ".git").mkdir()

    copy = prepared(project, tmp_path)

    said = (copy / "roles" / "app" / "tasks" / "main.yml").read_text()
    assert said == f"- shell: x\n  args:\n    executable: {sys.executable}\n"
    assert "/usr/local" in tasks.read_text()
    assert not (copy / ".git").exists()


def test_playbooks_that_name_the_folder_of_the_image_find_it(tmp_path: Path) -> None:
    project = tmp_path / "operator"
    (project / "playbooks").mkdir(parents=True)
    book = project / "playbooks" / "app.yaml"
    book.write_text("- include_vars: /opt/ansible/roles/app/defaults/main.yml\n")

    copy = prepared(project, tmp_path)

    said = (copy / "playbooks" / "app.yaml").read_text()
    assert said == f"- include_vars: {copy}/roles/app/defaults/main.yml\n"
