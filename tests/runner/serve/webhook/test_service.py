# SPDX-License-Identifier: Apache-2.0
"""The API server asks the webhook, and gets its answers."""

import pytest

from ansible_operator.errors import KubeError
from ansible_operator.watches import Admission
from tests.runner.serve.webhook.conftest import make

pytestmark = pytest.mark.api


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


async def test_objects_that_cannot_be_reviewed_are_admitted(
    client, things, fake_namespace, running
):
    async with running():
        made = await make(client, things, fake_namespace, "a", size=13)
        assert made["spec"] == {"size": 13}
    made = await make(client, things, fake_namespace, "b", size=-1)
    assert made["spec"] == {"size": -1}


async def test_without_an_answer_the_policy_decides(client, things, fake_namespace, running):
    async with running(terms={"failure_policy": "Fail"}):
        with pytest.raises(KubeError, match="the functions have crashed"):
            await make(client, things, fake_namespace, "a", size=13)


async def test_deletions_are_reviewed_if_registered(client, things, fake_namespace, running):
    admission = Admission(validate=("f",), operations=("CREATE", "DELETE"))
    async with running(admission=admission):
        for name, keep in (("a", True), ("b", False)):
            await make(client, things, fake_namespace, name, keep=keep)
        with pytest.raises(KubeError, match=r"spec\.keep: must stay"):
            await client.request("DELETE", things.path("a", fake_namespace))
        await client.request("DELETE", things.path("b", fake_namespace))


async def test_subresources_are_reviewed_if_registered(client, things, fake_namespace, running):
    admission = Admission(validate=("f",), subresources=("status",))
    async with running(admission=admission):
        made = await make(client, things, fake_namespace, "a")
        path = things.path("a", fake_namespace, "status")
        kind = "application/merge-patch+json"
        for phase, refused in (("Right", False), ("Wrong", True)):
            patch = client.request(
                "PATCH", path, body={"status": {"phase": phase}}, content_type=kind
            )
            if refused:
                with pytest.raises(KubeError, match=r"status\.phase: is no phase"):
                    await patch
            else:
                assert (await patch)["spec"] == made["spec"]
