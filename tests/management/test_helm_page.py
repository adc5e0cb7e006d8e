# SPDX-License-Identifier: Apache-2.0
"""The commands of docs/install-helm.md, on a test bed whose CRDs nobody else has applied."""

import os
from pathlib import Path

import pytest

from testbed import building
from testbed.bed import TestBed
from tests.charts.releases import ROOT
from tests.docs.pages import read
from tests.docs.sessions import Session

pytestmark = pytest.mark.api


def test_c32_the_commands_of_the_page_work(
    bed: TestBed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = building.provide(["helm"])["helm"]
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    for place in ("CACHE", "CONFIG", "DATA"):
        monkeypatch.setenv(f"HELM_{place}_HOME", str(tmp_path / place.lower()))
    with bed.namespace("page") as space:
        session = Session(bed, tmp_path, space)
        try:
            session.play(read(ROOT / "docs" / "install-helm.md"))
        finally:
            session.end()
            bed.kubectl("delete", "namespace", "matrixone-operator", "team-a", "--ignore-not-found")
            bed.kubectl("delete", "crd", "-l", "app.kubernetes.io/part-of=matrixone")
