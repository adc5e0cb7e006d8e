# SPDX-License-Identifier: Apache-2.0
"""The operator's process and the environment that the first operator knew."""

import http.client
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from testbed.bed import TestBed
from tests.early.conftest import Space
from tests.early.resources import KIND, early
from tests.support.operator_rights import account, refusals
from tests.support.operators import running_operator
from tests.support.places import ROOT
from tests.support.ports import free_port
from tests.support.waiting import eventually

pytestmark = pytest.mark.api

FINALIZER = "deletepvc.finalizers.matrixone.matrixorigin.cn"


@pytest.fixture
def spaces(installed_testbed: TestBed) -> "list[Space]":
    """Return three namespaces, taken away at the end."""
    made = []
    with (
        installed_testbed.namespace("a") as first,
        installed_testbed.namespace("b") as second,
        installed_testbed.namespace("denied") as third,
    ):
        made = [Space(installed_testbed, name) for name in (first, second, third)]
        yield made


def served(space: Space) -> bool:
    return bool(space.cluster("mo").get("status"))


def test_t01_t29_t30_t31_t32_ready_and_only_where_it_may_work(
    spaces: list[Space], installed_testbed: TestBed, tmp_path: Path
) -> None:
    """WATCH_NAMESPACE and DENY_LIST are lists; spaces in them do not count."""
    first, second, denied = spaces
    outside = installed_testbed.namespace("outside")
    port = free_port()
    with (
        outside as name,
        running_operator(
            installed_testbed.kubeconfig,
            tmp_path,
            f"--health-probe-bind-address=127.0.0.1:{port}",
            WATCH_NAMESPACE=f"{first.name}, {second.name},{denied.name}",
            DENY_LIST=f"kube-system, {denied.name}",
        ) as log,
    ):
        other = Space(installed_testbed, name)
        eventually(lambda: _answers(port, "/readyz"), 30)
        assert _answers(port, "/healthz")
        denied.kubectl("apply", "-f", str(ROOT / "examples" / "tiny-cluster.yaml"))
        for space in (*spaces, other):
            space.apply(early("mo"))
        eventually(lambda: served(first) and served(second))
        first.wait("mo")
        time.sleep(2)
        for left in (denied, other):
            untouched = left.cluster("mo")
            assert "status" not in untouched
            assert not untouched["metadata"].get("finalizers")
            assert left.named("mo") == set()
        current = denied.get("mo", "mo")  # the namespaces are ignored for all kinds
        assert not {"status", "finalizers"} & {*current, *current["metadata"]}
        said = [line for line in log.read_text().splitlines() if "namespace is ignored" in line]
        assert [denied.name in line for line in said] == [True, True]
        for space in (*spaces, other):
            space.kubectl("delete", KIND, "mo", "--timeout=60s")


def _answers(port: int, path: str) -> bool:
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except OSError:
        return False


@pytest.mark.parametrize("wait", ["10", "soon"])
def test_t33_a_period_that_is_none_ends_the_start_with_a_reason(
    installed_testbed: TestBed, wait: str
) -> None:
    done = subprocess.run(
        [
            *(str(Path(sys.executable).parent / "ansible-operator"), "run"),
            *("--watches-file", str(ROOT / "watches.yaml")),
        ],
        env={
            **os.environ,
            "KUBECONFIG": str(installed_testbed.kubeconfig),
            "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"),
            "RECONCILE_WAIT": wait,
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert "environment variable RECONCILE_WAIT: time: " in done.stdout + done.stderr
    assert "write e.g. 10s" in done.stdout + done.stderr


def test_t33_t35_t36_the_whole_life_with_the_rights_of_one_namespace(
    spaces: list[Space], installed_testbed: TestBed, tmp_path: Path
) -> None:
    """The operator's own ServiceAccount and nothing else; `10s` is a period.

    Of two operators, the second waits for the lease.
    """
    space = spaces[0]
    kubeconfig = account(installed_testbed, space.name, tmp_path / "kubeconfig")
    flags = ("--leader-elect", "--leader-election-id", "early")
    flags += ("--leader-election-namespace", space.name)
    variables = {"WATCH_NAMESPACE": space.name, "RECONCILE_WAIT": "10s"}
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        folder.mkdir()
    with (
        running_operator(kubeconfig, folders[0], *flags, **variables) as first,
        running_operator(kubeconfig, folders[1], *flags, **variables) as second,
    ):
        space.apply(early("mo"))
        space.wait("mo")
        space.patch("mo", dataVolumeCap="20Gi", serviceType="NodePort")
        space.settled("mo")
        space.kubectl("delete", KIND, "mo", "--timeout=60s")
        worked = ["exited successfully" in log.read_text() for log in (first, second)]
        assert sorted(worked) == [False, True]
        assert refusals(first) + refusals(second) == []
    assert space.named("mo", "statefulset,service,pvc") == set()
