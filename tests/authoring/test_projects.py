# SPDX-License-Identifier: Apache-2.0
"""Projects as they are created, extended and renewed; what exists is never overwritten."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from ansible_operator.check.checking import check_project
from ansible_operator.cli import main
from tests.support.places import COLLECTIONS, PROGRAMS, ROOT

GOLDEN = Path(__file__).with_name("project.golden")
KIND = ("--group", "cache.example.com", "--version", "v1alpha1", "--kind", "Memcached")
OTHER = ("--group", "cache.example.com", "--version", "v1", "--kind", "Proxy")
CRD = "config/crd/cache.example.com_memcacheds.yaml"
SPECS = "roles/memcached/meta/argument_specs.yml"


def command(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(one) for one in arguments])


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "memcached-operator"
    done = command("init", folder, *KIND)
    assert done.exit_code == 0, done.output
    return folder


def texts(folder: Path) -> dict[str, str]:
    """The text of each file by its path."""
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def change_specs(folder: Path, name: str, **option: object) -> None:
    content = yaml.safe_load((folder / SPECS).read_text())
    content["argument_specs"]["main"]["options"][name] = option
    (folder / SPECS).write_text(yaml.safe_dump(content))


def write_role(folder: Path, options: str = "{}", tasks: str = "[]") -> Path:
    (folder / "tasks").mkdir(parents=True)
    (folder / "tasks/main.yml").write_text(tasks)
    (folder / "meta").mkdir()
    specs = f"argument_specs: {{main: {{options: {options}}}}}\n"
    (folder / "meta/argument_specs.yml").write_text(specs)
    return folder


def test_all_files_of_a_project(project: Path, request: pytest.FixtureRequest) -> None:
    written = "".join(f"=== {path}\n{text}" for path, text in texts(project).items())
    if request.config.getoption("--regenerate-golden", default=False):
        GOLDEN.write_text(written)
    assert written == GOLDEN.read_text()


def test_check_finds_nothing_in_a_project(project: Path) -> None:
    command("add-kind", *OTHER, "--project", project)
    for core in ("2.18", "2.21"):
        assert check_project(project, core, environ={}) == []


def test_linters_find_nothing_in_a_project(project: Path, tmp_path: Path) -> None:
    command("add-kind", *OTHER, "--project", project)
    environment = {
        **os.environ,
        "PATH": f"{PROGRAMS}:{os.environ['PATH']}",
        "ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS),
        "ANSIBLE_HOME": str(tmp_path / "ansible"),
        "NO_COLOR": "1",
    }
    done = subprocess.run(
        ["make", "check", "lint"],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING  Found" not in done.stderr
    python = ["ruff", "check", "--isolated", "--select=E,F,I,B,UP", "--line-length=100", "tests"]
    subprocess.run([PROGRAMS / python[0], *python[1:]], cwd=project, check=True)


def test_what_the_operator_may_do_is_no_more_than_it_does(project: Path) -> None:
    rights = yaml.safe_load_all(
        (project / "config/rbac/memcacheds.cache.example.com.yaml").read_text()
    )
    rules = next(rights)["rules"]
    assert [(rule["resources"], rule["verbs"]) for rule in rules] == [
        (["memcacheds"], ["get", "list", "watch", "patch"]),
        (["memcacheds/status"], ["get", "patch"]),
        (["memcacheds/finalizers"], ["update"]),
        (["events"], ["create", "patch"]),
        (["deployments"], ["get", "list", "watch", "create", "patch"]),
    ]
    assert "*" not in str(rules)


def test_the_current_folder_if_it_is_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "here"
    (folder / ".git").mkdir(parents=True)
    monkeypatch.chdir(folder)
    assert command("init", *KIND).exit_code == 0
    account = yaml.safe_load((folder / "config/rbac/service_account.yaml").read_text())
    assert account["metadata"] == {"name": "here", "namespace": "here"}


def test_nothing_that_exists_is_overwritten(project: Path, tmp_path: Path) -> None:
    before = texts(project)
    done = command("init", project, *KIND)
    assert done.exit_code == 2
    assert "is a project already; add a kind to it with ansible-operator add-kind" in done.output
    done = command("add-kind", *KIND, "--project", project)
    assert done.exit_code == 2
    assert "nothing that exists is overwritten" in done.output
    assert texts(project) == before
    (tmp_path / "used").mkdir()
    (tmp_path / "used/notes").write_text("mine")
    done = command("init", tmp_path / "used", *KIND)
    assert "is not empty, it has notes" in done.output
    done = command("init", tmp_path / "used/new/..", *KIND)
    assert "is not empty, it has notes" in done.output
    assert texts(tmp_path / "used") == {"notes": "mine"}
    assert "is a file" in command("init", tmp_path / "used/notes", *KIND).output


@pytest.mark.parametrize(
    ("folder", "kind", "said"),
    [
        ("x", "memcached", "is not CamelCase; write Memcached"),
        ("My_Operator", "Memcached", "'My_Operator' cannot name a project"),
    ],
)
def test_bad_names_leave_nothing_behind(tmp_path: Path, folder: str, kind: str, said: str) -> None:
    done = command("init", tmp_path / folder, *KIND[:-1], kind)
    assert done.exit_code == 2
    assert said in done.output
    assert list(tmp_path.iterdir()) == []


def test_a_second_kind_leaves_the_first_as_it_is(project: Path) -> None:
    watches = project / "watches.yaml"
    watches.write_text(watches.read_text() + "  reconcilePeriod: 1m # mine\n")
    before = texts(project)
    done = command("add-kind", *OTHER, "--project", project)
    assert done.exit_code == 0, done.output
    after = texts(project)
    changed = {path for path, text in before.items() if after[path] != text}
    assert changed == {
        "watches.yaml",
        "config/crd/kustomization.yaml",
        "config/rbac/kustomization.yaml",
    }
    assert [after[path].startswith(before[path]) for path in changed] == [True] * 3
    assert {path for path in after if path not in before} == {
        "config/crd/cache.example.com_proxies.yaml",
        "config/rbac/proxies.cache.example.com.yaml",
        "config/samples/cache_v1_proxy.yaml",
        "roles/proxy/defaults/main.yml",
        "roles/proxy/meta/argument_specs.yml",
        "roles/proxy/tasks/main.yml",
    }
    kinds = [watch["kind"] for watch in yaml.safe_load(after["watches.yaml"])]
    assert kinds == ["Memcached", "Proxy"]


def test_a_kind_is_not_half_added(project: Path) -> None:
    (project / "config/rbac/kustomization.yaml").write_text("resources: none\n")
    before = texts(project)
    done = command("add-kind", *OTHER, "--project", project)
    assert done.exit_code == 2
    assert "config/rbac/kustomization.yaml cannot be extended" in done.output
    assert texts(project) == before


def test_a_kind_needs_a_project(tmp_path: Path) -> None:
    done = command("add-kind", *KIND, "--project", tmp_path)
    assert done.exit_code == 2
    assert "is no project that ansible-operator init has created" in done.output


def test_a_role_that_exists(tmp_path: Path) -> None:
    tasks = "- kubernetes.core.k8s:\n    definition:\n      apiVersion: v1\n      kind: Secret\n"
    options = "{host_name: {required: true}, level: {choices: [low, high], required: true}, tags: {type: list}}"
    role = write_role(tmp_path / "elsewhere/web", options, tasks)
    done = command("init", tmp_path / "web-operator", *KIND, "--from-role", role)
    assert done.exit_code == 0, done.output
    project = tmp_path / "web-operator"
    assert (project / "roles/web/tasks/main.yml").read_text() == tasks
    assert yaml.safe_load((project / "watches.yaml").read_text())[0]["role"] == "web"
    sample = yaml.safe_load((project / "config/samples/cache_v1alpha1_memcached.yaml").read_text())
    assert sample["spec"] == {"hostName": "example", "level": "low"}
    rights = (project / "config/rbac/memcacheds.cache.example.com.yaml").read_text()
    assert "- secrets" in rights
    assert command("crd", project, "--check").exit_code == 0


def test_a_role_of_the_project_gets_a_kind(project: Path) -> None:
    role = write_role(project / "roles/web")
    done = command("add-kind", *OTHER, "--project", project, "--from-role", role)
    assert done.exit_code == 0, done.output
    assert "name no objects: add the rights that it requires to config/rbac" in done.output
    assert not (project / "roles/proxy").exists()


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda role: shutil.rmtree(role / "tasks"), "is no role: it has no folder tasks"),
        (lambda role: shutil.rmtree(role / "meta"), "has no argument specs"),
        (lambda role: (role / "meta/argument_specs.yml").write_text("a: ["), "is no YAML"),
        (
            lambda role: (role / "meta/argument_specs.yml").write_text(
                "argument_specs: {other: {}}"
            ),
            "no entry point main",
        ),
        (lambda role: role.rename(role.with_name("my-web")), "does not exist"),
    ],
    ids=["no tasks", "no specs", "no yaml", "no main", "gone"],
)
def test_a_role_of_no_use_is_named(tmp_path: Path, spoil: object, said: str) -> None:
    role = write_role(tmp_path / "web")
    spoil(role)  # type: ignore[operator]
    done = command("init", tmp_path / "new", *KIND, "--from-role", role)
    assert done.exit_code == 2
    assert said in done.output.replace("\n", " ")
    assert not (tmp_path / "new").exists()


def test_the_crd_follows_the_role_and_the_rest_is_the_authors(project: Path) -> None:
    path = project / CRD
    mine = path.read_text().replace("scope: Namespaced", "scope: Namespaced # mine")
    mine = mine.replace("singular: memcached", "singular: memcached\n    shortNames: [mc] # short")
    path.write_text(mine)
    assert command("crd", project, "--check").exit_code == 0
    change_specs(project, "max_memory", type="int", required=True)
    done = command("crd", project, "--check")
    assert done.exit_code == 1
    assert f"{CRD}: out of date; run ansible-operator crd" in done.output
    assert path.read_text() == mine
    done = command("crd", project)
    assert (done.exit_code, done.output) == (0, f"{CRD}: updated\n")
    new = path.read_text()
    content = yaml.safe_load(new)
    spec = content["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    assert spec["required"] == ["maxMemory"]
    assert spec["properties"]["maxMemory"] == {"type": "integer"}
    assert "scope: Namespaced # mine" in new
    assert "shortNames: [mc] # short" in new
    assert new.partition("            status:\n")[2] == mine.partition("            status:\n")[2]
    assert command("crd", project).output == f"{CRD}: up to date\n"


def test_a_crd_that_is_missing_is_created_with_its_plural(project: Path) -> None:
    (project / CRD).unlink()
    assert command("crd", project, "--check").exit_code == 1
    assert "created; list it in" in command("crd", project).output
    assert command("crd", project, "--check").exit_code == 0


def test_options_that_the_watch_sets_are_no_fields(project: Path) -> None:
    change_specs(project, "memcached_state", choices=["present", "absent"])
    assert command("crd", project, "--check").exit_code == 1
    watches = project / "watches.yaml"
    finalizer = "  finalizer: {name: a.b/c, role: memcached, vars: {memcached_state: absent}}\n"
    watches.write_text(watches.read_text() + finalizer)
    assert command("crd", project, "--check").exit_code == 0


def test_a_watch_of_a_playbook_has_no_specs(project: Path) -> None:
    watches = project / "watches.yaml"
    entries = """\
