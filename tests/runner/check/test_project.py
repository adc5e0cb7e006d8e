# SPDX-License-Identifier: Apache-2.0
"""A whole project: each rule at its file and line, exit codes, both outputs."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from ansible_operator.check.checking import check_project
from ansible_operator.check.findings import Severity
from ansible_operator.cli import main

ENTRY = """---
- version: v1
  group: example.com
  kind: Thing
  role: /opt/ansible/roles/thing
  markUnsafe: true
"""


class Place:
    """An operator's project in a folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.write("watches.yaml", ENTRY)
        self.write("requirements.yml", "collections:\n  - kubernetes.core\n  - name: acme.tools\n")
        self.write("roles/thing/defaults/main.yml", "size: 3\nactive: true\n")
        self.tasks("- ansible.builtin.debug: {msg: hello}\n")

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def tasks(self, text: str) -> None:
        self.write("roles/thing/tasks/main.yml", f"---\n{text}")

    def found(self, core: str = "2.18") -> list[tuple[str, int, str, str]]:
        """Path, line, severity and code of everything that is found."""
        findings = check_project(self.root, core, environ={})
        return [(one.path, one.line, str(one.severity), one.code) for one in findings]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return Place(tmp_path / "project")


TASKS = "roles/thing/tasks/main.yml"


def test_a_project_in_order_has_no_findings(place: Place) -> None:
    assert place.found("2.20") == []


@pytest.mark.parametrize(
    ("tasks", "line", "severity", "code"),
    [
        ("- name: a\n  include: x.yml\n", 3, "error", "module-removed"),
        ("- no_such_module: {}\n", 2, "error", "module-unknown"),
        ("- community.general.ini_file: {path: a}\n", 2, "error", "collection-missing"),
        ("- block:\n    - ini_file: {path: a}\n", 3, "error", "collection-missing"),
        ("- debug:\n    msg: \"{{ x | json_query('a') }}\"\n", 3, "error", "collection-missing"),
        ("- debug:\n    msg: \"{{ lookup('a.b.c', 1) }}\"\n", 3, "error", "collection-missing"),
        ("- include_role: {name: nowhere}\n", 2, "error", "role-missing"),
        ("- include_role: {name: a.b.c}\n", 2, "error", "collection-missing"),
        ("- uri: {url: 'http://localhost:8888/api'}\n", 2, "error", "proxy-token"),
        ("- debug: {msg: a}\n  when: a is\n", 3, "error", "conditional-syntax"),
        ("- k8s: {host: 'https://a', definition: {}}\n", 2, "note", "proxy-bypassed"),
        ("- debug: {msg: a}\n  become: true\n", 3, "note", "slow-path"),
        ("- acme.tools.requeue_after: {time: 1s}\n", 2, "note", "requeue-after"),
        ("- debug: {msg: [}\n", 2, "error", "yaml"),
    ],
)
def test_what_is_found_in_a_task(
    place: Place, tasks: str, line: int, severity: str, code: str
) -> None:
    place.tasks(tasks)
    assert place.found() == [(TASKS, line, severity, code)]


@pytest.mark.parametrize(
    ("conditional", "newer"),
    [
        ("when: size", "error"),
        ("when: [active, users | length]", "error"),
        ("when: '{{ users | length }}'", "error"),
        ("failed_when: users", "warning"),
        ("until: result.users", "warning"),
        ("when: active and users | length > 0", ""),
        ("when: false", ""),
    ],
)
def test_conditionals_matter_from_the_release_on_that_insists(
    place: Place, conditional: str, newer: str
) -> None:
    place.tasks(f"- debug: {{msg: a}}\n  {conditional}\n")
    assert [item[:3] for item in place.found("2.18")] == [(TASKS, 3, "note")] * bool(newer)
    assert [item[:3] for item in place.found("2.19")] == [(TASKS, 3, newer)] * bool(newer)


def test_assertions_are_conditionals(place: Place) -> None:
    place.tasks("- assert:\n    that:\n      - size == 3\n      - users | length\n")
    assert place.found("2.19") == [(TASKS, 5, "error", "conditional-not-boolean")]


def test_own_modules_and_those_of_listed_collections_have_short_names(place: Place) -> None:
    place.write("roles/thing/library/mine.py", "")
    place.write("roles/thing/meta/main.yml", "collections: [acme.tools]\n")
    place.tasks("- mine: {}\n- theirs: {}\n- k8s_info: {kind: Pod}\n")
    assert place.found() == []


