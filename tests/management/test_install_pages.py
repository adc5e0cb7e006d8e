# SPDX-License-Identifier: Apache-2.0
"""The commands of pages that install, on a test bed whose CRDs nobody else has applied."""

import hashlib
import io
import json
import os
import shutil
import tarfile
from pathlib import Path

import pytest

from testbed import building
from testbed.bed import TestBed
from tests.docs.pages import Command, read
from tests.docs.sessions import Session
from tests.support.places import ROOT

pytestmark = pytest.mark.api
DOCS = ROOT / "docs"
PAGES = ("install-airgapped.md", "install-helm.md", "install-playbook.md")
SHIPPED = ("plugins", "roles", "playbooks", "crds", "examples", "meta", "changelogs")


@pytest.mark.parametrize("page", PAGES)
def test_c32_the_commands_of_the_page_work(
    bed: TestBed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: str
) -> None:
    program = building.provide(["helm"])["helm"]
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    for place in ("CACHE", "CONFIG", "DATA"):
        monkeypatch.setenv(f"HELM_{place}_HOME", str(tmp_path / place.lower()))
    if page == "install-airgapped.md":
        _copy_the_sources(tmp_path)
        _pack_kubernetes_core(tmp_path / "carry" / "collections")
    with bed.namespace("page") as space:
        session = Session(bed, tmp_path, space)
        try:
            session.play(read(DOCS / page))
        finally:
            session.end()
            bed.kubectl("delete", "namespace", "matrixone-operator", "team-a", "--ignore-not-found")
            bed.kubectl("delete", "crd", "-l", "app.kubernetes.io/part-of=matrixone")


def _copy_the_sources(folder: Path) -> None:
    """What a collection is built from; it leaves links out."""
    for name in SHIPPED:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for path in ROOT.iterdir():
        if path.is_file():
            shutil.copy(path, folder)


def _pack_kubernetes_core(folder: Path) -> None:
    """The artifact that Galaxy would have given, without what PyPI's copy of it leaves out."""
    folder.mkdir(parents=True)
    installed = ROOT / ".collections" / "ansible_collections" / "kubernetes" / "core"
    listed = json.loads((installed / "FILES.json").read_text())
    listed["files"] = [one for one in listed["files"] if (installed / one["name"]).exists()]
    files = json.dumps(listed).encode()
    manifest = json.loads((installed / "MANIFEST.json").read_text())
    manifest["file_manifest_file"]["chksum_sha256"] = hashlib.sha256(files).hexdigest()
    with tarfile.open(folder / "kubernetes-core.tar.gz", "w:gz", compresslevel=1) as archive:
        for name, content in {
            "MANIFEST.json": json.dumps(manifest).encode(),
            "FILES.json": files,
        }.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
        for one in listed["files"]:
            if one["name"] != ".":
                archive.add(installed / one["name"], one["name"], recursive=False)


def test_all_pages_that_need_this_bed_are_played() -> None:
    pages = [read(path) for path in sorted(DOCS.rglob("*.md"))]
    elsewhere = [
        page.path.name
        for page in pages
        if page.session == "elsewhere" and any(isinstance(one, Command) for one in page.steps)
    ]
    assert tuple(elsewhere) == PAGES
