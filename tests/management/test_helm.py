# SPDX-License-Identifier: Apache-2.0
"""The management guide, what helm does: on fake nodes, whose Pods run no operator.

One test per row of the guide's table, named after it. What needs a living operator is tested on the
real node.
"""

import base64
import json
import shutil
import subprocess
import tarfile
import time
from collections import Counter
from pathlib import Path

import pytest
import yaml

from testbed.bed import KubectlError
from tests.charts.releases import OPERATOR, HelmError, earlier
from tests.management.conftest import LABEL, QUICK, RELEASE, Management
from tests.support.places import ROOT
from tests.support.waiting import eventually

pytestmark = pytest.mark.api
IMAGE = "matrixorigin/matrixone-ansible-operator"
VERSION = yaml.safe_load((OPERATOR / "Chart.yaml").read_text())["version"]
KINDS = {"MatrixOneCluster", "LogSet", "DNSet", "CNSet", "ProxySet", "WebUI"}


def test_c01_installing_registers_the_kinds_and_starts_the_operator(management: Management) -> None:
    output = management.install(OPERATOR)

    assert "STATUS: deployed" in output
    assert f"kubectl wait -n {management.space} deploy/{RELEASE}" in output
    management.kubectl("wait", f"deploy/{RELEASE}", "--for=condition=Available", "--timeout=120s")
    listed = management.kubectl("api-resources", "--api-group=core.matrixorigin.io")
    assert set(listed.split()) >= KINDS


def test_c03_clients_read_and_write_the_kinds(management: Management) -> None:
    management.install(OPERATOR)

    examples = str(ROOT / "examples" / "tiny-cluster.yaml")
    assert "created (server dry run)" in management.kubectl(
        "apply", "--dry-run=server", "-f", examples
    )
    management.kubectl("get", "matrixoneclusters,logsets,dnsets,cnsets", "-A")
    assert "logService" in management.kubectl("explain", "matrixonecluster.spec")


def test_c11_helm_shows_what_is_installed(management: Management) -> None:
    management.install(OPERATOR, *QUICK)

    [release] = management.program.list(management.space)

    assert release["name"] == RELEASE
    assert release["revision"] == "1"
    assert release["status"] == "deployed"
    assert release["chart"] == f"{OPERATOR.name}-{VERSION}"
    assert release["app_version"] == VERSION


def test_c12_a_packaged_chart_is_installed_from_its_unpacked_folder(management: Management) -> None:
    management.program("package", OPERATOR, "-d", management.folder)
    with tarfile.open(management.folder / f"{OPERATOR.name}-{VERSION}.tgz") as archive:
        archive.extractall(management.folder, filter="data")
    unpacked = management.folder / OPERATOR.name

    assert "kind: Deployment" in management.program("template", unpacked)
    assert "STATUS: deployed" in management.install(unpacked)


def test_c13_upgrade_from_the_version_before(management: Management) -> None:
    management.install(earlier(management.folder))

    output = management.upgrade(OPERATOR)

    assert "STATUS: deployed" in output
    assert "REVISION: 2" in output
    history = json.loads(management.helm("history", RELEASE, "-o", "json"))
    assert [entry["app_version"] for entry in history] == ["0.0.9", VERSION]


def test_c14_the_version_is_readable_from_the_pod(management: Management) -> None:
    management.install(earlier(management.folder), *QUICK)
    path = "jsonpath={.items[0].spec.containers[0].image}"
    assert management.kubectl("get", "pod", "-l", LABEL, "-o", path) == f"{IMAGE}:0.0.9"

    management.upgrade(OPERATOR, *QUICK)

    [pod] = management.pods().values()
    assert pod["spec"]["containers"][0]["image"] == f"{IMAGE}:{VERSION}"
    assert "operator" in pod["metadata"]["name"]


