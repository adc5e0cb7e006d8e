# SPDX-License-Identifier: Apache-2.0
"""The API server asks the webhook, and trusts it through renewals."""

import asyncio
import base64
import contextlib
import ssl

import aiohttp
import pytest

from ansible_operator.errors import KubeError, OperatorError
from ansible_operator.kube.discovery import DiscoveryMapper
from ansible_operator.kube.interface import GroupVersionKind
from ansible_operator.serve.webhook import Verdict, WebhookSettings, webhooks
from ansible_operator.serve.webhook.shared_secret import SharedSecret

pytestmark = pytest.mark.api


@pytest.fixture
async def things(client, fake_namespace):
    """A kind of this test's own."""
    group = f"{fake_namespace}.example.com"
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    root = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    body = {
        "metadata": {"name": f"things.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "things", "kind": "Thing"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {"type": "object", "properties": {"spec": anything}}
                    },
                }
            ],
        },
    }
    await client.request("POST", root, body=body)
    mapper = DiscoveryMapper(client)
    async with asyncio.timeout(15):
        while True:
            resource = await mapper.by_kind(GroupVersionKind(group, "v1", "Thing"))
            if resource is not None:
                break
            await asyncio.sleep(0.2)
    yield resource
    await client.request("DELETE", f"{root}/things.{group}")


async def judge(question):
    """Size defaults to 3, must be positive, cannot shrink; 13 is beyond the judge."""
    size = question.object["spec"].get("size", 3)
    if size == 13:
        raise OperatorError("the functions have crashed")
    errors = []
    if size < 1:
        errors.append("spec.size: must be positive")
    if question.old and size < question.old["spec"]["size"]:
        errors.append("spec.size: cannot shrink")
    changed = {**question.object, "spec": {**question.object["spec"], "size": size}}
    warnings = ("spec.size: a single one is not redundant",) if size == 1 else ()
    return Verdict(object=changed, errors=tuple(errors), warnings=warnings)


@pytest.fixture
async def running(client, fake_namespace, things):
    settings = WebhookSettings(
        host="127.0.0.1", port=0, name=f"hook-{fake_namespace}", namespace=fake_namespace
    )

    @contextlib.asynccontextmanager
    async def run(**options):
        async with webhooks(client, settings, [things], judge, **options) as server:
            await asyncio.sleep(0.5)  # the API server learns of configurations by a watch
            yield server

    run.settings = settings
    yield run
    root = "/apis/admissionregistration.k8s.io/v1"
    for plural in ("mutatingwebhookconfigurations", "validatingwebhookconfigurations"):
        with contextlib.suppress(KubeError):
            await client.request("DELETE", f"{root}/{plural}/{settings.name}")


async def make(client, things, namespace, name, **spec):
    path = things.path(namespace=namespace)
    body = {
        "apiVersion": things.gvk.api_version,
        "kind": "Thing",
        "metadata": {"name": name},
        "spec": spec,
    }
    return await client.request("POST", path, body=body)


async def test_objects_are_completed_and_judged(client, things, fake_namespace, running):
    async with running():
        made = await make(client, things, fake_namespace, "a")
        assert made["spec"] == {"size": 3}
        with pytest.raises(KubeError, match=r"spec\.size: must be positive") as refused:
            await make(client, things, fake_namespace, "b", size=0)
        assert refused.value.status == 422
        made["spec"]["size"] = 2
        with pytest.raises(KubeError, match="cannot shrink"):
            await client.request("PUT", things.path("a", fake_namespace), body=made)


async def test_what_cannot_be_judged_goes_through(client, things, fake_namespace, running):
    async with running():
        made = await make(client, things, fake_namespace, "a", size=13)
        assert made["spec"] == {"size": 13}
    made = await make(client, things, fake_namespace, "b", size=-1)
    assert made["spec"] == {"size": -1}


async def test_replicas_share_one_authority(client, things, fake_namespace, running):
    async with running() as first, running() as second:
        secret = await client.request(
            "GET", f"/api/v1/namespaces/{fake_namespace}/secrets/{running.settings.name}"
        )
        bundle = base64.b64decode(secret["data"]["ca.crt"]).decode()
        trusting = ssl.create_default_context(cadata=bundle)
        async with aiohttp.ClientSession() as http:
            for server in (first, second):
                url = f"https://127.0.0.1:{server.port}/validate"
                async with http.post(url, data=b"{}", ssl=trusting) as answer:
                    assert answer.status == 400
                async with http.get(url, ssl=trusting) as answer:
                    assert answer.status == 404


async def test_a_lost_registration_and_a_new_certificate_are_noticed(
    client, things, fake_namespace, running
):
    root = "/apis/admissionregistration.k8s.io/v1"
    path = f"{root}/mutatingwebhookconfigurations/{running.settings.name}"
    async with running(interval=0.3) as server:
        place = ("127.0.0.1", server.port)
        before = await asyncio.to_thread(ssl.get_server_certificate, place)
        await client.request("DELETE", path)
        names = [*running.settings.names(), "another.example.com"]
        later = SharedSecret(client, fake_namespace, running.settings.name, names)
        await later.refresh()
        await asyncio.sleep(1.5)
        after = await asyncio.to_thread(ssl.get_server_certificate, place)
        assert before != after
        made = await make(client, things, fake_namespace, "a")
        assert made["spec"] == {"size": 3}


async def test_replicas_that_start_together_agree(client, fake_namespace):
    secrets = [SharedSecret(client, fake_namespace, "shared", ["x"]) for _ in range(5)]
    bundles = {found.bundle for found in await asyncio.gather(*(s.refresh() for s in secrets))}
    assert len(bundles) == 1


async def test_a_damaged_secret_is_made_anew(client, fake_namespace):
    secret = SharedSecret(client, fake_namespace, "damaged", ["x"])
    await secret.refresh()
    await client.request(
        "PATCH",
        f"/api/v1/namespaces/{fake_namespace}/secrets/damaged",
        body={"data": {"tls.key": None}},
        content_type="application/merge-patch+json",
    )
    made = await secret.refresh()
    assert (await secret.refresh()) == made
