# SPDX-License-Identifier: Apache-2.0
"""What the log of a whole operator holds, and what it never does."""

import base64
from pathlib import Path

import pytest

from tests.runner.operator.conftest import Cluster, Start
from tests.support.operators import Operator
from tests.support.places import ROOT
from tests.support.waiting import eventually

pytestmark = pytest.mark.api
PROJECT = Path(__file__).with_name("advanced")
SECRET = "hushhush-4711"  # what playbooks/secretive.yml makes of its vaulted variable


@pytest.fixture(scope="module")
def operator(start_shared: Start, cluster: Cluster) -> Operator:
    """An operator that tells as much as it can."""
    return start_shared(
        cluster.name,
        f"--ansible-args='--vault-password-file {PROJECT / 'vault-password'}'",
        "--ansible-log-events=everything",
        "--ansible-verbosity=4",
        project=PROJECT,
        ANSIBLE_DEBUG_LOGS="true",
        ANSIBLE_COLLECTIONS_PATH=f"{PROJECT / 'collections'}:{ROOT / '.collections'}",
    )


def test_the_log_has_the_lines_that_scripts_search_for(
    cluster: Cluster, operator: Operator
) -> None:
    cluster.create("ReconciliationTest", "searched", {"iterations": 5})
    eventually(lambda: operator.lines("Ansible-runner exited successfully", name="searched"))
    path = f"/api/v1/namespaces/{cluster.name}/configmaps/searched"
    eventually(
        lambda: (
            f'"Skipping cache lookup","resource":{{"IsResourceRequest":true,"Path":"{path}"'
            in operator.text()
        )
    )
    (injected, *_) = operator.lines("Injecting owner reference")
    assert injected["gvk"] == "/v1, Kind=ConfigMap"
    assert operator.lines("Watching child resource", kind="/v1, Kind=ConfigMap")
    gvk = "test.example.com/v1alpha1, Kind=ReconciliationTest"
    known = {"GroupVersionKind": gvk, "Name": "searched", "Namespace": cluster.name}
    assert operator.lines("Metrics handler event", **known, **{"Event type": "Create"})
    cluster.kubectl("patch", "configmap", "searched", '-p={"data":{"iterations":"9"}}')
    foreign = {"Event type": "Update", "Owner Name": "searched"}
    eventually(lambda: operator.lines("OwnerReference handler event", **foreign))
    reasons = {line["reason"] for line in operator.lines("Ansible-runner exited successfully")}
    assert "created" in reasons


def test_secrets_stay_out_of_logs_and_artifacts(cluster: Cluster, operator: Operator) -> None:
    cluster.create("SecretiveTest", "quiet", {"field": "value"})
    cluster.wait_for("secretivetests", "quiet", "Successful")
    stored = cluster.get("secret", "quiet")
    encoded = base64.b64encode(SECRET.encode()).decode()
    assert stored["data"] == {"word": encoded}
    artifacts = eventually(lambda: _written(operator.runs))
    assert any(path.parent.name == "job_events" for path in artifacts)
    everything = operator.text() + "".join(path.read_text(errors="replace") for path in artifacts)
    assert "the output has been hidden" in everything
    for secret in (SECRET, encoded):
        assert secret not in everything
    told = cluster.kubectl("get", "events,secretivetests", "-o", "yaml")
    assert SECRET not in told
    assert encoded not in told


def _written(runs: Path) -> list[Path] | None:
    """Return the files of all artifacts; None while one is being written, and gets its name."""
    found = [path for path in runs.rglob("artifacts/**/*") if path.is_file()]
    return None if any(path.suffix == ".tmp" for path in found) else found
