# SPDX-License-Identifier: Apache-2.0
"""Every example is accepted by the API server as it stands."""

from pathlib import Path

import pytest
import yaml

from testbed.bed import TestBed
from tests.crds.conftest import Server
from tests.support.places import ROOT

# examples/memcached is an operator with a CRD and tests of its own.
EXAMPLES = sorted(
    path
    for pattern in ("*.yaml", "standalone/*.yaml", "early/*.yaml")
    for path in (ROOT / "examples").glob(pattern)
)


def _id(path: Path) -> str:
    return path.relative_to(ROOT / "examples").as_posix()


@pytest.mark.api
@pytest.mark.parametrize("path", EXAMPLES, ids=_id)
def test_examples_are_accepted(server: Server, installed_testbed: TestBed, path: Path) -> None:
    """Both ways of applying; strictly, so that no misspelt field goes unnoticed."""
    documents = [d for d in yaml.safe_load_all(path.read_text()) if d]
    for document in documents:
        document["metadata"].pop("namespace", None)
    text = yaml.safe_dump_all(documents)
    where = ("--dry-run=server", "--validate=strict", "-n", server.namespace, "-f", "-")
    for way in ("--server-side=false", "--server-side"):
        said = installed_testbed.kubectl("apply", way, *where, input=text)
        assert len(said.splitlines()) == len(documents)


@pytest.mark.parametrize("path", EXAMPLES, ids=_id)
def test_examples_hold_no_password(path: Path) -> None:
    """Credentials are made by a command; an example that is pasted must not set a known one."""
    for document in yaml.safe_load_all(path.read_text()):
        assert document["kind"] != "Secret"


def test_the_tiny_cluster_is_one_mapping() -> None:
    """It serves as extra variables of a playbook too, which takes one document."""
    (document,) = yaml.safe_load_all((ROOT / "examples" / "tiny-cluster.yaml").read_text())
    assert document["kind"] == "MatrixOneCluster"
    assert document["metadata"] == {"name": "mo"}
