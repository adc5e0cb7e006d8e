# SPDX-License-Identifier: Apache-2.0
"""helm installs, upgrades and removes a chart through the proxy."""

import asyncio
import json
import os

import pytest

from testbed import building

pytestmark = pytest.mark.api

TEMPLATE = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}-settings"}
data: {colour: {{ .Values.colour | quote }}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: "{{ .Release.Name }}"}
spec:
  replicas: 1
  selector: {matchLabels: {app: chart}}
  template:
    metadata: {labels: {app: chart}}
    spec: {containers: [{name: main, image: registry.invalid/main}]}
"""


@pytest.fixture
async def helm(served, tmp_path):
    program = building.provide(["helm"])["helm"]
    chart = tmp_path / "chart"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: thing\nversion: 0.1.0\n")
    (chart / "values.yaml").write_text("colour: red\n")
    (chart / "templates" / "all.yaml").write_text(TEMPLATE)
    session = served.open()

    async def run(*args):
        process = await asyncio.create_subprocess_exec(
            program,
            *args,
            f"--namespace={served.namespace}",
            env={**os.environ, "KUBECONFIG": str(session.kubeconfig), "HOME": str(tmp_path)},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        output, _ = await asyncio.wait_for(process.communicate(), 120)
        assert process.returncode == 0, output.decode()
        return output.decode()

    run.chart = str(chart)
    return run


async def test_a_release_lives_and_is_owned(served, helm):
    await served.watch()
    await helm("install", "rel", helm.chart, "--wait", "--timeout=60s")
    stored = await served.direct("GET", served.path("rel-settings"))
    assert stored["data"] == {"colour": "red"}
    assert stored["metadata"]["ownerReferences"][0]["uid"] == served.owner.uid
    path = f"/apis/apps/v1/namespaces/{served.namespace}/deployments/rel"
    deployment = await served.direct("GET", path)
    assert deployment["metadata"]["ownerReferences"][0]["uid"] == served.owner.uid
    assert deployment["status"]["readyReplicas"] == 1
    await helm("upgrade", "rel", helm.chart, "--set=colour=blue", "--wait", "--timeout=60s")
    stored = await served.direct("GET", served.path("rel-settings"))
    assert stored["data"] == {"colour": "blue"}
    assert stored["metadata"]["ownerReferences"][0]["uid"] == served.owner.uid
    [release] = json.loads(await helm("list", "-o", "json"))
    assert (release["name"], release["revision"]) == ("rel", "2")
    await helm("uninstall", "rel", "--wait", "--timeout=60s")
    listed = await served.direct("GET", served.path())
    assert "rel-settings" not in [item["metadata"]["name"] for item in listed["items"]]
