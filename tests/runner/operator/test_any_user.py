# SPDX-License-Identifier: Apache-2.0
"""The operator as a container that may write to /tmp alone, as a user whom nobody chose."""

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from testbed.bed import TestBed
from tests.runner.operator.conftest import PROJECT, Cluster
from tests.support.operators import Operator, launch
from tests.support.places import ROOT
from tests.support.waiting import eventually

pytestmark = [
    pytest.mark.api,
    pytest.mark.skipif(
        os.geteuid() != 0 and "CI" not in os.environ, reason="only root mounts a root file system"
    ),
]
CONFINED = ROOT / "tests" / "support" / "confined.sh"
USER = 1000680000
"""As OpenShift chooses them; see `CONFINED`."""
HOMES = {"home of the image": {"HOME": "/opt/ansible"}, "none, as without an entry": {"HOME": "/"}}


def started(bed: TestBed, folder: Path, namespace: str, environment: Mapping[str, str]) -> Operator:
    """An operator whose image is the folders that it needs, with the project at /opt/ansible."""
    root, project = folder / "root", folder / "project"
    root.mkdir()
    shutil.copytree(PROJECT, project)
    shutil.copy(bed.kubeconfig, project / "kubeconfig")
    (project / "kubeconfig").chmod(0o644)
    shown = [ROOT, sys.base_prefix, f"{project}:/opt/ansible"]
    return launch(
        Path("/opt/ansible/kubeconfig"),
        folder,
        "--run-directory=/tmp/ansible-operator/runner",
        project=project,
        variables={"WATCH_NAMESPACE": namespace, "TMPDIR": "/tmp", **environment},
        inside=["unshare", "--mount", CONFINED, root, *shown, "--"],
    )


@pytest.fixture(params=list(HOMES))
def anybody(
    request: pytest.FixtureRequest, definitions: TestBed, cluster: Cluster, tmp_path: Path
) -> Iterator[Operator]:
    operator = started(definitions, tmp_path, cluster.name, HOMES[request.param])
    yield operator
    operator.stop()


def test_objects_live_under_a_user_without_a_name_and_a_read_only_root(
    anybody: Operator, cluster: Cluster
) -> None:
    cluster.create("Memcached", "anybody", {"size": 2})
    cluster.wait_for("memcacheds.runner.example.com", "anybody", "Successful")
    assert cluster.get("deployment", "anybody")["spec"]["replicas"] == 2

    status = Path(f"/proc/{anybody.process.pid}/status").read_text()
    ids = {line.split()[0]: line.split()[1:] for line in status.splitlines()}
    assert (ids["Uid:"], ids["Gid:"]) == ([str(USER)] * 4, ["0"] * 4)
    assert int(ids["CapBnd:"][0], 16) == int(ids["CapEff:"][0], 16) == 0
    inside = Path(f"/proc/{anybody.process.pid}/root")
    assert [path for path in (inside, inside / "opt/ansible") if os.access(path, os.W_OK)] == []
    assert list((inside / "tmp").iterdir())

    cluster.kubectl("delete", "memcacheds.runner.example.com", "anybody", "--timeout=30s")
    eventually(lambda: not cluster.get("deployment", "anybody"))
