# SPDX-License-Identifier: Apache-2.0
"""What rendering makes of the examples: its children pass the rules of their own kinds."""

from pathlib import Path

import pytest
import yaml
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.kinds import (
    render_everything,
)

from testbed.bed import TestBed
from tests.crds.conftest import Server
from tests.support.places import ROOT

START_SCRIPTS = {
    path.parts[-3]: path.read_text() for path in sorted(ROOT.glob("roles/*/files/start.sh"))
}
#: Those that stand alone; the others need objects that they refer to.
COMPLETE = [*sorted((ROOT / "examples").glob("*.yaml")), ROOT / "examples/standalone/logset.yaml"]


def _resources(path: Path) -> list[dict[str, object]]:
    return [
        document
        for document in yaml.safe_load_all(path.read_text())
        if document["kind"] in {"MatrixOneCluster", "LogSet"}
    ]


@pytest.mark.api
@pytest.mark.parametrize(
    "path", [path for path in COMPLETE if _resources(path)], ids=lambda path: path.stem
)
def test_all_that_an_example_leads_to_is_accepted(
    server: Server, installed_testbed: TestBed, path: Path
) -> None:
    """An example that is accepted and then stalls on a refused child would be of no use."""
    for resource in _resources(path):
        metadata = {"name": "mo", "namespace": server.namespace}
        manifests = render_everything(
            {**resource, "metadata": metadata}, start_scripts=START_SCRIPTS
        )
        said = installed_testbed.kubectl(
            *("apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-"),
            input=yaml.safe_dump_all(manifests),
        )
        assert len(said.splitlines()) == len(manifests)
