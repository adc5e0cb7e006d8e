# SPDX-License-Identifier: Apache-2.0
"""Private Ansible APIs: touched in one folder, all listed, and checked before the first run."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from ansible_operator.engine import make_engine, patches
from ansible_operator.engine.forking.template import CannotStartError
from ansible_operator.engine.patches import discovery_cache, known_names
from ansible_operator.engine.patches.known_names import (
    REPLACED,
    SUPPORTED,
    TOUCHED,
    Replaced,
    Touched,
    changed,
    check,
    missing,
)
from ansible_operator.engine.patches.versions import VERSION
from ansible_operator.errors import EngineError

ENGINE = Path(known_names.__file__).parents[1]
PATCHES = ENGINE / "patches"
OUTSIDE = sorted(file for file in ENGINE.rglob("*.py") if PATCHES not in file.parents)
INSIDE = sorted(PATCHES.glob("*.py"))
PRIVATE = re.compile(r"_[A-Za-z]\w+")
LISTED = {name for touched in TOUCHED for name in (touched.owner, *touched.names)} | {
    part for touched in TOUCHED for part in touched.module.split(".")
}
METHODS = ast.FunctionDef | ast.AsyncFunctionDef
PYTHON = {"_clear", "_exit", "_run_exitfuncs", "_shutdown"}
"""Of Python's own modules."""
GIVEN = {"_module_fqn", "_modlib_path"}
"""Variables that modules are executed with."""
KEYS = {"_ansible_no_log", "_raw_params", "_run"}
"""Of results, statistics and arguments of tasks."""


def own_names(tree: ast.Module) -> set[str]:
    """The private names that a file defines: attributes of its classes, functions, variables."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    for owner in (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)):
        for method in (node for node in ast.walk(owner) if isinstance(node, METHODS)):
            found |= {
                node.attr
                for node in ast.walk(method)
                if isinstance(node, ast.Attribute)
                and isinstance(node.ctx, ast.Store)
                and ast.unparse(node.value) == "self"
            }
    return found


def private_names(file: Path) -> Iterator[str]:
    """Private names that a file reads or writes and that are neither its own nor Python's."""
    tree = ast.parse(file.read_text())
    own = own_names(tree) | PYTHON | GIVEN
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Attribute):
            names = [node.attr]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names = [node.value]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ansible."):
            names = [*(node.module or "").split("."), *(alias.name for alias in node.names)]
        yield from (name for name in names if PRIVATE.fullmatch(name) and name not in own)


def patched(file: Path) -> Iterator[str]:
    """What of Ansible a file replaces."""
    tree = ast.parse(file.read_text())
    imported = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "ansible"
        for alias in node.names
    } | {
        (alias.asname or alias.name).split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name.split(".")[0] == "ansible"
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store):
            roots = {part.id for part in ast.walk(node.value) if isinstance(part, ast.Name)}
            if roots & imported:
                yield ast.unparse(node)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "setattr":
            yield ast.unparse(node)


@pytest.mark.parametrize("file", OUTSIDE, ids=lambda file: str(file.relative_to(ENGINE)))
def test_private_ansible_is_touched_in_patches_alone(file: Path) -> None:
    foreign = {name for name in private_names(file) if name in LISTED or name[1:].islower()}
    assert foreign - KEYS == set()
    assert list(patched(file)) == []


@pytest.mark.parametrize("file", INSIDE, ids=lambda file: file.name)
def test_every_private_name_is_listed(file: Path) -> None:
    if file.name != "known_names.py":
        assert sorted(set(private_names(file)) - LISTED - KEYS) == []


def test_this_release_is_supported_and_has_all_names() -> None:
    assert VERSION in SUPPORTED
    assert list(missing(VERSION)) == []
    assert list(changed(VERSION)) == []
    check()


@pytest.mark.parametrize(
    ("touched", "name"),
    [
        (Touched("ansible.gone", "", ("x",)), "ansible.gone"),
        (Touched("ansible.plugins.action", "Gone", ("x",)), "ansible.plugins.action.Gone"),
        (Touched("ansible.constants", "", ("config", "_x")), "ansible.constants._x"),
        (
            Touched("ansible.playbook.task", "Task", ("_uuid", "_gone")),
            "ansible.playbook.task.Task._gone",
        ),
    ],
)
def test_a_missing_name_is_refused(
    monkeypatch: pytest.MonkeyPatch, touched: Touched, name: str
) -> None:
    monkeypatch.setattr(known_names, "TOUCHED", (*TOUCHED, touched))
    release = re.escape(known_names.__version__)
    message = (
        rf"^ansible-core {release} is not one .* lacks {re.escape(name)}: .* 2.18, 2.19, 2.20, 2.21"
    )
    with pytest.raises(CannotStartError, match=message):
        check()


@pytest.mark.parametrize(
    ("replaced", "name"),
    [
        (Replaced("ansible.gone", "x", ""), "ansible.gone.x"),
        (Replaced("ansible.playbook", "Playbook.gone", ""), "ansible.playbook.Playbook.gone"),
        (
            Replaced("ansible.playbook", "Playbook.load", "file_name loader"),
            "ansible.playbook.Playbook.load(file_name, loader)",
        ),
    ],
)
def test_other_parameters_are_refused(
    monkeypatch: pytest.MonkeyPatch, replaced: Replaced, name: str
) -> None:
    monkeypatch.setattr(known_names, "REPLACED", (*REPLACED, replaced))
    with pytest.raises(CannotStartError, match=rf"lacks {re.escape(name)}: "):
        check()


@pytest.mark.parametrize("names", ["strategy, modules", "nonsense"])
def test_patches_are_switched_off_by_their_names(
    monkeypatch: pytest.MonkeyPatch, names: str
) -> None:
    monkeypatch.setenv(patches.SWITCH, names)
    if names == "nonsense":
        with pytest.raises(CannotStartError, match="names nonsense: the patches are discovery"):
            patches._wanted(["strategy", "modules", "role_ends"])
    else:
        assert patches._wanted(["strategy", "modules", "role_ends"]) == ["role_ends"]
    assert patches._wanted(["kubeconfigs"]) == ["kubeconfigs"]


def test_discovery_of_another_kubernetes_core_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class Discoverer:
        def __init__(self, client: object, cache_file: str, more: object) -> None:
            """Have another parameter."""

    stock = Discoverer.__init__
    module = SimpleNamespace(Discoverer=Discoverer)
    monkeypatch.setattr(discovery_cache.importlib, "import_module", lambda _name: module)
    discovery_cache.share(tmp_path)
    assert Discoverer.__init__ is stock


def test_an_unknown_release_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_names, "SUPPORTED", ((2, 1), (2, 2)))
    with pytest.raises(CannotStartError, match=r"supported are 2\.1, 2\.2 \("):
        check()


@pytest.mark.asyncio(loop_scope="session")
async def test_the_engine_does_not_start_with_an_unknown_ansible(
    tmp_path: Path, environment: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import ansible.plugins.action\ndel ansible.plugins.action.ActionBase._execute_module\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    engine = make_engine("warm")
    with pytest.raises(
        EngineError, match=r"cannot start: .* lacks ansible\.plugins\.action\.ActionBase\._execute"
    ):
        await engine.start()
    await engine.stop()
