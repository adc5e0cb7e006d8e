# SPDX-License-Identifier: Apache-2.0
"""The playbooks take what kubectl takes, and lose nothing to a typo."""

import json
from pathlib import Path

import pytest
import yaml

from tests.support.namespaces import Namespace
from tests.support.plays import play

from .conftest import tiny_cluster

pytestmark = pytest.mark.api


def test_a_file_as_kubectl_takes_it_and_a_typo_that_changes_nothing(
    play_cluster, tmp_path: Path, fake_testbed, fake_namespace
) -> None:
    """Several documents, lists, dates, texts in braces, a Secret, and what a server has added.

    A misspelt policy would make a cluster that retains its volumes one that deletes them.
    """
    canary = tmp_path / "canary"
    braces = f"{{{{ lookup('pipe', 'touch {canary}') }}}}"
    cluster = tiny_cluster(fake_namespace)
    del cluster["metadata"]["namespace"]
    cluster["spec"]["logService"]["pvcRetentionPolicy"] = "Retain"
    cluster["metadata"]["annotations"] = {"example.com/note": braces}
    cluster["metadata"] |= {"uid": "0", "resourceVersion": "1", "generation": 4}
    cluster["spec"]["cnGroups"][0]["overlay"] = {"podAnnotations": {"note": braces, "when": "WHEN"}}
    cluster["status"] = {"phase": "Ready"}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "keys"}}
    text = yaml.safe_dump({**secret, "stringData": {"key": "not-for-logs"}})
    text += "---\n" + yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": [cluster]})
    manifest = tmp_path / "manifest.yaml"
    manifest.write_text(text.replace("WHEN", "2026-01-31"))
    variables = {"manifest": str(manifest), "namespace": fake_namespace, "wait_timeout": 60}

    played = play(
        "cluster", fake_testbed.kubeconfig, tmp_path / "ansible", "-vv", "-e", json.dumps(variables)
    )

    assert played.code == 0, played.output
    assert not canary.exists()
    assert "not-for-logs" not in played.output
    space = Namespace(fake_testbed, fake_namespace)
    assert space.get("secret", "keys")["data"]
    pod = space.get("deployment", "mo-tp-cn")["spec"]["template"]["metadata"]["annotations"]
    assert pod["note"] == braces
    assert pod["when"] == "2026-01-31"
    before = space.get("statefulset", "mo-log")["spec"]["persistentVolumeClaimRetentionPolicy"]
    assert before["whenDeleted"] == "Retain"

    misspelt = tiny_cluster(fake_namespace)
    misspelt["spec"]["logService"]["pvcRetentionPolicie"] = "Retain"
    misspelt["spec"]["proxi"] = misspelt["spec"].pop("proxy")
    refused = play_cluster(misspelt)

    assert refused.code != 0
    said = "spec.logService.pvcRetentionPolicie: unknown field; did you mean pvcRet"
    assert said in refused.output
    assert "spec.proxi: unknown field; did you mean proxy?" in refused.output
    after = space.get("statefulset", "mo-log")["spec"]["persistentVolumeClaimRetentionPolicy"]
    assert after == before
    assert space.get("deployment", "mo-proxy")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "kind: Secret\napiVersion: v1\nmetadata: {name: x}",
            "MatrixOneCluster is needed, not Secret x",
        ),
        ("kind: MatrixOneCluster\nmetadata: {}", "metadata.name must be set"),
        ("kind: MatrixOneCluster\nmetadata: {name: x}", "apiVersion must be set"),
        ("a: [", "is not valid YAML"),
        ("", "holds no object"),
    ],
)
def test_an_unusable_file_is_named(tmp_path: Path, fake_testbed, text: str, message: str) -> None:
    manifest = tmp_path / "manifest.yaml"
    manifest.write_text(text)
    variables = json.dumps({"manifest": str(manifest)})
    played = play("cluster", fake_testbed.kubeconfig, tmp_path / "ansible", "-e", variables)
    assert played.code != 0
    assert message in played.output
    assert str(manifest) in played.output or "is needed" in message
