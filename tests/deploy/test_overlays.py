# SPDX-License-Identifier: Apache-2.0
"""The role's manifests are what kustomize makes of the same overlays."""

from typing import Any

import pytest
import yaml

from deploy.generate import overlays
from testbed.bed import TestBed
from tests.support.places import ROOT

OVERLAYS = sorted(path.name for path in (ROOT / "deploy" / "overlays").iterdir())


def by_identity(documents: Any) -> dict[tuple[str, str], Any]:
    return {(each["kind"], each["metadata"]["name"]): each for each in documents if each}


@pytest.mark.api
@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_roles_file_is_what_kustomize_builds(overlay: str, fake_testbed: TestBed) -> None:
    built = fake_testbed.kubectl("kustomize", str(ROOT / "deploy" / "overlays" / overlay))
    theirs = by_identity(yaml.safe_load_all(built))
    text = (ROOT / "roles" / "operator" / "files" / f"{overlay}.yaml").read_text()
    ours = by_identity(yaml.safe_load(text))
    for identity, manifest in theirs.items():
        # kustomize writes the namespace down; the role puts the user's own there.
        if manifest["metadata"].get("namespace") == "matrixone-operator":
            del manifest["metadata"]["namespace"]
        ours[identity]["metadata"].pop("namespace", None)
    assert ours == theirs


def test_what_is_not_read_is_refused(tmp_path: Any) -> None:
    folder = tmp_path / "deploy" / "overlays" / "new"
    folder.mkdir(parents=True)
    (folder / "kustomization.yaml").write_text("namePrefix: my-\n")
    with pytest.raises(overlays.OverlayError, match="namePrefix"):
        overlays.build(folder, tmp_path, {})
