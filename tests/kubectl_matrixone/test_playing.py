# SPDX-License-Identifier: Apache-2.0
"""Rendering by the playbook: what it gives, and what is said where it cannot be played."""

from pathlib import Path

import pytest
import yaml

from kubectl_matrixone.errors import PluginError
from kubectl_matrixone.playing import rendered
from tests.support.places import ROOT

MANIFEST = (ROOT / "examples" / "tiny-cluster.yaml").read_text()


def test_the_collection_renders_a_cluster() -> None:
    found = [one for one in yaml.safe_load_all(rendered(MANIFEST, "shop")) if one]
    kinds = {one["kind"] for one in found}
    assert {"StatefulSet", "Service", "ConfigMap"} <= kinds
    assert {one["metadata"]["namespace"] for one in found} == {"shop"}


def test_a_manifest_with_a_mistake_is_explained() -> None:
    with pytest.raises(PluginError, match="replicaz") as found:
        rendered(MANIFEST.replace("replicas:", "replicaz:", 1), "shop")
    assert "Traceback" not in str(found.value)


def test_without_ansible_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(PluginError, match="ansible-playbook is not on PATH"):
        rendered(MANIFEST, "shop")


def test_without_the_collection_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANSIBLE_COLLECTIONS_PATH", str(tmp_path))
    monkeypatch.setenv("ANSIBLE_COLLECTIONS_SCAN_SYS_PATH", "false")
    with pytest.raises(PluginError, match="the collection is not installed: ansible-galaxy"):
        rendered(MANIFEST, "shop")
