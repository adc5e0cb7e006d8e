# SPDX-License-Identifier: Apache-2.0
"""Nothing else in the collection deletes an object of a store."""

import ast
from pathlib import Path

from tests.support import places

PLUGINS = places.ROOT / "plugins"
_OWN = ("module_utils/ownership/", "module_utils/clients/objectstore/")
_OF_STORES = frozenset({"erase", "erasable", "tidy"})
"""Methods of ``ObjectStore`` that only the package may call."""
_OF_SYSTEMS = frozenset({"unlink", "rmdir", "rmtree", "removedirs"})
_ELSEWHERE = {"module_utils/clients/kubernetes/connection.py": {"rmtree"}}
"""Temporary folders of this process."""
_OPERATIONS = ("delete_object", "abort_multipart_upload", "delete_bucket")


def calls(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {
        node.func.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }


def test_only_ownership_deletes() -> None:
    found = {}
    for path in sorted(PLUGINS.rglob("*.py")):
        name = path.relative_to(PLUGINS).as_posix()
        if name.startswith(_OWN):
            continue
        deletes = calls(path) & (_OF_STORES | _OF_SYSTEMS) - _ELSEWHERE.get(name, set())
        if name == "module_utils/backup/program/reclaiming.py":
            deletes -= {"erasable"}  # whether there is anything
        text = path.read_text(encoding="utf-8")
        deletes |= {one for one in _OPERATIONS if one in text}
        if deletes:
            found[name] = deletes
    assert found == {}


def test_the_rule_sees_a_call(tmp_path: Path) -> None:
    path = tmp_path / "x.py"
    path.write_text("store.erase([item])\nshutil.rmtree(folder)\n")
    assert calls(path) == {"erase", "rmtree"}
