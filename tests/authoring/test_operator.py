# SPDX-License-Identifier: Apache-2.0
"""A project from its creation to the end of its sample, with the rights that it was given."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from ansible_operator.cli import main
from testbed.bed import KubectlError, TestBed
from tests.support.namespaces import Namespace
from tests.support.operator_rights import refusals
from tests.support.operators import Operator, launch
from tests.support.places import PROGRAMS
from tests.support.waiting import eventually

pytestmark = pytest.mark.api
NAME = "created-operator"
THING = "things.created.example.com"
"""With its group: other tests have a kind of that name on the same API server."""
CRD = f"crd/{THING}"
KIND = ("--group", "created.example.com", "--version", "v1alpha1", "--kind", "Thing")


@pytest.fixture(scope="module")
def project(fake_testbed: TestBed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A new project, whose objects are in the cluster."""
    folder = tmp_path_factory.mktemp("created") / NAME
    done = CliRunner().invoke(main, ["init", str(folder), *KIND])
    assert done.exit_code == 0, done.output
    apply(fake_testbed, folder)
    yield folder
    fake_testbed.kubectl("delete", "--wait=false", "-k", str(folder / "config/default"))


def apply(bed: TestBed, folder: Path) -> None:
    bed.kubectl("apply", "-k", str(folder / "config/default"))
    bed.kubectl("-n", NAME, "scale", "deployment", NAME, "--replicas=0")  # the test runs it
    bed.kubectl("wait", "--for=condition=Established", "--timeout=30s", CRD)


@pytest.fixture(scope="module")
def operator(
    fake_testbed: TestBed, project: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Operator]:
    """The operator, as its ServiceAccount, with the flags of its Deployment that fit a test."""
    folder = tmp_path_factory.mktemp("operator")
    kubeconfig = fake_testbed.account(NAME, NAME, folder / "kubeconfig")
    flags = (
        "--leader-elect",
        f"--leader-election-id={NAME}",
        f"--leader-election-namespace={NAME}",
    )
    started = launch(kubeconfig, folder, *flags, project=project)
    yield started
    started.stop()


@pytest.fixture
def space(fake_testbed: TestBed, operator: Operator) -> Iterator[Namespace]:
    with fake_testbed.namespace("created") as name:
        yield Namespace(fake_testbed, name)


def replicas(space: Namespace) -> int:
    return space.get("deployment", "thing-sample").get("spec", {}).get("replicas", -1)


def test_the_life_of_the_sample(space: Namespace, project: Path, operator: Operator) -> None:
    sample = project / "config/samples/created_v1alpha1_thing.yaml"
    space.kubectl("apply", "-f", str(sample))
    space.kubectl("wait", "--for=condition=Successful", f"{THING}/thing-sample", "--timeout=60s")
    deployment = space.get("deployment", "thing-sample")
    assert deployment["spec"]["replicas"] == 1
    assert [one["kind"] for one in deployment["metadata"]["ownerReferences"]] == ["Thing"]
    assert "1" in space.kubectl("get", THING, "thing-sample", "--no-headers").split()

    space.patch(THING, "thing-sample", {"spec": {"size": 3}})
    eventually(lambda: replicas(space) == 3)
    space.kubectl("delete", "deployment", "thing-sample")
    eventually(lambda: replicas(space) == 3)
    space.kubectl("delete", THING, "thing-sample", "--timeout=60s")
    eventually(lambda: not space.get("deployment", "thing-sample"), seconds=120)
    assert refusals(operator.log) == []
    assert not operator.lines(level="error")


def test_a_failure_is_an_event_and_a_condition(space: Namespace, operator: Operator) -> None:
    """The right to write Events is among those of the project."""
    wrong = {"size": -1}
    thing = {"apiVersion": "created.example.com/v1alpha1", "kind": "Thing"}
    space.apply({**thing, "metadata": {"name": "wrong"}, "spec": wrong})
    eventually(lambda: space.conditions(THING, "wrong").get("Failure", {}).get("status") == "True")
    eventually(lambda: [one for one in space.events() if one["regarding"]["name"] == "wrong"])
    space.kubectl("delete", THING, "wrong", "--timeout=60s")
    assert refusals(operator.log) == []


def test_pods_meet_the_strictest_level(
    fake_testbed: TestBed, space: Namespace, project: Path
) -> None:
    """Those of the operator, and those of its resources."""
    fake_testbed.kubectl(
        *("label", "namespace", space.name, "pod-security.kubernetes.io/enforce=restricted")
    )
    space.kubectl("apply", "-f", str(project / "config/samples/created_v1alpha1_thing.yaml"))
    eventually(lambda: space.get("deployment", "thing-sample"))
    for deployment in (Namespace(fake_testbed, NAME).get("deployment", NAME), space.get("deployment", "thing-sample")):  # fmt: skip
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "tried"}}
        pod["spec"] = {**deployment["spec"]["template"]["spec"], "serviceAccountName": "default"}
        text = json.dumps(pod)
        assert "tried" in space.kubectl("create", "--dry-run=server", "-f", "-", input=text)
        worse = text.replace('"runAsNonRoot": true', '"runAsNonRoot": false')
        with pytest.raises(KubectlError, match="violates PodSecurity"):
            space.kubectl("create", "--dry-run=server", "-f", "-", input=worse)
    space.kubectl("delete", THING, "thing-sample", "--timeout=60s")


def test_a_new_option_becomes_a_field(
    fake_testbed: TestBed, space: Namespace, project: Path
) -> None:
    specs = project / "roles/thing/meta/argument_specs.yml"
    content = yaml.safe_load(specs.read_text())
    content["argument_specs"]["main"]["options"]["log_level"] = {
        "type": "str",
        "choices": ["debug", "info"],
        "default": "info",
    }
    specs.write_text(yaml.safe_dump(content))
    assert CliRunner().invoke(main, ["crd", str(project), "--check"]).exit_code == 1
    assert CliRunner().invoke(main, ["crd", str(project)]).exit_code == 0
    assert CliRunner().invoke(main, ["crd", str(project), "--check"]).exit_code == 0
    apply(fake_testbed, project)
    thing = {"apiVersion": "created.example.com/v1alpha1", "kind": "Thing"}

    def is_set() -> bool:
        space.apply({**thing, "metadata": {"name": "loud"}, "spec": {"size": 2}})
        return space.get(THING, "loud").get("spec", {}).get("logLevel") == "info"

    eventually(is_set)
    with pytest.raises(Exception, match="logLevel"):
        space.patch(THING, "loud", {"spec": {"logLevel": "shout"}})
    space.kubectl("delete", THING, "loud", "--timeout=60s")


def test_the_test_of_the_project_passes(
    fake_testbed: TestBed, project: Path, operator: Operator
) -> None:
    """With the rights of the author, as on their machine, and no other operator."""
    operator.stop()
    done = subprocess.run(
        [str(PROGRAMS / "pytest"), "-q", "-p", "no:cacheprovider", "tests"],
        cwd=project,
        env={
            **os.environ,
            "KUBECONFIG": str(fake_testbed.kubeconfig),
            "PATH": f"{PROGRAMS}:{fake_testbed.kubectl_path.parent}:{os.environ['PATH']}",
        },
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout
