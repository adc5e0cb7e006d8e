# SPDX-License-Identifier: Apache-2.0
"""What runs before an uninstallation, with exactly the rights that the chart gives it."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from testbed.bed import TestBed
from tests.charts.releases import OPERATOR, Helm, define, find
from tests.support.places import ROOT

pytestmark = pytest.mark.api
SCRIPT = OPERATOR / "files" / "before_uninstall.py"
NAME = "rel-matrixone-operator"


@dataclass(frozen=True)
class Place:
    """A namespace with the release's account in it; the operator looks after this one."""

    bed: TestBed
    space: str
    helm: Helm
    folder: Path

    def kubectl(self, *arguments: str, **how: Any) -> str:
        return self.bed.kubectl("-n", self.space, *arguments, **how)

    def names(self, kind: str) -> list[str]:
        return self.kubectl("get", kind, "-o", "name").split()

    def patch(self, kind: str, name: str, change: dict[str, Any], *more: str) -> None:
        self.kubectl("patch", kind, name, "--type=merge", "-p", json.dumps(change), *more)

    def run(self, policy: str, seconds: int = 30) -> tuple[int, str]:
        """Install what the chart has for a policy, without the operator, and run the script."""
        arguments = self.prepare(policy)
        return self.execute(arguments, seconds)

    def prepare(self, policy: str) -> list[str]:
        """Install the script's account and rights; return its arguments."""
        documents = self.helm.template(
            OPERATOR, "onlyWatchReleasedNS=true", f"uninstallPolicy={policy}", space=self.space
        )
        wanted = [one for one in documents if one["metadata"]["name"].endswith("-uninstall")]
        wanted = [one for one in wanted if one["kind"] not in {"Job", "ConfigMap"}]
        self.kubectl("apply", "--server-side", "-f", "-", input=yaml.safe_dump_all(wanted))
        account = self.kubectl("create", "token", f"{NAME}-uninstall").strip()
        (self.folder / "token").write_text(account)
        (self.folder / "ca.crt").write_bytes((self.bed.places.pki / "ca.crt").read_bytes())
        job = find(documents, "Job", f"{NAME}-uninstall")
        [container] = job["spec"]["template"]["spec"]["containers"]
        return [one for one in container["args"] if not one.startswith("--seconds")]

    def execute(self, arguments: list[str], seconds: int = 30) -> tuple[int, str]:
        """Run the script as the Job does."""
        result = subprocess.run(
            [
                *(sys.executable, "-I", str(SCRIPT), *arguments, f"--seconds={seconds}"),
                *("--server", self.bed.server, "--account", str(self.folder)),
            ],
            capture_output=True,
            text=True,
            timeout=seconds + 30,
            check=False,
        )
        assert "Traceback" not in result.stderr
        return result.returncode, result.stdout

    def operator(self, ready: int) -> None:
        """Make a Deployment that looks like the operator's, with so many ready Pods."""
        pod = {
            "metadata": {"labels": {"app": "operator"}},
            "spec": {"containers": [{"name": "manager", "image": "operator:1"}]},
        }
        spec = {
            "replicas": ready,
            "selector": {"matchLabels": {"app": "operator"}},
            "template": pod,
        }
        deployment = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": NAME},
            "spec": spec,
        }
        self.kubectl("apply", "--server-side", "-f", "-", input=json.dumps(deployment))
        if ready:
            self.kubectl("wait", f"deploy/{NAME}", "--for=condition=Available", "--timeout=60s")

    def cluster(self, name: str = "mo", finalizers: bool = False) -> None:
        cluster = yaml.safe_load((ROOT / "examples" / "tiny-cluster.yaml").read_text())
        cluster["metadata"]["name"] = name
        if finalizers:
            cluster["metadata"]["finalizers"] = ["matrixorigin.io/matrixonecluster"]
        self.kubectl("apply", "--server-side", "-f", "-", input=json.dumps(cluster))


@pytest.fixture(scope="module")
def kinds(fake_testbed: TestBed) -> None:
    define(fake_testbed, *(ROOT / "crds").glob("*.yaml"))


