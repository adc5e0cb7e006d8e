# SPDX-License-Identifier: Apache-2.0
"""Only runs that are under way may use the proxy, and each only as itself."""

import asyncio
import base64
import json
import stat

import aiohttp
import pytest
import yaml

from ansible_operator.errors import ConfigError
from ansible_operator.serve.interface import Owner
from ansible_operator.serve.proxy import LoopbackProxy
from tests.runner.serve.proxy.conftest import config_map, user_of

pytestmark = pytest.mark.api


async def test_the_kubeconfig_has_the_known_shape(served):
    session = served.open()
    document = yaml.safe_load(session.kubeconfig.read_text())
    user = user_of(session)
    assert document["clusters"] == [
        {
            "name": "proxy-server",
            "cluster": {
                "server": f"http://localhost:{served.proxy.port}",
                "proxy-url": f"http://{user}:{session.token}@localhost:{served.proxy.port}",
                "insecure-skip-tls-verify": True,
            },
        }
    ]
    context = f"{served.namespace}/proxy-server"
    assert document["current-context"] == context
    assert document["contexts"] == [
        {
            "name": context,
            "context": {"cluster": "proxy-server", "user": "admin/proxy-server"},
        }
    ]
    assert document["users"] == [
        {"name": "admin/proxy-server", "user": {"username": user, "password": session.token}}
    ]
    assert json.loads(base64.urlsafe_b64decode(user)) == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "owner",
        "uid": served.owner.uid,
        "Namespace": served.namespace,
    }
    assert session.kubeconfig.name.startswith("kubeconfig")
    assert stat.S_IMODE(session.kubeconfig.stat().st_mode) == 0o600


async def test_each_run_has_a_token_of_its_own(served):
    assert served.open().token != served.open().token


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


async def test_requests_without_a_valid_token_are_refused(served):
    session = served.open()
    other = served.open(Owner(served.owner.gvk, "other", served.namespace, "u-2"))
    user = user_of(session)
    cases = {
        "no basic authentication was sent": {},
        "no basic authentication": {"Authorization": "Bearer x"},
        "cannot be decoded": {"Authorization": "Basic %%%"},
        "the token is unknown": {"Authorization": basic(user, "unused")},
        "a run of another object": {"Authorization": basic(user, other.token)},
        "token is unknown": {"Authorization": basic(user, "")},
    }
    for text, headers in cases.items():
        for path in ("/version", served.path("owner"), "/healthz"):
            url = f"http://127.0.0.1:{served.proxy.port}{path}"
            async with served.http.get(url, headers=headers) as answer:
                document = await answer.json()
            assert answer.status == 401
            assert document["kind"] == "Status"
            assert document["reason"] == "Unauthorized"
            assert text in document["message"]


async def test_a_refused_create_reaches_nobody(served):
    url = f"http://127.0.0.1:{served.proxy.port}{served.path()}"
    async with served.http.post(url, json=config_map("sneaked")) as answer:
        assert answer.status == 401
    listed = await served.direct("GET", served.path())
    assert "sneaked" not in [item["metadata"]["name"] for item in listed["items"]]


async def test_a_closed_session_leaves_nothing(served):
    session = served.open()
    assert (await served.request(session, "GET", "/version")).status == 200
    header = {"Authorization": basic(user_of(session), session.token)}
    served.proxy.close_session(session)
    assert list(served.directory.iterdir()) == []
    url = f"http://127.0.0.1:{served.proxy.port}/version"
    async with served.http.get(url, headers=header) as answer:
        assert answer.status == 401
    served.proxy.close_session(session)


async def test_closing_a_session_ends_its_watches(served):
    session = served.open()
    header = {"Authorization": basic(user_of(session), session.token)}
    url = f"http://127.0.0.1:{served.proxy.port}{served.path()}?watch=true"
    async with served.http.get(url, headers=header) as answer:
        assert answer.status == 200
        reading = asyncio.create_task(answer.content.read())
        await asyncio.sleep(0.1)
        served.proxy.close_session(session)
        await asyncio.wait({reading}, timeout=5)
        assert reading.done()
        assert isinstance(reading.exception(), aiohttp.ClientPayloadError)


async def test_a_taken_port_is_a_clear_error(served):
    async def never(*_):
        raise AssertionError

    second = LoopbackProxy(
        served.client, served.mapper, served.pool, add_dependent=never, port=served.proxy.port
    )
    with pytest.raises(ConfigError, match=r"cannot listen .*--proxy-port"):
        await second.start()