def test_c15_a_new_pod_comes_before_the_old_one_goes(management: Management) -> None:
    management.install(earlier(management.folder), *QUICK)
    deployment = f"deploy/{RELEASE}"
    watch = subprocess.Popen(
        [
            *(management.bed.kubectl_path, f"--kubeconfig={management.bed.kubeconfig}"),
            *("-n", management.space, "get", deployment, "-w", "--output-watch-events"),
            *("-o", "jsonpath={.object.status.readyReplicas},"),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        management.upgrade(OPERATOR, *QUICK)
    finally:
        watch.terminate()
        seen, _ = watch.communicate(timeout=30)
    ready = [number for number in seen.split(",") if number]
    assert ready
    assert set(ready) <= {"1", "2"}

    [before] = management.pods()
    with pytest.raises(HelmError, match="not ready"):
        management.helm(
            *("upgrade", RELEASE, OPERATOR, *QUICK, "--set", "image.tag=broken"),
            *("--wait", "--timeout=5s"),
        )
    pods = management.pods()
    states = {pod["status"]["phase"] for uid, pod in pods.items() if uid != before}
    assert states == {"Pending"}
    assert pods[before]["status"]["conditions"][-1]["status"] == "True"
    assert management.get(deployment)["status"]["readyReplicas"] == 1
    [release] = management.program.list(management.space)
    assert release["status"] == "failed"


def test_c16_crds_are_upgraded_with_the_operator(management: Management) -> None:
    def explained() -> str:
        try:
            return management.kubectl("explain", "matrixonecluster.spec.webui")
        except KubectlError as error:
            return str(error)

    # What kubectl explain shows, the server makes anew a moment after a definition has changed.
    management.install(earlier(management.folder))
    eventually(lambda: 'field "webui" does not exist' in explained())
    example = str(ROOT / "examples" / "tiny-cluster.yaml")
    management.kubectl("apply", "-f", example)

    management.upgrade(OPERATOR)

    eventually(lambda: "dashboard" in explained())
    assert management.get("mo", "mo")["spec"]["version"] == "3.0.18"
    management.kubectl("delete", "mo", "mo")


def test_c20_rollback_brings_the_old_image_back(management: Management) -> None:
    management.install(earlier(management.folder), *QUICK)
    management.upgrade(OPERATOR, *QUICK)
    with pytest.raises(HelmError):
        management.upgrade(OPERATOR, *QUICK, "--set", "image.tag=broken", "--timeout=5s")

    management.helm("rollback", RELEASE, "1", "--wait", "--timeout=60s")

    [pod] = management.pods().values()
    assert pod["spec"]["containers"][0]["image"] == f"{IMAGE}:0.0.9"
    [release] = management.program.list(management.space)
    assert (release["status"], release["revision"]) == ("deployed", "4")


def test_c21_one_small_replica_by_default(management: Management) -> None:
    management.install(OPERATOR, *QUICK, "--set", "resources.limits.memory=2Gi")

    deployment = management.get("deploy", RELEASE)
    [container] = deployment["spec"]["template"]["spec"]["containers"]

    assert deployment["spec"]["replicas"] == 1
    assert container["resources"]["limits"] == {"memory": "2Gi"}
    assert container["resources"]["requests"]["cpu"] == "100m"


def test_c22_scaling_out_by_value(management: Management) -> None:
    management.install(OPERATOR, *QUICK)
    [first] = management.pods()

    output = management.upgrade(OPERATOR, *QUICK, "--set", "replicaCount=2")

    assert "REVISION: 2" in output
    pods = management.pods()
    assert len(pods) == 2
    assert first in pods
    assert {pod["status"]["phase"] for pod in pods.values()} == {"Running"}
    assert len({pod["spec"]["nodeName"] for pod in pods.values()}) == 2
    budget = management.get("pdb", RELEASE)
    assert budget["spec"]["maxUnavailable"] == 1


def test_c24_a_replica_that_cannot_start_gets_no_requests(management: Management) -> None:
    """Its image cannot be pulled; the Service knows the healthy one only."""
    management.install(OPERATOR, *QUICK)
    [healthy] = management.pods()
    with pytest.raises(HelmError, match="not ready"):
        management.upgrade(
            OPERATOR, *QUICK, "--set", "image.tag=broken,replicaCount=1", "--timeout=5s"
        )

    slices = management.get(
        "endpointslices", "-l", f"kubernetes.io/service-name={RELEASE}-metrics"
    )["items"]
    ready = Counter(
        (endpoint["targetRef"]["uid"], endpoint["conditions"]["ready"])
        for one in slices
        for endpoint in one["endpoints"] or []
    )
    assert len(management.pods()) == 2
    assert [uid for uid, is_ready in ready if is_ready] == [healthy]


def test_c25_scaling_in_by_value(management: Management) -> None:
    management.install(OPERATOR, *QUICK, "--set", "replicaCount=2")
    before = set(management.pods())

    management.upgrade(OPERATOR, *QUICK, "--set", "replicaCount=1")

    deadline = time.monotonic() + 30
    while len(management.pods()) > 1:
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert set(management.pods()) < before
    assert not management.get("pdb")["items"]


def test_c26_values_survive_when_they_are_reused(management: Management, tmp_path: Path) -> None:
    def replicas() -> int:
        return int(management.get("deploy", RELEASE)["spec"]["replicas"])

    def variables() -> set[str]:
        (container,) = management.get("deploy", RELEASE)["spec"]["template"]["spec"]["containers"]
        return {one["name"] for one in container["env"]}

    older = shutil.copytree(OPERATOR, tmp_path / OPERATOR.name)
    values = (older / "values.yaml").read_text()
    (older / "values.yaml").write_text(values.replace('reconcilePeriod: ""', "reconcilePeriod: 1h"))
    management.install(older, "--set", "replicaCount=2")
    assert "RECONCILE_PERIOD" in variables()
    management.upgrade(OPERATOR, "--reset-then-reuse-values", "--set", "log.level=debug")
    assert replicas() == 2
    # What was only a default of the older chart is the newer one's to decide.
    assert "RECONCILE_PERIOD" not in variables()
    # helm reuses values, too, when none are given at all…
    management.upgrade(OPERATOR)
    assert replicas() == 2
    # …and any other value, or a wish for it, brings the defaults back.
    management.upgrade(OPERATOR, "--set", "log.level=info")
    assert replicas() == 1


def test_c28_uninstall(management: Management) -> None:
    management.install(OPERATOR, "--set", "replicaCount=2")

    management.helm("uninstall", RELEASE, "--wait", "--timeout=60s")

    assert management.program.list(management.space) == []
    left = management.kubectl(
        *("get", "deploy,pod,service,configmap,serviceaccount,role,rolebinding,pdb,networkpolicy"),
        *("-l", f"app.kubernetes.io/instance={RELEASE}", "-o", "name"),
    )
    assert left == ""
    roles = management.bed.kubectl("get", "clusterrole,clusterrolebinding", "-o", "name")
    assert RELEASE not in roles


def test_c30_kept_clusters_outlive_the_release_and_meet_the_next(management: Management) -> None:
    management.install(OPERATOR, "--set", "uninstallPolicy=keep")
    management.kubectl("apply", "-f", str(ROOT / "examples" / "tiny-cluster.yaml"))
    uid = management.get("mo", "mo")["metadata"]["uid"]

    output = management.helm("uninstall", RELEASE, "--wait", "--timeout=60s")

    assert "[CustomResourceDefinition] matrixoneclusters.core.matrixorigin.io" in output
    kept = management.get("mo", "mo")["metadata"]
    assert (kept["uid"], kept.get("deletionTimestamp")) == (uid, None)
    assert "STATUS: deployed" in management.install(OPERATOR)
    assert management.get("mo", "mo")["metadata"]["uid"] == uid
    management.kubectl("delete", "mo", "mo")


def test_c30_an_uninstallation_that_cannot_run_its_check_ends_in_time(
    management: Management,
) -> None:
    """The image cannot be pulled, so that nobody can tell whether there are clusters."""
    management.helm(
        *("install", RELEASE, OPERATOR, "--create-namespace"),
        *("--set", "image.tag=broken,uninstallTimeoutSeconds=10"),
    )
    begun = time.monotonic()

    with pytest.raises(HelmError, match="uninstall"):
        management.helm("uninstall", RELEASE)

    assert time.monotonic() - begun < 60
    management.get("deploy", RELEASE)
    # Where helm stops there, the release is neither here nor there; a rollback mends that.
    with pytest.raises(HelmError, match="no deployed releases"):
        management.helm("upgrade", RELEASE, OPERATOR)
    management.helm("rollback", RELEASE, "1")
    assert "STATUS: deployed" in management.upgrade(OPERATOR, "--set", f"image.tag={VERSION}")
    assert "uninstalled" in management.helm("uninstall", RELEASE, "--wait", "--timeout=60s")


def test_two_releases_in_namespaced_mode_live_side_by_side(
    management: Management, tmp_path: Path
) -> None:
    """CRDs belong to the first; the second one says that they do not belong to it."""
    management.install(OPERATOR, "--set", "onlyWatchReleasedNS=true")
    with management.bed.namespace("second") as space:
        second = Management(management.bed, space, management.program, tmp_path)
        with pytest.raises(HelmError, match="invalid ownership metadata"):
            second.install(OPERATOR, "--set", "onlyWatchReleasedNS=true")
        values = "onlyWatchReleasedNS=true,crds.enabled=false"
        assert "STATUS: deployed" in second.install(OPERATOR, "--set", values)
        second.helm("uninstall", RELEASE, "--wait", "--timeout=60s")


def test_a_release_fits_into_its_secret(management: Management) -> None:
    """A Secret holds 1 MiB at most; there is room for growth."""
    management.install(OPERATOR)
    secrets = management.get("secrets", "-l", f"name={RELEASE},owner=helm")["items"]
    sizes = [len(base64.b64decode(one["data"]["release"])) for one in secrets]
    assert [size < 700_000 for size in sizes] == [True], sizes


def test_helm_test_passes(management: Management) -> None:
    management.install(OPERATOR)
    assert "Phase:          Succeeded" in management.helm("test", RELEASE)
