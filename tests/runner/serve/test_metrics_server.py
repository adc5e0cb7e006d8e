# SPDX-License-Identifier: Apache-2.0
"""/metrics: names, TLS, access by RBAC."""

import asyncio
import contextlib
import ssl
import tempfile

import aiohttp
import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from ansible_operator import metrics
from ansible_operator.errors import ConfigError
from ansible_operator.serve.certificates import self_signed
from ansible_operator.serve.metrics_server import Gatekeeper, MetricsServer, certificate_folder
from ansible_operator.serve.user_metrics import UserMetrics


def server(registry=metrics.REGISTRY, user_metrics=None, **options):
    user_metrics = user_metrics or UserMetrics(registry)
    return MetricsServer(registry, user_metrics, "127.0.0.1", 0, **options)


async def scrape(running, scheme="http", path="/metrics", ssl_context=None, **headers):
    url = f"{scheme}://127.0.0.1:{running.port}{path}"
    async with (
        aiohttp.ClientSession() as http,
        http.get(url, headers=headers, ssl=ssl_context or False) as answer,
    ):
        return answer.status, await answer.text()


async def test_the_known_names_are_there():
    metrics.BUILD_INFO.labels("abc", "v1").set(1)
    gvk, controller = "g/v1, Kind=K", "k-v1-controller"
    metrics.RECONCILE_RESULT.labels(gvk, "succeeded").inc()
    metrics.RECONCILES.labels(gvk).observe(0.2)
    metrics.RECONCILE_TOTAL.labels(controller, "success").inc()
    metrics.RECONCILE_ERRORS.labels(controller).inc()
    metrics.RECONCILE_SECONDS.labels(controller).observe(0.2)
    metrics.MAX_CONCURRENT_RECONCILES.labels(controller).set(4)
    metrics.QUEUE_ADDS.labels(controller, controller).inc()
    metrics.QUEUE_SECONDS.labels(controller, controller).observe(0.1)
    metrics.note_resource(("g", "K", "n", "ns", "v1"), "2026-01-01T00:00:00Z")
    async with server() as running:
        status, text = await scrape(running)
    assert status == 200
    lines = text.splitlines()
    for line in (
        'ansible_operator_build_info{commit="abc",version="v1"} 1.0',
        'ansible_operator_reconcile_result{GVK="g/v1, Kind=K",result="succeeded"} 1.0',
        'ansible_operator_reconciles_count{GVK="g/v1, Kind=K"} 1.0',
        'controller_runtime_reconcile_total{controller="k-v1-controller",result="success"} 1.0',
        'controller_runtime_reconcile_errors_total{controller="k-v1-controller"} 1.0',
        'controller_runtime_max_concurrent_reconciles{controller="k-v1-controller"} 4.0',
        'workqueue_adds_total{controller="k-v1-controller",name="k-v1-controller"} 1.0',
    ):
        assert line in lines
    created = 'resource_created_at_seconds{group="g",kind="K",name="n",namespace="ns",version="v1"}'
    assert f"{created} 1.7672256e+09" in lines
    names = {family.name for family in text_string_to_metric_families(text)}
    assert {"process_cpu_seconds", "process_resident_memory_bytes"} <= names
    assert not [name for name in names if name.endswith("_created")]
    metrics.forget_resource(("g", "K", "n", "ns", "v1"))


async def test_metrics_of_roles_are_shown_too():
    registry = CollectorRegistry()
    user_metrics = UserMetrics(registry)
    user_metrics.handle({"name": "mine", "description": "d", "counter": {"increment": True}})
    async with server(registry, user_metrics) as running:
        _, text = await scrape(running)
    assert "mine 1" in text.splitlines()


async def test_other_paths_are_not_found():
    async with server() as running:
        assert (await scrape(running, path="/"))[0] == 404


@pytest.fixture
def temporary_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


async def test_tls_with_a_certificate_of_its_own(temporary_folder):
    async with server(is_secure=True) as running:
        assert (await scrape(running, "https"))[0] == 200
        with pytest.raises(aiohttp.ClientError):
            await scrape(running, "http")
    assert list(temporary_folder.iterdir()) == []


async def test_tls_with_a_mounted_certificate(temporary_folder):
    pair = self_signed("metrics.example.com")
    folder = certificate_folder()
    folder.mkdir(parents=True)
    (folder / "tls.crt").write_bytes(pair.certificate)
    (folder / "tls.key").write_bytes(pair.key)
    trusting = ssl.create_default_context(cadata=pair.certificate.decode())
    async with server(is_secure=True) as running:
        assert (await scrape(running, "https", ssl_context=trusting))[0] == 200
    (folder / "tls.key").write_bytes(self_signed("other").key)
    with pytest.raises(ConfigError, match="certificate cannot be used"):
        await server(is_secure=True).start()


async def token_of(client, namespace, name):
    accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    await client.request("POST", accounts, body={"metadata": {"name": name}})
    made = await client.request("POST", f"{accounts}/{name}/token", body={"spec": {}})
    return made["status"]["token"]


@contextlib.asynccontextmanager
async def allowed(client, namespace, account):
    """A ServiceAccount that may read metrics, known to the authorizer."""
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    metadata = {"name": f"metrics-{namespace}"}
    rules = [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]
    reference = {
        "apiGroup": "rbac.authorization.k8s.io",
        "kind": "ClusterRole",
        "name": metadata["name"],
    }
    subject = {"kind": "ServiceAccount", "name": account, "namespace": namespace}
    role = {"metadata": metadata, "rules": rules}
    binding = {"metadata": metadata, "roleRef": reference, "subjects": [subject]}
    await client.request("POST", f"{rbac}/clusterroles", body=role)
    await client.request("POST", f"{rbac}/clusterrolebindings", body=binding)
    await asyncio.sleep(1)
    try:
        yield
    finally:
        for plural in ("clusterrolebindings", "clusterroles"):
            await client.request("DELETE", f"{rbac}/{plural}/{metadata['name']}")


@pytest.mark.api
async def test_rbac_decides_who_reads(client, fake_namespace, temporary_folder):
    reader = await token_of(client, fake_namespace, "reader")
    stranger = await token_of(client, fake_namespace, "stranger")
    async with (
        allowed(client, fake_namespace, "reader"),
        server(is_secure=True, gatekeeper=Gatekeeper(client)) as running,
    ):
        answers = [
            (await scrape(running, "https", **({"Authorization": text} if text else {})))[0]
            for text in ("", f"Bearer {reader}", f"Bearer {stranger}", "Bearer x", "Basic eA==")
        ]
    assert answers == [401, 200, 403, 401, 401]


@pytest.mark.api
async def test_a_decision_is_kept_for_a_minute(client, fake_namespace):
    reader = await token_of(client, fake_namespace, "reader")
    now = 0.0
    keeper = Gatekeeper(client, clock=lambda: now)
    assert await keeper.status(f"Bearer {reader}") == 403
    async with allowed(client, fake_namespace, "reader"):
        assert await keeper.status(f"Bearer {reader}") == 403
        now = 61.0
        assert await keeper.status(f"Bearer {reader}") == 200
