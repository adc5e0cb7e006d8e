# SPDX-License-Identifier: Apache-2.0
"""What needs a kubelet: exec, attach, port-forward, log streams through the proxy."""

import asyncio
import contextlib
import json
import urllib.request

import pytest
from kubernetes import client, config, stream

from ansible_operator.kube.access import from_kubeconfig
from ansible_operator.kube.client import HttpClient
from ansible_operator.kube.discovery import DiscoveryMapper
from ansible_operator.kube.interface import GroupVersionKind
from ansible_operator.kube.shared_informers import SharedInformers
from ansible_operator.serve.interface import Owner, ProxyLimits
from ansible_operator.serve.proxy import LoopbackProxy
from testbed import database

pytestmark = pytest.mark.node

SCRIPT = """
mkdir /tmp/w; echo page >/tmp/w/index.html; httpd -p 8080 -h /tmp/w
n=0; while true; do n=$((n+1)); echo line $n; sleep 0.2; done
"""
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "box"},
    "spec": {
        "terminationGracePeriodSeconds": 0,
        "containers": [
            {
                "name": "box",
                "image": database.chosen().image,
                "imagePullPolicy": "IfNotPresent",
                "command": ["sh", "-c", SCRIPT],
            }
        ],
    },
}


@pytest.fixture
async def kubectl(real_testbed, real_namespace, tmp_path):
    """Starts kubectl with the kubeconfig of a run; the pod ``box`` is up."""

    async def added(*_):
        return

    http = HttpClient(from_kubeconfig([real_testbed.kubeconfig]))
    mapper = DiscoveryMapper(http)
    async with (
        http,
        SharedInformers(http, mapper) as pool,
        LoopbackProxy(http, mapper, pool, add_dependent=added, port=0) as proxy,
    ):
        path = f"/api/v1/namespaces/{real_namespace}/configmaps"
        made = await http.request("POST", path, body={"metadata": {"name": "owner"}})
        gvk = GroupVersionKind("", "v1", "ConfigMap")
        owner = Owner(gvk, "owner", real_namespace, made["metadata"]["uid"])
        session = proxy.open_session(owner, ProxyLimits(), tmp_path)

        async def start(*args, **options):
            return await asyncio.create_subprocess_exec(
                str(real_testbed.kubectl_path),
                f"--kubeconfig={session.kubeconfig}",
                f"--namespace={real_namespace}",
                *args,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                **options,
            )

        async def run(*args, stdin=""):
            process = await start(*args)
            output, _ = await asyncio.wait_for(process.communicate(stdin.encode()), 90)
            return process.returncode, output.decode()

        run.start, run.kubeconfig, run.namespace = start, session.kubeconfig, real_namespace
        assert (await run("apply", "-f", "-", stdin=json.dumps(POD)))[0] == 0
        code, text = await run("wait", "--for=condition=Ready", "pod/box", "--timeout=80s")
        assert code == 0, text
        yield run


@contextlib.asynccontextmanager
async def stopped(process):
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def test_containers_are_reached_through_the_proxy(kubectl):
    """One test: the pod and the node under it are costly."""
    assert await kubectl("exec", "box", "--", "echo", "hello") == (0, "hello\n")
    code, text = await kubectl("exec", "box", "--", "sh", "-c", "echo no >&2; exit 7")
    assert (code, "no" in text) == (7, True)
    code, text = await kubectl("exec", "-i", "box", "--", "sed", "s/a/b/", stdin="banana\n" * 3)
    assert (code, text) == (0, "bbnana\n" * 3)
    big = "x" * 200_000
    code, text = await kubectl("exec", "-i", "box", "--", "wc", "-c", stdin=big)
    assert (code, text.strip()) == (0, "200000")

    def execute():
        api = client.CoreV1Api(config.new_client_from_config(str(kubectl.kubeconfig)))
        return stream.stream(
            api.connect_get_namespaced_pod_exec, "box", kubectl.namespace,
            command=["echo", "from Python"], stdout=True, stderr=True, stdin=False, tty=False,
        )  # fmt: skip

    assert await asyncio.to_thread(execute) == "from Python\n"

    async with stopped(await kubectl.start("logs", "-f", "box")) as following:
        lines = [await asyncio.wait_for(following.stdout.readline(), 10) for _ in range(20)]
    assert lines[0] == b"line 1\n"
    assert len(lines) == 20
    assert "line 3" in (await kubectl("logs", "box", "--tail=-1"))[1]

    async with stopped(await kubectl.start("attach", "box")) as attached:
        first = await asyncio.wait_for(attached.stdout.readline(), 10)
        while b"line" not in first:
            first = await asyncio.wait_for(attached.stdout.readline(), 10)

    async with stopped(await kubectl.start("port-forward", "pod/box", ":8080")) as forwarding:
        told = (await asyncio.wait_for(forwarding.stdout.readline(), 20)).decode()
        port = told.split("127.0.0.1:")[1].split()[0]

        def fetch():
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=10) as answer:
                return answer.read().decode()

        for _ in range(3):
            assert await asyncio.to_thread(fetch) == "page\n"