def test_templates_and_playbooks_are_read_too(place: Place) -> None:
    place.write("roles/thing/templates/a.j2", "x\n{{ y | json_query('z') }}\n")
    place.write("playbooks/a.yml", "- hosts: web\n  strategy: free\n  tasks:\n    - nowhere: {}\n")
    assert place.found() == [
        ("playbooks/a.yml", 1, "note", "hosts"),
        ("playbooks/a.yml", 2, "note", "slow-path"),
        ("playbooks/a.yml", 4, "error", "module-unknown"),
        ("roles/thing/templates/a.j2", 2, "error", "collection-missing"),
    ]


@pytest.mark.parametrize(
    ("watches", "expected"),
    [
        (ENTRY.replace("  markUnsafe: true\n", ""), (2, "note", "mark-unsafe")),
        (f"{ENTRY}  colour: red\n", (7, "warning", "watch-key")),
        (ENTRY.replace("thing", "nothing"), (5, "error", "watches")),
        (f"{ENTRY}  maxRunnerArtifacts: many\n", (4, "error", "watches")),
        ("- a: [\n", (2, "error", "yaml")),
    ],
)
def test_what_is_found_in_watches(
    place: Place, watches: str, expected: tuple[int, str, str]
) -> None:
    place.write("watches.yaml", watches)
    assert place.found() == [("watches.yaml", *expected)]


@pytest.mark.parametrize(
    ("isolation", "severity"), [("", "note"), ("  isolation: shared\n", "error")]
)
def test_state_of_plugins_is_an_error_where_runs_share_a_process(
    place: Place, isolation: str, severity: str
) -> None:
    place.write("watches.yaml", ENTRY + isolation)
    place.write("roles/thing/filter_plugins/a.py", "SEEN = []\ndef f(x):\n    SEEN.append(x)\n")
    assert place.found() == [("roles/thing/filter_plugins/a.py", 3, severity, "plugin-state")]


def test_exit_codes_and_outputs(place: Place, tmp_path: Path) -> None:
    runner, folder = CliRunner(), str(place.root)
    place.tasks("- debug: {msg: a}\n  when: size\n")
    older = runner.invoke(main, ["check", folder, "--ansible-core", "2.18"])
    assert older.exit_code == 0
    assert older.output.endswith("0 errors, 0 warnings, 1 note; checked for ansible-core 2.18\n")

    newer = runner.invoke(main, ["check", folder, "--ansible-core", "2.19", "--output", "json"])
    assert newer.exit_code == 1
    document = json.loads(newer.output)
    assert document["ansibleCore"] == "2.19"
    (finding,) = document["findings"]
    assert (finding["path"], finding["line"]) == (TASKS, 3)
    assert (finding["severity"], finding["since"]) == (Severity.ERROR, "2.19")

    (tmp_path / "empty").mkdir()
    assert runner.invoke(main, ["check", str(tmp_path / "empty")]).exit_code == 2
    assert runner.invoke(main, ["check", folder, "--ansible-core", "new"]).exit_code == 2


def test_what_tasks_and_plays_assign_is_known(place: Place) -> None:
    """Facts that are booleans everywhere are none of the user's worries, nor is `changed`."""
    place.tasks(
        "- ansible.builtin.set_fact: {ready: true, users: '{{ found.resources }}'}\n"
        "- block:\n"
        "    - ansible.builtin.command: {cmd: 'true'}\n"
        "      register: done\n"
        "- {ansible.builtin.debug: {msg: a}, when: ready | default(false)}\n"
        "- {ansible.builtin.debug: {msg: b}, when: done.changed}\n"
        "- {ansible.builtin.debug: {msg: c}, when: forced}\n"
        "- {ansible.builtin.debug: {msg: d}, vars: {own: '{{ size > 2 }}'}, when: own}\n"
        "- {ansible.builtin.debug: {msg: e}, when: users}\n"
    )
    place.write("roles/thing/vars/main.yml", "forced: false\n")
    place.write("roles/broken/tasks/main.yml", "- set_fact: {ready: [\n")

    assert [found for found in place.found("2.19") if found[0] == TASKS] == [
        (TASKS, 10, "warning", "conditional-maybe-not-boolean")
    ]
