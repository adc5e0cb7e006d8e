# SPDX-License-Identifier: Apache-2.0
"""An operator of some namespaces caches and watches nothing elsewhere."""

import pytest

from ansible_operator.errors import KubeError
from ansible_operator.kube.access import ClusterAccess
from ansible_operator.kube.client import HttpClient
from ansible_operator.serve.interface import ProxyLimits
from ansible_operator.serve.proxy import LoopbackProxy
from tests.runner.serve.proxy.conftest import basic_of, config_map

pytestmark = pytest.mark.api


@pytest.fixture
def watched_namespaces(fake_namespace):
    return (fake_namespace,)


async def test_reads_inside_are_cached_and_outside_live(served):
    await served.watch()
    session = served.open()
    inside = await served.request(session, "GET", served.path("owner"))
    assert inside.headers["X-Cache"] == "HIT"
    for path in (
        "/api/v1/namespaces/default/configmaps/kube-root-ca.crt",
        "/api/v1/namespaces/default/configmaps",
        "/api/v1/configmaps",
    ):
        answer = await served.request(session, "GET", path)
        assert "X-Cache" not in answer.headers


async def test_objects_outside_are_marked_but_not_watched(served):
    name = f"far-{served.namespace}"
    path = "/api/v1/namespaces/default/configmaps"
    try:
        answer = await served.request(served.open(), "POST", path, config_map(name))
        assert "operator-sdk/primary-resource" in answer.json["metadata"]["annotations"]
        assert served.dependents == []
    finally:
        await served.direct("DELETE", f"{path}/{name}")
    await served.request(served.open(), "POST", served.path(), config_map("near"))
    assert served.dependents == [("owner", "ConfigMap", False)]


async def test_an_unreachable_server_is_a_bad_gateway(served):
    nowhere = HttpClient(ClusterAccess("http://127.0.0.1:1"))

    class Mapper:
        async def by_plural(self, *_):
            raise KubeError("discovery failed")

    async def never(*_):
        raise AssertionError

    async with nowhere:
        proxy = LoopbackProxy(nowhere, Mapper(), served.pool, add_dependent=never, port=0)
        async with proxy:
            session = proxy.open_session(served.owner, ProxyLimits(), served.directory)
            root = f"http://127.0.0.1:{proxy.port}"
            headers = {"Authorization": basic_of(session)}
            for path in ("/version", "/apis", served.path("owner")):
                async with served.http.get(root + path, headers=headers) as answer:
                    assert (answer.status, (await answer.json())["code"]) == (502, 502)
            async with served.http.post(
                root + served.path(), json=config_map("x"), headers=headers
            ) as answer:
                assert answer.status == 500
                assert "Unable to determine if virtual resource" in await answer.text()
