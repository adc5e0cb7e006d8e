# SPDX-License-Identifier: Apache-2.0
"""Which modules are an interface: those that users are shown, and no others."""

import re
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
INTERNAL = "matrixorigin.matrixone.internal"
MODULES = {path.stem for path in (ROOT / "plugins" / "modules").glob("*.py")}


def documentation(module: str) -> dict[str, Any]:
    """Return what a module says of itself."""
    text = (ROOT / "plugins" / "modules" / f"{module}.py").read_text(encoding="utf-8")
    return dict(yaml.safe_load(text.split('DOCUMENTATION = r"""')[1].split('"""')[0]))


def used_in(*patterns: str) -> set[str]:
    """Return the modules that files name in full."""
    texts = [
        path.read_text(encoding="utf-8") for pattern in patterns for path in ROOT.glob(pattern)
    ]
    named = re.findall(r"matrixorigin\.matrixone\.(\w+)", "\n".join(texts))
    return MODULES & set(named)


INTERNAL_MODULES = {
    module
    for module in MODULES
    if INTERNAL in documentation(module).get("extends_documentation_fragment", [])
}


def test_modules_that_users_are_not_shown_are_internal() -> None:
    shown = used_in("README.md", "docs/**/*.md", "examples/**/*.y*ml", "playbooks/**/*.yml")
    assert MODULES - shown == INTERNAL_MODULES


def test_internal_modules_serve_the_roles() -> None:
    assert used_in("roles/**/*.yml") >= INTERNAL_MODULES


def test_a_list_of_modules_tells_which_are_internal() -> None:
    """``ansible-doc -l`` shows nothing else of them."""
    said = {
        module
        for module in MODULES
        if documentation(module)["short_description"].startswith("Internal: ")
    }
    assert said == INTERNAL_MODULES


def test_the_page_lists_the_others() -> None:
    page = (ROOT / "docs" / "playbooks.md").read_text(encoding="utf-8")
    section = page.split("## Modules\n")[1].split("\n## ")[0]
    rows = [row.split("|")[1] for row in section.splitlines() if row.startswith("| `")]
    assert set(re.findall(r"`(\w+)`", " ".join(rows))) == MODULES - INTERNAL_MODULES
