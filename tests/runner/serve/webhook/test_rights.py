# SPDX-License-Identifier: Apache-2.0
"""The rights that the documentation names are enough, and a missing one is named."""

import asyncio

import pytest

from ansible_operator.errors import ConfigError
from ansible_operator.kube.access import from_kubeconfig
from ansible_operator.kube.client import HttpClient
from ansible_operator.serve.webhook import (
    SharedSecret,
)
from tests.runner.serve.webhook.conftest import PLURALS, ROOT, make

pytestmark = pytest.mark.api


ROLE = "rbac.authorization.k8s.io/v1"


SECRETS = {"apiGroups": [""], "resources": ["secrets"]}


CONFIGURATIONS = {"apiGroups": ["admissionregistration.k8s.io"], "resources": list(PLURALS)}


async def allowed(testbed, client, namespace, folder, *, own, everywhere):
    """A client that has these rights and no others, but for discovery."""
    account = {"kind": "ServiceAccount", "name": "hook", "namespace": namespace}
    await client.request(
        "POST", f"/api/v1/namespaces/{namespace}/serviceaccounts", body={"metadata": account}
    )
    for kind, rules, scope in (
        ("Role", own, f"/namespaces/{namespace}"),
        ("ClusterRole", everywhere, ""),
    ):
        name = {"metadata": {"name": f"hook-{namespace}"}}
        root = f"/apis/{ROLE}{scope}/{kind.lower()}"
        await client.request("POST", f"{root}s", body={**name, "rules": rules})
        reference = {"apiGroup": ROLE.partition("/")[0], "kind": kind, **name["metadata"]}
        body = {**name, "roleRef": reference, "subjects": [account]}
        await client.request("POST", f"{root}bindings", body=body)
    path = testbed.account(namespace, "hook", folder / "kubeconfig")
    return HttpClient(from_kubeconfig([path]))


async def forget_rights(client, namespace):
    for kind in ("clusterroles", "clusterrolebindings"):
        await client.request("DELETE", f"/apis/{ROLE}/{kind}/hook-{namespace}")


async def test_the_documented_rights_are_enough(
    fake_testbed, client, things, fake_namespace, running, tmp_path
):
    """Certificates are made, a configuration is lost, changed and put right again."""
    named = {"resourceNames": [running.name]}
    limited = await allowed(
        fake_testbed,
        client,
        fake_namespace,
        tmp_path,
        own=[{**SECRETS, "verbs": ["create"]}, {**SECRETS, **named, "verbs": ["get", "update"]}],
        everywhere=[
            {**CONFIGURATIONS, "verbs": ["create"]},
            {**CONFIGURATIONS, **named, "verbs": ["get", "patch"]},
        ],
    )
    try:
        async with limited, running(client=limited, interval=0.2, spread=0.1):
            await client.request("DELETE", f"{ROOT}/{PLURALS[0]}/{running.name}")
            names = ["127.0.0.1", "another.example.com"]
            await SharedSecret(client, fake_namespace, running.name, names).refresh()
            await asyncio.sleep(1.5)
            assert (await make(client, things, fake_namespace, "a"))["spec"] == {"size": 3}
    finally:
        await forget_rights(client, fake_namespace)


async def test_a_missing_right_is_named(
    fake_testbed, client, things, fake_namespace, running, tmp_path
):
    own = [{**SECRETS, "verbs": ["create", "get", "update"]}]
    limited = await allowed(fake_testbed, client, fake_namespace, tmp_path, own=own, everywhere=[])
    try:
        async with limited:
            with pytest.raises(ConfigError, match=r"cannot get resource.*admission\.md"):
                async with running(client=limited):
                    raise AssertionError
    finally:
        await forget_rights(client, fake_namespace)
