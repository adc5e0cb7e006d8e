# SPDX-License-Identifier: Apache-2.0
"""The management guide by Ansible: on fake nodes, whose Pods run no operator.

One test per row of the guide's table, named after it. They share an operator, in the order of the
file.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from testbed.bed import TestBed
from tests.management.conftest import LABEL
from tests.support.places import ROOT
from tests.support.plays import Played, play
from tests.support.waiting import eventually

pytestmark = pytest.mark.api
SPACE = "tools"
NAME = "matrixone-operator"
IMAGE = "matrixorigin/matrixone-ansible-operator"
Play = Callable[..., Played]


@pytest.fixture(scope="module")
def played(bed: TestBed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Play]:
    """Type ``ansible-playbook matrixorigin.matrixone.… -e operator_namespace=tools …``."""
    home = tmp_path_factory.mktemp("ansible")

    def run(playbook: str, *options: str) -> Played:
        where = ("-e", f"operator_namespace={SPACE}", "-e", "operator_wait_timeout=60")
        return play(playbook, bed.kubeconfig, home, *where, *options)

    yield run
    run("uninstall", "-e", "confirm=true", "-e", "policy=keep")
    bed.kubectl("delete", "namespace", SPACE, "--ignore-not-found")


@pytest.fixture(scope="module")
def installed(played: Play) -> Played:
    """The first installation."""
    done = played("operator")
    assert done.code == 0, done.output
    return done


def pods(bed: TestBed) -> dict[str, dict[str, Any]]:
    """The operator's Pods by uid, those that go left out."""
    listed = json.loads(bed.kubectl("-n", SPACE, "get", "pods", "-l", LABEL, "-o", "json"))["items"]
    there = [one for one in listed if "deletionTimestamp" not in one["metadata"]]
    return {one["metadata"]["uid"]: one for one in there}


def image(bed: TestBed) -> str:
    path = "jsonpath={.items[0].spec.containers[0].image}"
    return bed.kubectl("-n", SPACE, "get", "pod", "-l", LABEL, "-o", path)


def test_nothing_happens_in_check_mode(bed: TestBed, played: Play) -> None:
    done = played("operator", "--check", "--diff")
    assert done.code == 0, done.output
    assert SPACE not in bed.kubectl("get", "namespace", "-o", "name")


def test_c02_install(bed: TestBed, played: Play, installed: Played) -> None:
    """Kinds and operator are there, and doing it again changes nothing."""
    deployment = ("-n", SPACE, "wait", f"deploy/{NAME}", "--for=condition=Available")
    bed.kubectl(*deployment, "--timeout=120s")
    listed = bed.kubectl("api-resources", "--api-group=core.matrixorigin.io").split()
    assert {"MatrixOneCluster", "LogSet", "DNSet", "CNSet"} <= set(listed)

    again = played("operator", "-e", "operator_crds=true", "-e", "operator_wait=true")
    assert again.code == 0, again.output
    assert again.counts["changed"] == 0


def test_c27_scale(bed: TestBed, played: Play, installed: Played) -> None:
    """Out to two nodes without a restart of the first Pod, and in again."""
    one = played("operator", "-e", "operator_replicas=1")
    assert one.code == 0, one.output
    eventually(lambda: len(pods(bed)) == 1, 30)
    [first] = pods(bed)

    two = played("operator", "-e", "operator_replicas=2")
    assert two.code == 0, two.output
    now = pods(bed)
    assert first in now
    assert {pod["status"]["phase"] for pod in now.values()} == {"Running"}
    assert len({pod["spec"]["nodeName"] for pod in now.values()}) == 2

    assert played("operator", "-e", "operator_replicas=1").code == 0
    eventually(lambda: len(pods(bed)) == 1, 30)
    assert set(pods(bed)) < set(now)


def test_c19_upgrade(bed: TestBed, played: Play, installed: Played) -> None:
    """The image changes and nothing else; a new Pod comes before the old one goes."""
    ignoring = '{"operator_environment": {"DENY_LIST": "old"}}'
    assert played("operator", "-e", ignoring).code == 0
    eventually(lambda: len(pods(bed)) == 2, 30)
    before = pods(bed)
    assert not image(bed).endswith(":9.9.9")

    dry = played("upgrade", "-e", "operator_version=9.9.9", "--check", "--diff")
    assert dry.code == 0, dry.output
    changed = [line for line in dry.output.splitlines() if re.match(r"[+-] ", line)]
    # That of the container, and that of the Jobs of backups.
    assert [line.partition(":9.9.9")[1] for line in changed] == ["", ":9.9.9"] * 2, dry.output
    assert all(f"{IMAGE}:" in line for line in changed), changed
    assert pods(bed).keys() == before.keys()

    done = played("upgrade", "-e", "operator_version=9.9.9")
    assert done.code == 0, done.output
    eventually(lambda: not before.keys() & pods(bed).keys(), 30)
    assert image(bed) == f"{IMAGE}:9.9.9"
    spec = json.loads(bed.kubectl("-n", SPACE, "get", "deploy", NAME, "-o", "json"))["spec"]
    assert spec["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}
    assert spec["replicas"] == len(before)
    [container] = spec["template"]["spec"]["containers"]
    assert {"name": "DENY_LIST", "value": "old"} in container["env"]


def test_c31_uninstall(bed: TestBed, played: Play, installed: Played) -> None:
    """Not without being sure; then nothing is left but the definitions."""
    unsure = played("uninstall")
    assert unsure.code != 0
    assert "operator_confirm=true" in unsure.output
    assert pods(bed)

    with bed.namespace("databases") as space:
        bed.kubectl("-n", space, "apply", "-f", str(ROOT / "examples" / "tiny-cluster.yaml"))
        refused = played("uninstall", "-e", "confirm=true")
        assert refused.code != 0
        assert "1 resources need the operator: mo." in refused.output
        kept = played("uninstall", "-e", "confirm=true", "-e", "policy=keep")
        assert kept.code == 0, kept.output
        assert bed.kubectl("-n", space, "get", "mo", "-o", "name").split()

    left = bed.kubectl("-n", SPACE, "get", "deployment,role,rolebinding", "-o", "name")
    assert left.split() == []
    assert "matrixone" not in bed.kubectl("get", "clusterrole,clusterrolebinding", "-o", "name")
    assert played("uninstall", "-e", "confirm=true").counts["changed"] == 0
