# SPDX-License-Identifier: Apache-2.0
"""Configurations are registered, restored, and written only when something differs."""

import asyncio
import ssl

import pytest

from ansible_operator.errors import KubeError
from ansible_operator.serve.webhook import (
    ConfigurationMode,
    SharedSecret,
)
from tests.runner.serve.webhook.conftest import PLURALS, ROOT, make

pytestmark = pytest.mark.api


async def test_a_lost_registration_and_a_new_certificate_are_noticed(
    client, things, fake_namespace, running
):
    async with running(interval=0.3, spread=0.1) as server:
        place = ("127.0.0.1", server.port)
        before = await asyncio.to_thread(ssl.get_server_certificate, place)
        await client.request("DELETE", f"{ROOT}/{PLURALS[0]}/{running.name}")
        names = ["127.0.0.1", "another.example.com"]
        await SharedSecret(client, fake_namespace, running.name, names).refresh()
        await asyncio.sleep(1.5)
        after = await asyncio.to_thread(ssl.get_server_certificate, place)
        assert before != after
        made = await make(client, things, fake_namespace, "a")
        assert made["spec"] == {"size": 3}


async def test_what_is_right_is_not_written(client, things, fake_namespace, running):
    """An idle webhook reads; its configurations keep their version."""

    async def versions():
        found = [await client.request("GET", f"{ROOT}/{p}/{running.name}") for p in PLURALS]
        return [item["metadata"]["resourceVersion"] for item in found]

    async with running(interval=0.2):
        before = await versions()
        await asyncio.sleep(1)
        assert await versions() == before


async def test_labels_of_others_survive(client, things, fake_namespace, running):
    path = f"{ROOT}/{PLURALS[0]}/{running.name}"
    async with running(interval=0.2):
        patch = {"metadata": {"labels": {"theirs": "stays"}}, "webhooks": []}
        kind = "application/merge-patch+json"
        await client.request("PATCH", path, body=patch, content_type=kind)
        await asyncio.sleep(1)
        found = await client.request("GET", path)
        assert found["metadata"]["labels"] == {"theirs": "stays"}
        assert len(found["webhooks"]) == 1


async def test_configurations_of_others_get_the_certificates(
    client, things, fake_namespace, running
):
    """A chart may make the configurations; only what is to be trusted is filled in."""
    path = f"{ROOT}/{PLURALS[1]}"
    async with running(mode=ConfigurationMode.INJECT, interval=0.3) as server:
        place = f"/validate-{things.gvk.group.replace('.', '-')}-v1-thing"
        rule = {
            "apiGroups": [things.gvk.group],
            "apiVersions": ["v1"],
            "operations": ["CREATE"],
            "resources": ["things"],
        }
        webhook = {
            "name": "theirs.example.com",
            "clientConfig": {"url": f"https://127.0.0.1:{server.port}{place}"},
            "rules": [rule],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
        body = {"metadata": {"name": running.name}, "webhooks": [webhook]}
        await client.request("POST", path, body=body)
        await asyncio.sleep(1.5)
        with pytest.raises(KubeError, match=r"spec\.size: must be positive"):
            await make(client, things, fake_namespace, "b", size=0)
