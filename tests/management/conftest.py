# SPDX-License-Identifier: Apache-2.0
"""A release of the operator's chart on fake nodes, for what helm itself does."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import testbed
from testbed.bed import TestBed
from tests.charts.releases import Helm

RELEASE = "matrixone-operator"
QUICK = ("--set", "crds.enabled=false")
"""For tests that have nothing to do with CRDs, which are half a megabyte each time."""
LABEL = "app.kubernetes.io/name=matrixone-operator"


@dataclass(frozen=True)
class Management:
    """The commands of the management guide, `NS` being a fresh namespace.

    Attributes:
        folder: where charts are packaged and unpacked.
    """

    bed: TestBed
    space: str
    program: Helm
    folder: Path

    def helm(self, command: str, *arguments: str | Path) -> str:
        """Type ``helm COMMAND -n NS …``."""
        return self.program(command, "-n", self.space, *arguments)

    def install(self, chart: Path, *arguments: str) -> str:
        """Type ``helm install``, and wait until the operator is there."""
        wait = ("--create-namespace", "--wait", "--timeout=90s")
        return self.helm("install", RELEASE, chart, *wait, *arguments)

    def upgrade(self, chart: Path, *arguments: str) -> str:
        """Type ``helm upgrade``, and wait until the operator is there."""
        wait = ("--dependency-update", "--wait", "--timeout=90s")
        return self.helm("upgrade", RELEASE, chart, *wait, *arguments)

    def kubectl(self, *arguments: str) -> str:
        """Type ``kubectl -n NS …``."""
        return self.bed.kubectl("-n", self.space, *arguments)

    def get(self, *what: str) -> dict[str, Any]:
        """Return what ``kubectl get`` shows."""
        return dict(json.loads(self.kubectl("get", *what, "-o", "json")))

    def pods(self) -> dict[str, dict[str, Any]]:
        """Return the operator's Pods by uid, those that go left out."""
        listed = self.get("pods", "-l", LABEL)["items"]
        there = [one for one in listed if "deletionTimestamp" not in one["metadata"]]
        return {one["metadata"]["uid"]: one for one in there}


@pytest.fixture(scope="module")
def bed() -> Iterator[TestBed]:
    """A test bed of its own: a release has the CRDs to itself, which others have applied elsewhere.

    ``TESTBED_MANAGEMENT`` names one to use instead.
    """
    kept = os.environ.get("TESTBED_MANAGEMENT")
    name = kept or f"pytest-management-{os.getpid()}"
    try:
        yield testbed.up(name, nodes="fake")
    finally:
        if not kept:
            testbed.down(name)


@pytest.fixture(scope="module")
def space(bed: TestBed) -> Iterator[str]:
    """The namespace of all releases: those that come later take over the CRDs of the first."""
    with bed.namespace("management") as name:
        yield name
    bed.kubectl("delete", "crd", "-l", "app.kubernetes.io/part-of=matrixone", "--timeout=60s")


@pytest.fixture
def management(bed: TestBed, space: str, tmp_path: Path) -> Iterator[Management]:
    """Give the commands, and remove the release afterwards."""
    home = tmp_path / "home"
    home.mkdir()
    made = Management(bed, space, Helm(home, bed.kubeconfig), tmp_path)
    try:
        yield made
    finally:
        made.helm("uninstall", RELEASE, "--no-hooks", "--ignore-not-found", "--wait")
