# SPDX-License-Identifier: Apache-2.0
"""The API server trusts the webhook through renewals, whoever makes its certificates."""

import asyncio
import base64
import datetime
import ssl

import aiohttp
import pytest

from ansible_operator.errors import ConfigError, KubeError
from ansible_operator.serve.webhook import (
    FolderSource,
    SharedSecret,
)
from ansible_operator.serve.webhook.authority import make_credentials
from tests.runner.serve.webhook.conftest import make

pytestmark = pytest.mark.api


async def test_replicas_share_one_authority(client, things, fake_namespace, running):
    async with running() as first, running() as second:
        secret = await client.request(
            "GET", f"/api/v1/namespaces/{fake_namespace}/secrets/{running.name}"
        )
        bundle = base64.b64decode(secret["data"]["ca.crt"]).decode()
        trusting = ssl.create_default_context(cadata=bundle)
        path = f"validate-{things.gvk.group.replace('.', '-')}-v1-thing"
        async with aiohttp.ClientSession() as http:
            for server in (first, second):
                url = f"https://127.0.0.1:{server.port}/{path}"
                async with http.post(url, data=b"{}", ssl=trusting) as answer:
                    assert answer.status == 400
                async with http.get(url, ssl=trusting) as answer:
                    assert answer.status == 404
                async with http.post(f"{url}s", data=b"{}", ssl=trusting) as answer:
                    assert answer.status == 404


OVERLAPS = pytest.mark.parametrize("overlaps", [True, False], ids=["overlapping", "disjoint"])


@OVERLAPS
async def test_certificates_from_a_folder(
    client, things, fake_namespace, running, tmp_path, overlaps
):
    """As cert-manager mounts and renews them; a new authority is trusted before it is shown."""

    def mount(*trusted):
        now = datetime.datetime.now(datetime.UTC)
        made = make_credentials(["127.0.0.1"], now, trusted=b"".join(trusted))
        files = (made.serving.certificate, made.serving.key, made.bundle)
        for name, data in zip(("tls.crt", "tls.key", "ca.crt"), files, strict=True):
            (tmp_path / name).write_bytes(data)
        return made.bundle

    first = mount()
    async with running(source=FolderSource(tmp_path), interval=0.3, spread=1.0) as server:
        assert (await make(client, things, fake_namespace, "a"))["spec"] == {"size": 3}
        before = await asyncio.to_thread(ssl.get_server_certificate, ("127.0.0.1", server.port))
        mount(*([first] if overlaps else []))
        for number in range(10):
            made = await make(client, things, fake_namespace, f"b{number}")
            assert made["spec"] == {"size": 3}
            await asyncio.sleep(0.3)
        after = await asyncio.to_thread(ssl.get_server_certificate, ("127.0.0.1", server.port))
        assert after != before
    with pytest.raises(KubeError, match="not found"):
        await client.request("GET", f"/api/v1/namespaces/{fake_namespace}/secrets/{running.name}")


@OVERLAPS
async def test_an_authority_that_changes_is_trusted_all_along(
    client, things, fake_namespace, running, overlaps
):
    """Both replicas go on serving while one of them brings in another authority.

    An authority that does not name the one before it comes from a Secret that was deleted.
    """
    path = f"/api/v1/namespaces/{fake_namespace}/secrets/{running.name}"
    async with running(interval=0.3, spread=1.0):
        secret = await client.request("GET", path)
        old = base64.b64decode(secret["data"]["ca.crt"])
        now = datetime.datetime.now(datetime.UTC)
        new = make_credentials(["127.0.0.1"], now, trusted=old if overlaps else b"")
        values = (new.bundle, new.authority_key, new.serving.certificate, new.serving.key)
        keys = ("ca.crt", "ca.key", "tls.crt", "tls.key")
        data = dict(zip(keys, (base64.b64encode(v).decode() for v in values), strict=True))
        await client.request("PUT", path, body={**secret, "data": data})
        for number in range(10):
            made = await make(client, things, fake_namespace, f"b{number}")
            assert made["spec"] == {"size": 3}
            await asyncio.sleep(0.3)


async def test_replicas_that_start_together_agree(client, fake_namespace):
    secrets = [SharedSecret(client, fake_namespace, "shared", ["x"]) for _ in range(5)]
    bundles = {found.bundle for found in await asyncio.gather(*(s.refresh() for s in secrets))}
    assert len(bundles) == 1


@pytest.mark.parametrize(
    "data", [{"tls.key": None}, {"ca.crt": "bm9uc2Vuc2U="}, {"ca.key": "IQ=="}], ids=str
)
async def test_a_damaged_secret_is_recreated(client, fake_namespace, data):
    secret = SharedSecret(client, fake_namespace, "damaged", ["x"])
    first = await secret.refresh()
    path = f"/api/v1/namespaces/{fake_namespace}/secrets/damaged"
    kind = "application/merge-patch+json"
    await client.request("PATCH", path, body={"data": data}, content_type=kind)
    made = await secret.refresh()
    assert made != first
    assert (await secret.refresh()) == made


async def test_the_secret_of_another_owner_is_not_changed(client, fake_namespace):
    """As cert-manager writes it: without the key of the authority."""
    path = f"/api/v1/namespaces/{fake_namespace}/secrets"
    data = {"tls.crt": "YQ==", "tls.key": "Yg==", "ca.crt": "Yw=="}
    await client.request("POST", path, body={"metadata": {"name": "theirs"}, "data": data})
    with pytest.raises(ConfigError, match="--webhook-cert-dir"):
        await SharedSecret(client, fake_namespace, "theirs", ["x"]).refresh()
    assert (await client.request("GET", f"{path}/theirs"))["data"] == data
