# SPDX-License-Identifier: Apache-2.0
"""Golden manifests: what was released stays as it is, byte for byte.

A changed manifest restarts databases when an operator is upgraded. So a difference here is either a
mistake, or belongs behind a new ``operatorVersion``; only before a release is it simply accepted:

    .venv/bin/pytest tests/golden --regenerate-golden
"""

import difflib
from pathlib import Path

import pytest
import yaml
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.kinds import (
    render_everything,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.workload.references import (
    find_references,
)

from dev.render import to_yaml
from tests.golden.variants import LIKE, VARIANTS
from tests.support import resources as r
from tests.support.places import ROOT

GOLDEN = ROOT / "tests" / "golden"
ROLES = ("logset", "dnset", "cnset", "proxyset")


def scripts(name: str) -> dict[str, str]:
    """Return stand-ins that keep golden files short; one of them holds the real start scripts."""
    if name != "cluster-minimal":
        return {role: f"# start.sh of {role}\n" for role in ROLES}
    return {role: (ROOT / f"roles/{role}/files/start.sh").read_text() for role in ROLES}


def rendered(name: str) -> list[r.Json]:
    """Render the last document of a variant."""
    documents = VARIANTS[name]
    return render_everything(
        documents[-1],
        start_scripts=scripts(name),
        references=find_references(documents[-1], documents),
    )


def golden_of(name: str, text: str) -> tuple[Path, str]:
    """Return the file of a variant, and what it holds when this text is rendered.

    That is the text, or how it differs from the golden file of another variant.
    """
    if name not in LIKE:
        return GOLDEN / f"{name}.yaml", text
    whole = GOLDEN / f"{LIKE[name]}.yaml"
    # What is itself known by its differences is pinned by its own golden file.
    other = whole.read_text() if whole.exists() else to_yaml(rendered(LIKE[name]))
    before, after = (one.splitlines(keepends=True) for one in (other, text))
    lines = difflib.unified_diff(before, after, LIKE[name], name, n=1)
    return GOLDEN / f"{name}.diff", "".join(lines)


@pytest.mark.parametrize("name", VARIANTS)
def test_manifests_are_as_released(name: str, request: pytest.FixtureRequest) -> None:
    manifest = to_yaml(rendered(name))
    golden, text = golden_of(name, manifest)
    if request.config.getoption("--regenerate-golden", default=False):
        golden.write_text(text)
    assert golden.read_text() == text
    assert list(yaml.safe_load_all(manifest)) == rendered(name)


def test_no_golden_file_is_left_over() -> None:
    found = {path.name for suffix in ("yaml", "diff") for path in GOLDEN.glob(f"*.{suffix}")}
    assert found == {f"{name}.{'diff' if name in LIKE else 'yaml'}" for name in VARIANTS}
