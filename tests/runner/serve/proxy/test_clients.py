# SPDX-License-Identifier: Apache-2.0
"""The clients that roles use work through the proxy: kubectl, the Python client."""

import asyncio
import json
import tempfile
from pathlib import Path

import pytest
from ansible_collections.kubernetes.core.plugins.module_utils.k8s.client import get_api_client
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.kubernetes import (
    applying,
    connection,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.kubernetes import (
    session as connected,
)
from kubernetes import client, config, watch
from kubernetes.dynamic import DynamicClient

from ansible_operator.serve.interface import Owner
from tests.runner.serve.proxy.conftest import config_map

pytestmark = pytest.mark.api


async def test_kubectl_reads_writes_and_waits(served):
    session, where = served.open(), ("-n", served.namespace)
    manifest = json.dumps(config_map("k", n="1"))
    await served.kubectl(session, *where, "apply", "-f", "-", stdin=manifest)
    listed = await served.kubectl(session, *where, "get", "configmaps")
    assert "k " in listed
    stored = await served.direct("GET", served.path("k"))
    assert stored["metadata"]["ownerReferences"][0]["uid"] == served.owner.uid
    await served.kubectl(session, *where, "annotate", "configmap", "k", "a=b")
    waited = await served.kubectl(
        session, *where, "wait", "configmap/k", "--for=jsonpath={.data.n}=1", "--timeout=10s"
    )
    assert "condition met" in waited
    manifest = json.dumps(config_map("k", n="2"))
    await served.kubectl(session, *where, "apply", "--server-side", "--force-conflicts", "-f", "-",
                         stdin=manifest)  # fmt: skip
    shown = await served.kubectl(session, *where, "get", "cm", "k", "-o", "jsonpath={.data.n}")
    assert shown == "2"
    await served.kubectl(session, *where, "delete", "configmap", "k", "--wait")
    assert "k " not in await served.kubectl(session, *where, "get", "configmaps")


async def test_kubectl_creates_with_its_binary_format(served):
    session, where = served.open(), ("-n", served.namespace)
    await served.kubectl(session, *where, "create", "secret", "generic", "s", "--from-literal=a=b")
    await served.kubectl(session, *where, "create", "configmap", "c", "--from-literal=a=b")
    await served.kubectl(session, *where, "create", "deployment", "d", "--image=registry.invalid/d")
    for kind in ("secret/s", "configmap/c", "deployment/d"):
        shown = await served.kubectl(session, *where, "get", kind, "-o", "json")
        document = json.loads(shown)
        assert document["metadata"]["ownerReferences"][0]["uid"] == served.owner.uid
    assert {kind for _, kind, _ in served.dependents} == {"Secret", "ConfigMap", "Deployment"}


async def test_kubectl_wait_sees_a_later_change(served):
    await served.watch()
    session, where = served.open(), ("-n", served.namespace)
    await served.direct("POST", served.path(), config_map("later", n="1"))
    waiting = asyncio.create_task(
        served.kubectl(
            session, *where, "wait", "cm/later", "--for=jsonpath={.data.n}=2", "--timeout=20s"
        )
    )
    await asyncio.sleep(0.7)
    assert not waiting.done()
    await served.client.request(
        "PATCH",
        served.path("later"),
        body={"data": {"n": "2"}},
        content_type="application/merge-patch+json",
    )
    assert "condition met" in await waiting


async def test_kubectl_pages_a_long_list(served):
    names = {f"page-{number}" for number in range(30)}
    for name in names:
        await served.direct("POST", served.path(), config_map(name))
    await served.watch()
    shown = await served.kubectl(
        served.open(), "-n", served.namespace, "get", "cm", "-o", "name", "--chunk-size=7"
    )
    assert {f"configmap/{name}" for name in names} <= set(shown.split())


async def test_the_python_client_works(served):
    session = served.open()

    def use():
        api = config.new_client_from_config(str(session.kubeconfig))
        core = client.CoreV1Api(api)
        core.create_namespaced_config_map(served.namespace, config_map("py", n="1"))
        read = core.read_namespaced_config_map("py", served.namespace)
        listed = core.list_namespaced_config_map(served.namespace, limit=1)
        names = []
        while True:
            names += [item.metadata.name for item in listed.items]
            if not listed.metadata._continue:
                break
            listed = core.list_namespaced_config_map(
                served.namespace, limit=1, _continue=listed.metadata._continue
            )
        seen = []
        events = watch.Watch().stream(
            core.list_namespaced_config_map, served.namespace, timeout_seconds=2
        )
        seen += [event["object"].metadata.name for event in events]
        api.close()
        return read, names, seen

    read, names, seen = await asyncio.to_thread(use)
    assert read.metadata.owner_references[0].uid == served.owner.uid
    assert {"py", "owner"} <= set(names)
    assert {"py", "owner"} <= set(seen)


async def test_the_dynamic_client_works(served):
    session = served.open()

    def use():
        dynamic = DynamicClient(config.new_client_from_config(str(session.kubeconfig)))
        maps = dynamic.resources.get(api_version="v1", kind="ConfigMap")
        body = config_map("dyn", n="1")
        maps.server_side_apply(body, namespace=served.namespace, field_manager="dyn")
        maps.patch({"metadata": {"name": "dyn"}, "data": {"n": "2"}}, namespace=served.namespace,
                   content_type="application/merge-patch+json")  # fmt: skip
        return maps.get(name="dyn", namespace=served.namespace).to_dict()

    found = await asyncio.to_thread(use)
    assert found["data"] == {"n": "2"}
    assert found["metadata"]["ownerReferences"][0]["uid"] == served.owner.uid


@pytest.fixture
def temporary_folder(tmp_path, monkeypatch):
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


async def test_clients_share_what_they_discover(served, temporary_folder):
    """One file for all runs and owners, and no secret in it or in its name."""

    def use(session):
        DynamicClient(config.new_client_from_config(str(session.kubeconfig)))
        get_api_client(kubeconfig=str(session.kubeconfig))

    cache = temporary_folder / "kubectl"
    tokens = []
    for name in ("owner", "other"):
        session = served.open(Owner(served.owner.gvk, name, served.namespace, name))
        await asyncio.to_thread(use, session)
        await served.kubectl(session, "get", "namespaces", f"--cache-dir={cache}")
        tokens.append(session.token)
        served.proxy.close_session(session)
    kept = [file.name.partition("-")[0] for file in temporary_folder.glob("*.json")]
    assert sorted(kept) == ["k8srcp", "osrcp"]
    assert [folder.name for folder in (cache / "discovery").iterdir()] == [
        f"localhost_{served.proxy.port}"
    ]
    for file in filter(Path.is_file, temporary_folder.rglob("*")):
        content = file.read_bytes() + file.name.encode()
        assert not [token for token in tokens if token.encode() in content]


@pytest.mark.parametrize("is_elsewhere", [False, True])
async def test_applying_what_is_in_place_sends_nothing(served, is_elsewhere):
    """Although the proxy adds an owner that the manifest does not name."""
    manifest = config_map(f"again-{served.namespace}", a="b")
    manifest["metadata"]["namespace"] = "default" if is_elsewhere else served.namespace
    options = connection.resolve_options({"kubeconfig": str(served.open().kubeconfig)}, {})
    writer = applying.Writer(session=connected.open_session(options))
    try:
        outcomes = [await asyncio.to_thread(writer.apply, manifest) for _ in range(2)]
        assert [one.change.value for one in outcomes] == ["created", "unchanged"]
        assert len(served.writes) == 1
        manifest["metadata"]["labels"] = {"c": "d"}
        outcome = await asyncio.to_thread(writer.apply, manifest)
        assert outcome.change.value == "changed"
        metadata = outcome.after["metadata"]
        assert metadata["annotations"] if is_elsewhere else metadata["ownerReferences"]
    finally:
        await asyncio.to_thread(writer.delete, manifest)
