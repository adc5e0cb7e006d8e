# SPDX-License-Identifier: Apache-2.0
"""A whole project: each rule at its file and line, exit codes, both outputs."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from ansible_operator.check.checking import check_project
from ansible_operator.check.findings import Severity
from ansible_operator.cli import main
from tests.support.places import ROOT

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
    assert place.found("2.21") == []


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
        (f"{ENTRY}  maxRunnerArtifacts: many\n", (7, "error", "watches")),
        (f"{ENTRY}  Retry: {{initialDelay: 0s}}\n", (7, "error", "watches")),
        (f"{ENTRY}  reconcilePeriod: soon\n", (7, "error", "watches")),
        (ENTRY.replace("role: /opt", "chart: /opt"), (2, "error", "watches")),
        ("hello\n", (1, "error", "watches")),
        (f"{ENTRY}---\n- nothing\n", None),
        (f"{ENTRY}  vars: {{a: !unsafe 'x', b: !vault y}}\n", None),
        (ENTRY.replace("/opt/ansible/", ""), None),
        ("- a: [\n", (2, "error", "yaml")),
    ],
)
def test_what_is_found_in_watches(
    place: Place, watches: str, expected: tuple[int, str, str] | None
) -> None:
    place.write("watches.yaml", watches)
    assert place.found() == ([("watches.yaml", *expected)] if expected else [])


@pytest.mark.parametrize(
    ("watches", "message"),
    [
        (
            f"{ENTRY}  maxRunnerArtifacts: many\n",
            "maxRunnerArtifacts is of type string, not whole number",
        ),
        (f"{ENTRY}  manageStatus: [1]\n", "manageStatus is of type array, not bool"),
        ("a: b\n", "the file is of type object, not array"),
        ("- x\n", "an entry is of type string, not object"),
        (ENTRY.replace("thing", "gone"), "role: /opt/ansible/roles/gone was not found"),
    ],
)
def test_messages_name_neither_types_of_go_nor_the_copy_that_is_loaded(
    place: Place, watches: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    place.write("watches.yaml", watches)
    (finding,) = check_project(place.root, "2.18", environ={})
    assert finding.message == message
    assert capsys.readouterr() == ("", ""), "what is found is not logged too"


PLAYS = {
    "a requirement by the address of a repository": {
        "requirements.yml": "collections: [{name: 'https://a.b/c/kubernetes.core.git', type: git}]\n",
        TASKS: "- kubernetes.core.k8s_info: {kind: Pod}\n",
    },
    "a requirement by the address of an archive": {
        "requirements.yml": "collections: [{name: 'https://a.b/acme-more-1.2.0.tar.gz', type: url}]\n",
        TASKS: "- acme.more.thing: {}\n",
    },
    "a folder that does not tell what it contains": {
        "requirements.yml": "collections: [{name: ./vendor, type: dir}]\n",
        TASKS: "- acme.more.thing: {}\n",
    },
    "requirements in the folder of collections": {
        "requirements.yml": "{}\n",
        "collections/requirements.yaml": "collections: ['acme.more:1.0']\n",
        TASKS: "- acme.more.thing: {}\n",
    },
    "a collection that the Dockerfile installs": {
        "Dockerfile": "RUN true && \\\n ansible-galaxy collection install 'acme.more:>=1'\n",
        TASKS: "- acme.more.thing: {}\n",
    },
    "requirements that the Dockerfile names": {
        "Dockerfile": "RUN ansible-galaxy collection install -r /opt/needs.yml\n",
        "build/needs.yml": "collections: [acme.more]\n",
        TASKS: "- acme.more.thing: {}\n",
    },
    "a required role": {
        "requirements.yml": "roles: [{src: 'https://a.b/c/other.git'}, {name: more.role}]\n",
        TASKS: "- include_role: {name: other}\n- import_role: {name: more.role}\n",
    },
    "a path to a role": {
        "roles/other/tasks/main.yml": "[]\n",
        TASKS: "- include_role: {name: ../roles/other}\n- include_role: {name: roles/other}\n",
    },
    "a role within a role's folder": {
        "roles/v1/deploy/tasks/main.yml": "[]\n",
        TASKS: "- include_role: {name: v1/deploy}\n- include_role: {name: /opt/ansible/roles/v1/deploy}\n",
    },
    "text between bars": {
        TASKS: '- command: sed "s|{{ a }}|www.example.com|"\n- debug: {msg: "| {{ a }} |b.c.d |"}\n',
        "roles/thing/templates/a.j2": "{# x | a.b.c #}{{ '| a.b.c' }} | d.e.f {% raw %}{{ x | a.b.c }}{% endraw %}\n",
    },
    "other delimiters of a template": {
        "roles/thing/templates/a.j2": "#jinja2: variable_start_string: '[[', variable_end_string: ']]'\n{{ x | a.b.c }}\n",
    },
    "merge keys": {
        TASKS: "- &one\n  debug: {msg: x}\n- <<: *one\n  when: true\n- <<: [*one]\n  name: y\n",
    },
    "collections of a play, a block and a name without a list": {
        "playbooks/a.yml": "- hosts: localhost\n  collections: acme.tools\n  tasks: [{theirs: {}}]\n",
        TASKS: "- collections: [acme.tools]\n  block:\n    - others: {}\n",
    },
    "files that are included": {
        "roles/thing/tasks/sub/more.yml": "- include_tasks: last.yml\n- import_tasks: sub/last.yml\n",
        "roles/thing/tasks/sub/last.yml": "[]\n",
        TASKS: "- include_tasks: sub/more.yml\n- include_tasks: {file: '{{ x }}.yml'}\n",
    },
    "roles of tests": {
        "roles/thing/molecule/default/tasks/main.yml": "- no_such_module: {}\n",
        "roles/thing/tests/roles/x/tasks/main.yml": "- no_such_module: {}\n",
    },
    "an action, and a redirection, of an installed collection": {
        "collections/ansible_collections/acme/more/plugins/action/act.py": "",
        "collections/ansible_collections/acme/more/meta/runtime.yml": (
            "plugin_routing: {modules: {old: {redirect: acme.more.act}}}\n"
        ),
        TASKS: "- acme.more.act: {}\n- acme.more.old: {}\n",
    },
}


@pytest.mark.parametrize("case", PLAYS)
def test_what_plays_is_not_blamed(place: Place, case: str) -> None:
    for name, text in PLAYS[case].items():
        place.write(name, text)
    assert place.found() == []


COLLECTION = "collections/ansible_collections/acme/more/"
FAILS = {
    "a module that an installed collection no longer has": (
        {
            f"{COLLECTION}meta/runtime.yml": (
                "plugin_routing:\n  modules:\n    gone: {tombstone: {warning_text: Use x}}\n"
                "    old: {redirect: acme.more.gone}\n"
            ),
            TASKS: "- acme.more.gone: {}\n- acme.more.old: {}\n- acme.more.typo: {}\n",
        },
        [(TASKS, 1, "module-removed"), (TASKS, 2, "module-removed"), (TASKS, 3, "module-unknown")],
    ),
    "a task of a role within a role's folder": (
        {"roles/v1/deploy/tasks/main.yml": "- no_such_module: {}\n"},
        [("roles/v1/deploy/tasks/main.yml", 1, "module-unknown")],
    ),
    "a playbook in a folder of its own, its roles, and what it includes": (
        {
            "watches.yaml": ENTRY.replace(
                "role: /opt/ansible/roles/thing", "playbook: plays/a.yml"
            ),
            "plays/a.yml": "- hosts: localhost\n  tasks: [{include_tasks: sub/b.yml}]\n",
            "plays/sub/b.yml": "- no_such_module: {}\n",
            "plays/roles/x/tasks/main.yml": "- no_such_module: {}\n",
        },
        [
            ("plays/roles/x/tasks/main.yml", 1, "module-unknown"),
            ("plays/sub/b.yml", 1, "module-unknown"),
        ],
    ),
    "a role in a folder of its own": (
        {
            "watches.yaml": ENTRY.replace("/opt/ansible/roles/thing", "other/thing"),
            "other/thing/tasks/main.yml": "- no_such_module: {}\n",
        },
        [("other/thing/tasks/main.yml", 1, "module-unknown")],
    ),
    "the playbook of a finalizer": (
        {
            "watches.yaml": ENTRY + "  finalizer: {name: a.b/c, playbook: plays/a.yml}\n",
            "plays/a.yml": "- hosts: localhost\n  tasks: [{no_such_module: {}}]\n",
        },
        [("plays/a.yml", 2, "module-unknown")],
    ),
    "plugins in conditionals and loops": (
        {
            TASKS: "- debug: {msg: a}\n  until: a is b.c.d\n  when: (x | e.f.g) == 1\n"
            "  with_h.i.j: []\n  loop_control: {label: \"{{ query('k.l.m') }}\"}\n"
            "- debug: {msg: a}\n  environment: {A: '{{ x is not n.o.p }}'}\n"
        },
        [(TASKS, line, "collection-missing") for line in (2, 3, 4, 5, 7)],
    ),
    "a filter over several lines of a template": (
        {"roles/thing/templates/a.j2": "a\n{{ x\n  | a.b.c }}\n"},
        [("roles/thing/templates/a.j2", 3, "collection-missing")],
    ),
    "roles that plays and roles depend on": (
        {
            "playbooks/a.yml": "- hosts: localhost\n  roles: [gone, {role: gone2}, {name: thing}]\n",
            "roles/thing/meta/main.yml": "dependencies:\n  - role: gone3\n",
        },
        [
            ("playbooks/a.yml", 2, "role-missing"),
            ("playbooks/a.yml", 2, "role-missing"),
            ("roles/thing/meta/main.yml", 2, "role-missing"),
        ],
    ),
    "files that are missing": (
        {
            TASKS: "- include_tasks: gone.yml\n- import_tasks: {file: gone.yml}\n",
            "playbooks/a.yml": "- import_playbook: gone.yml\n",
        },
        [("playbooks/a.yml", 1, "file-missing"), *((TASKS, n, "file-missing") for n in (1, 2))],
    ),
    "requirements that are no YAML": (
        {"collections/requirements.yml": "collections: [\n"},
        [("collections/requirements.yml", 2, "yaml")],
    ),
    "an anchor that contains itself": (
        {TASKS: "- &a [*a]\n"},
        [(TASKS, 0, "yaml")],
    ),
}


@pytest.mark.parametrize("case", FAILS)
def test_what_fails_is_found(place: Place, case: str) -> None:
    files, expected = FAILS[case]
    for name, text in files.items():
        place.write(name, text)
    found = [(path, line, code) for path, line, severity, code in place.found()]
    assert found == expected


@pytest.mark.parametrize(
    ("conditional", "code"),
    [
        ("when: \"'a' in {{ names }}\"", "conditional-template"),
        ("when: '{{ one }} == {{ other }}'", "conditional-template"),
        ("when: x == '{{ y }}'", "conditional-template"),
        ("when: '{{ one'", "conditional-template"),
        ("when: \"'a' in {{ names | }}\"", "conditional-syntax"),
        ("when: {a: [b, 1]}", "conditional-not-boolean"),
    ],
)
def test_conditionals_that_older_releases_render_first(
    place: Place, conditional: str, code: str
) -> None:
    place.tasks(f"- debug: {{msg: a}}\n  {conditional}\n")
    severity = "error" if code == "conditional-syntax" else "note"
    assert place.found("2.18") == [(TASKS, 3, severity, code)]
    assert place.found("2.19") == [(TASKS, 3, "error", code)]


def test_a_conditional_is_shown_as_it_is_written(place: Place) -> None:
    place.tasks("- debug: {msg: a}\n  when: {a: [b, 1]}\n")
    (finding,) = check_project(place.root, "2.19", environ={})
    assert finding.message.startswith("the conditional `{a: [b, 1]}` is not a boolean")


def test_a_template_among_tasks_fails_only_if_it_is_included(place: Place) -> None:
    """Some roles keep templates in the folder of their tasks."""
    template = "roles/thing/tasks/kinds.yml"
    place.write(template, "{% for kind in kinds %}\n- {{ kind }}\n{% endfor %}\n")
    place.tasks("- debug: {msg: \"{{ lookup('template', 'tasks/kinds.yml') }}\"}\n")
    assert [item[0::2] for item in place.found()] == [(template, "warning")]
    place.tasks("- include_tasks: kinds.yml\n")
    assert [item[0::2] for item in place.found()] == [(template, "error")]


def test_json_is_all_that_is_printed(place: Place) -> None:
    place.write("watches.yaml", ENTRY.replace("role", "chart"))
    outcome = CliRunner().invoke(main, ["check", str(place.root), "--output", "json"])
    assert json.loads(outcome.stdout)["findings"][0]["code"] == "watches"
    assert outcome.stdout.startswith("{")


@pytest.mark.parametrize(
    ("isolation", "severity"), [("", "note"), ("  isolation: shared\n", "error")]
)
def test_state_of_plugins_is_an_error_where_runs_share_a_process(
    place: Place, isolation: str, severity: str
) -> None:
    place.write("watches.yaml", ENTRY + isolation)
    place.write("roles/thing/filter_plugins/a.py", "SEEN = []\ndef f(x):\n    SEEN.append(x)\n")
    assert place.found() == [("roles/thing/filter_plugins/a.py", 3, severity, "plugin-state")]


def test_state_that_is_kept_on_purpose_is_a_note(place: Place) -> None:
    place.write("watches.yaml", ENTRY + "  isolation: shared\n")
    source = "SEEN = []\ndef f(x):\n    SEEN.append(x)  # ansible-operator: kept, a log\n"
    place.write("roles/thing/filter_plugins/a.py", source)
    assert [item[0::2] for item in place.found()] == [("roles/thing/filter_plugins/a.py", "note")]


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


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("from ansible.module_utils.compat.datetime import utcnow\n", 1),
        ("import os\nfrom ansible.module_utils.compat import datetime\n", 2),
        ("def f():\n    import ansible.module_utils.compat.paramiko as p\n", 2),
        ("from ansible.module_utils.compat.version import LooseVersion\n", 0),
        ("from datetime import datetime\n", 0),
        ("from .compat import datetime\n", 0),
        (
            "try:\n    from ansible.module_utils.compat import paramiko\nexcept ImportError:\n    p = 0\n",
            0,
        ),
    ],
)
def test_what_a_newer_release_has_removed_is_no_import(
    place: Place, source: str, line: int
) -> None:
    path = "roles/thing/library/a.py"
    place.write(path, source)

    expected = [(path, line, "error", "import-removed")] if line else []
    assert place.found("2.21") == expected
    assert place.found("2.20") == [(*one[:2], "note", one[3]) for one in expected]


def test_the_operator_of_this_repository_has_no_error_and_no_warning() -> None:
    outcome = CliRunner().invoke(main, ["check", str(ROOT)])
    assert "0 errors, 0 warnings" in outcome.output
    assert outcome.exit_code == 0