- {group: a.example.com, version: v1, kind: Played, playbook: x.yml}
- {group: apps, version: v1, kind: Deployment, role: memcached}
- {group: a.example.com, version: v1, kind: Far, role: some.collection.role}
- {group: a.example.com, version: v1, kind: Mute, role: mute}
"""
    watches.write_text(watches.read_text() + entries)
    shutil.rmtree(write_role(project / "roles/mute") / "meta")
    done = command("crd", project)
    assert (done.exit_code, done.output.splitlines()[1:]) == (
        0,
        [
            "Played: left alone, it is run by a playbook, which has no argument specs",
            "Deployment: left alone, it is not a kind that a CRD of the project could define",
            "Far: left alone, the project has no role some.collection.role",
            "Mute: left alone, the role mute has no argument specs",
        ],
    )


OTHER_PROJECT = """\
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: memcachedz.cache.example.com
spec:
  group: cache.example.com
  names: {kind: Memcached, plural: memcachedz}
  scope: Namespaced
  versions:
  - name: v1alpha1
    schema:
      openAPIV3Schema:
        properties:
          spec:
            description: Desired state
            type: object
            x-kubernetes-preserve-unknown-fields: true
          status: {type: object}
        type: object
    served: true
    storage: true
"""


def test_the_crd_of_another_project(project: Path) -> None:
    """As operator-sdk lays them out: in another folder, with a plural of their own."""
    (project / CRD).unlink()
    path = project / "config/crd/bases/cache.yaml"
    path.parent.mkdir()
    path.write_text(OTHER_PROJECT)
    text = (project / "watches.yaml").read_text()
    path_of_role = text.replace("role: memcached", "role: /opt/ansible/roles/memcached")
    (project / "watches.yaml").write_text(path_of_role)
    assert path_of_role != text
    assert command("crd", project).output == "config/crd/bases/cache.yaml: updated\n"
    new = path.read_text()
    assert "preserve" not in new
    assert new.startswith(OTHER_PROJECT.partition("          spec:")[0])
    assert new.endswith(OTHER_PROJECT.partition("          status:")[2])
    assert yaml.safe_load(new)["metadata"]["name"] == "memcachedz.cache.example.com"


@pytest.mark.parametrize("text", ["a: 1", "[", "- 1"])
def test_watches_of_no_use_are_named(project: Path, text: str) -> None:
    (project / "watches.yaml").write_text(text)
    done = command("crd", project)
    assert done.exit_code == 2
    assert "watches.yaml is no" in done.output


def test_a_crd_that_cannot_be_changed_in_place_stays(project: Path) -> None:
    change_specs(project, "more")
    text = (project / CRD).read_text().replace("            spec:\n", "            spec: &spec\n")
    (project / CRD).write_text(f"{text}mine: *spec\n")
    done = command("crd", project)
    assert done.exit_code == 2
    assert "the schema of spec cannot be replaced" in done.output
    assert (project / CRD).read_text() == f"{text}mine: *spec\n"


def test_an_operator_that_runs_loads_nothing_for_authors() -> None:
    code = (
        "import sys, ansible_operator.cli; "
        "sys.exit(any('authoring' in name for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_help_names_the_commands_of_authors() -> None:
    text = command("--help").output
    assert all(f"  {name} " in text for name in ("add-kind", "crd", "dev", "init", "run", "check"))
    assert "argument specs of its role" in " ".join(command("help", "init").output.split())


def test_what_is_installed_has_the_files_of_projects(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    declared = (source / "pyproject.toml").read_text()
    # The setuptools of a virtual environment may be too old for the new style.
    text = declared.replace('license = "Apache-2.0"', 'license = {text = "Apache-2.0"}')
    assert text != declared
    (source / "pyproject.toml").write_text(text)
    shutil.copytree(
        ROOT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info")
    )
    unpacked = tmp_path / "installed"
    code = f"from setuptools import setup; setup(script_args=['build_py', '-d{unpacked}'])"
    subprocess.run([sys.executable, "-c", code], cwd=source, capture_output=True, check=True)
    done = subprocess.run(
        [sys.executable, "-m", "ansible_operator", "init", str(tmp_path / "new"), *KIND],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(unpacked)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    expected = command("init", tmp_path / "same" / "new", *KIND)
    assert expected.exit_code == 0
    assert texts(tmp_path / "new") == texts(tmp_path / "same" / "new")
