# SPDX-License-Identifier: Apache-2.0
"""The operator of docs/your-operator.md: the image of its Dockerfile, in a Pod on a real node."""

from pathlib import Path

import pytest

from image.operator import project_archive
from testbed import lifecycle
from testbed.bed import TestBed
from tests.docs.pages import File, read
from tests.support.places import ROOT

pytestmark = [pytest.mark.node, pytest.mark.scenario]
IMAGE = "docker.io/team/website-operator:dev"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The folder that the page makes."""
    for step in read(ROOT / "docs" / "your-operator.md").steps:
        if isinstance(step, File):
            path = tmp_path / step.name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(step.content)
    return tmp_path / "website"


def test_the_image_of_the_page_runs_with_the_rights_of_the_page(
    project: Path, real_testbed: TestBed, real_namespace: str
) -> None:
    lifecycle.load_image(str(project_archive(project, IMAGE)), real_testbed.name)

    def kubectl(*arguments: str, **how: str) -> str:
        return real_testbed.kubectl("-n", real_namespace, *arguments, **how)

    deployment = (project / "deploy.yaml").read_text()
    kubectl("apply", "-f", str(project / "crd.yaml"))
    try:
        text = deployment.replace("registry.example.com/team/website-operator:1", IMAGE)
        assert text != deployment
        kubectl("apply", "-f", "-", input=text)
        ready = ("wait", "deployment/website-operator", "--for=condition=Available")
        kubectl(*ready, "--timeout=90s")
        kubectl("apply", "-f", str(project / "hello.yaml"))
        kubectl("wait", "website/hello", "--for=condition=Successful", "--timeout=60s")
        replicas = ("get", "deployment", "hello", "-o", "jsonpath={.spec.replicas}")
        assert kubectl(*replicas) == "2"
        kubectl("delete", "website", "hello", "--timeout=60s")
        assert "orbidden" not in kubectl("logs", "deployment/website-operator")
    finally:
        kubectl("delete", "-f", str(project / "crd.yaml"))