@pytest.fixture
def place(kinds: None, fake_testbed: TestBed, helm: Helm, tmp_path: Path) -> Iterator[Place]:
    with fake_testbed.namespace("uninstall") as space:
        made = Place(fake_testbed, space, helm, tmp_path)
        yield made
        for name in made.names("matrixone"):
            made.kubectl("patch", name, "--type=merge", "-p", '{"metadata":{"finalizers":null}}')


def log_set(**spec: Any) -> dict[str, Any]:
    """A LogSet `alone` that no cluster owns."""
    least = {
        "replicas": 3,
        "image": "matrixone:1",
        "volume": {"size": "1Gi"},
        "sharedStorage": {"fileSystem": {"path": "/data"}},
    }
    return {
        "apiVersion": "core.matrixorigin.io/v1alpha1",
        "kind": "LogSet",
        "metadata": {"name": "alone"},
        "spec": {**least, **spec},
    }


@pytest.mark.parametrize("policy", ["refuse", "cascade"])
def test_an_operator_without_work_may_go(place: Place, policy: str) -> None:
    code, output = place.run(policy)
    assert code == 0
    assert "There are no MatrixOne resources" in output


@pytest.mark.parametrize("policy", ["refuse", "cascade"])
def test_backups_keep_no_operator_and_outlive_it(place: Place, policy: str) -> None:
    """They are in no namespace, so that an operator of one does not see them."""
    name = f"kept-{policy}"
    backup = yaml.safe_load((ROOT / "examples" / "backup.yaml").read_text())
    backup["metadata"]["name"] = name
    place.kubectl("apply", "--server-side", "-f", "-", input=json.dumps(backup))
    code, output = place.run(policy)
    place.kubectl("delete", "backups.core.matrixorigin.io", name)  # it was still there
    assert (code, "There are no MatrixOne resources" in output) == (0, True)


def test_refusal_lists_what_is_there_and_what_to_do(place: Place) -> None:
    place.cluster("one")
    place.cluster("two")
    code, output = place.run("refuse")
    assert code == 1
    assert "2 resources need it" in output
    assert f"MatrixOneCluster {place.space}/one" in output
    assert f"helm uninstall -n {place.space} rel --no-hooks" in output
    assert f"helm rollback -n {place.space} rel 1" in output
    assert len(place.names("mo")) == 2


def test_what_belongs_to_others_is_not_listed(place: Place) -> None:
    place.cluster()
    owner = json.loads(place.kubectl("get", "mo", "mo", "-o", "json"))["metadata"]
    child = {
        "apiVersion": "core.matrixorigin.io/v1alpha1",
        "kind": "WebUI",
        "metadata": {
            "name": "ui",
            "ownerReferences": [
                {
                    "apiVersion": "core.matrixorigin.io/v1alpha1",
                    "kind": "MatrixOneCluster",
                    "name": "mo",
                    "uid": owner["uid"],
                }
            ],
        },
        "spec": {"replicas": 1, "image": "ui:1"},
    }
    place.kubectl("apply", "--server-side", "-f", "-", input=json.dumps(child))
    _, output = place.run("refuse")
    assert "1 resources need it" in output
    assert "WebUI" not in output


def test_cascade_deletes_nothing_without_an_operator(place: Place) -> None:
    place.cluster()
    place.operator(0)
    code, output = place.run("cascade")
    assert code == 1
    assert "has no ready Pod" in output
    assert "Nothing was deleted" in output
    assert place.names("mo")


def test_cascade_deletes_nothing_while_volumes_would_go(place: Place) -> None:
    """The operator has not told the log service yet that its volumes stay."""
    place.cluster()
    place.operator(1)
    place.kubectl("apply", "--server-side", "-f", "-", input=json.dumps(log_set()))
    code, output = place.run("cascade", seconds=8)
    assert code == 1
    assert f"These do not know yet that their volumes stay: LogSet {place.space}/alone" in output
    assert place.names("mo")
    assert place.names("logset")


def test_cascade_ends_in_time_and_leaves_nothing_terminating(place: Place) -> None:
    """An operator that takes no finalizer off cannot hold it up."""
    place.cluster(finalizers=True)
    place.operator(1)
    begun = time.monotonic()
    code, output = place.run("cascade", seconds=26)
    assert time.monotonic() - begun < 26
    assert code == 0
    assert f"Keeping the volumes of MatrixOneCluster {place.space}/mo" in output
    assert "is still there" in output
    assert "Everything is deleted" in output
    assert place.names("matrixone") == []


def test_cascade_waits_for_the_operator(place: Place) -> None:
    place.cluster(finalizers=True)
    place.operator(1)

    def finalize() -> None:
        place.kubectl(
            "wait", "mo/mo", "--for=jsonpath={.metadata.deletionTimestamp}", "--timeout=30s"
        )
        seen.append(json.loads(place.kubectl("get", "mo", "mo", "-o", "json")))
        place.patch("mo", "mo", {"metadata": {"finalizers": None}})

    seen: list[dict[str, Any]] = []
    operator = threading.Thread(target=finalize)
    operator.start()
    code, output = place.run("cascade", seconds=60)
    operator.join()
    assert code == 0
    assert "still there" not in output
    assert seen[0]["spec"]["logService"]["pvcRetentionPolicy"] == "Retain"


def test_cascade_waits_until_the_log_service_lets_go_of_its_volume(place: Place) -> None:
    """A claim for shared storage was made when it was to go with the log service."""
    place.cluster()
    place.operator(1)
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": "shared",
            "labels": {"matrixorigin.io/component": "LogSet"},
        },
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    place.kubectl("apply", "--server-side", "-f", "-", input=json.dumps(claim))
    alone = log_set(pvcRetentionPolicy="Retain")
    place.kubectl("apply", "--server-side", "-f", "-", input=json.dumps(alone))
    synced = {"type": "Synced", "status": "True", "observedGeneration": 9, "reason": "Synced"}
    synced |= {"message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    place.patch("logset", "alone", {"status": {"conditions": [synced]}}, "--subresource=status")
    uid = json.loads(place.kubectl("get", "logset", "alone", "-o", "json"))["metadata"]["uid"]
    owner = {key: alone[key] for key in ("apiVersion", "kind")} | {"name": "alone", "uid": uid}
    place.patch("pvc", "shared", {"metadata": {"ownerReferences": [owner]}})
    code, output = place.run("cascade", seconds=8)
    assert code == 1
    assert f"These claims would go with their log services: {place.space}/shared" in output
    assert place.names("mo")
    place.patch("pvc", "shared", {"metadata": {"ownerReferences": None}})
    code, _ = place.run("cascade")
    assert code == 0
    assert place.names("mo") == []
    kept = json.loads(place.kubectl("get", "pvc", "shared", "-o", "json"))["metadata"]
    assert not kept.get("ownerReferences")
    assert "deletionTimestamp" not in kept


@pytest.mark.parametrize("policy", ["Delete", "Retain"])
def test_cascade_does_what_a_cluster_says(place: Place, policy: str) -> None:
    place.cluster()
    place.operator(1)
    place.patch("mo", "mo", {"spec": {"logService": {"pvcRetentionPolicy": policy}}})
    code, output = place.run("cascade")
    assert code == 0
    assert "Keeping the volumes" not in output
    assert place.names("mo") == []


def test_other_namespaces_are_none_of_its_business(place: Place) -> None:
    with place.bed.namespace("other") as space:
        other = Place(place.bed, space, place.helm, place.folder)
        other.cluster()
        code, _ = place.run("refuse")
        assert code == 0


def test_a_missing_right_is_said(place: Place) -> None:
    place.cluster()
    arguments = place.prepare("refuse")
    place.kubectl("delete", "role", "--all")
    code, output = place.execute(arguments)
    assert code == 1
    assert "The API server cannot be asked: HTTP Error 403" in output


def test_an_api_server_that_does_not_answer_is_said(tmp_path: Path, fake_testbed: TestBed) -> None:
    (tmp_path / "token").write_text("none")
    (tmp_path / "ca.crt").write_bytes((fake_testbed.places.pki / "ca.crt").read_bytes())
    result = subprocess.run(
        [
            *(sys.executable, "-I", str(SCRIPT), "--policy=refuse", "--release=r"),
            *("--revision=1", "--namespace=n", "--deployment=d", "--seconds=20"),
            *("--server=https://127.0.0.1:1", f"--account={tmp_path}"),
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.returncode == 1
    assert "The API server cannot be asked" in result.stdout
