# SPDX-License-Identifier: Apache-2.0
"""Whatever the API server answers, a play gets an answer, and the proxy goes on."""

import asyncio
import json
import tempfile
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_operator.kube.access import ClusterAccess
from ansible_operator.kube.client import HttpClient
from ansible_operator.kube.discovery import DiscoveryMapper
from ansible_operator.kube.interface import GroupVersionKind
from ansible_operator.kube.shared_informers import SharedInformers
from ansible_operator.serve.interface import Owner, ProxyLimits
from ansible_operator.serve.proxy import LoopbackProxy
from tests.runner.serve.proxy.conftest import basic_of
from tests.support import hostile
from tests.support.hostile import Answer, hostile_server

OWNER = Owner(GroupVersionKind("", "v1", "ConfigMap"), "owner", "d", "uid")
SERVED = {
    "resources": [
        {
            "name": "configmaps",
            "kind": "ConfigMap",
            "namespaced": True,
            "verbs": ["get", "list", "watch"],
        }
    ]
}
PATHS = (
    "/api/v1/namespaces/d/configmaps/a",
    "/api/v1/namespaces/d/configmaps",
    "/api/v1/namespaces/d/configmaps/a/status",
    "/api/v1/namespaces/%2e%2e/configmaps/a",
    "/api/v1/namespaces/d/configmaps/..%2f..%2fsecrets",
    "/apis/..%2f..%2fv1/v1/things/x",
    "/apis/g/v1",
    "/version",
)


async def ask(method: str, path: str, body: bytes, answer: Answer) -> int:
    """The status of the proxy's answer to a play; 0 when it breaks off."""

    def script(request: web.Request) -> Answer:
        if request.path == "/api/v1":
            return Answer(body=(json.dumps(SERVED).encode(),))
        return answer

    async def add_dependent(*_: Any) -> None:
        pass

    with tempfile.TemporaryDirectory() as folder:
        async with (
            hostile_server(script) as server,
            HttpClient(ClusterAccess(server=server.url)) as client,
            SharedInformers(client, DiscoveryMapper(client)) as informers,
            aiohttp.ClientSession() as http,
            LoopbackProxy(
                client, DiscoveryMapper(client), informers, add_dependent=add_dependent, port=0
            ) as proxy,
        ):
            session = proxy.open_session(OWNER, ProxyLimits(), Path(folder))
            headers = {"Authorization": basic_of(session), "Content-Type": "application/json"}
            url = f"http://127.0.0.1:{proxy.port}{path}"
            try:
                async with http.request(method, url, data=body, headers=headers) as found:
                    await found.read()
                    return found.status
            except aiohttp.ClientError:
                return 0


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE"]),
    st.sampled_from(PATHS),
    st.one_of(st.sampled_from(hostile.PAYLOADS), hostile.odd_objects().map(hostile.encode)),
    hostile.answers(),
)
def test_a_play_gets_an_answer(method: str, path: str, body: bytes, answer: Answer) -> None:
    status = asyncio.run(ask(method, path, body, answer))
    assert status in {0, 400, 413, 415, 502, answer.status}
