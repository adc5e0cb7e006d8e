# SPDX-License-Identifier: Apache-2.0
"""A webhook that a real API server asks, and a kind to ask about."""

import asyncio
import contextlib

import pytest

from ansible_operator.errors import KubeError, OperatorError
from ansible_operator.kube.discovery import DiscoveryMapper
from ansible_operator.kube.interface import GroupVersionKind
from ansible_operator.serve.webhook import (
    ConfigurationMode,
    Hook,
    Mistake,
    Registrar,
    SecretSource,
    SharedSecret,
    Terms,
    Verdict,
    WebhookSettings,
    webhooks,
)
from ansible_operator.watches import Admission


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
                    "subresources": {"status": {}},
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {"spec": anything, "status": anything},
                        }
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


ROOT = "/apis/admissionregistration.k8s.io/v1"


PLURALS = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")


async def judge(question, is_default, seconds):
    """Size defaults to 3, must be positive, cannot shrink; 13 is beyond the judge."""
    assert 0 < seconds < 10
    size = question.object["spec"].get("size", 3)
    if size == 13:
        raise OperatorError("the functions have crashed")
    if is_default:
        return Verdict({**question.object, "spec": {**question.object["spec"], "size": size}})
    mistakes = []
    if question.subresource == "status":
        wrong = question.object["status"].get("phase") == "Wrong"
        mistakes = [Mistake("is no phase", "status.phase")] if wrong else []
    elif question.operation == "DELETE":
        mistakes = [Mistake("must stay", "spec.keep")] if question.object["spec"]["keep"] else []
    elif size < 1:
        mistakes.append(Mistake("must be positive", "spec.size"))
    if question.operation == "UPDATE" and size < question.old["spec"].get("size", 0):
        mistakes.append(Mistake("cannot shrink", "spec.size", "FieldValueForbidden"))
    warnings = ("spec.size: a single one is not redundant",) if size == 1 else ()
    return Verdict(mistakes=tuple(mistakes), warnings=warnings)


@pytest.fixture
async def running(client, fake_namespace, things):
    name = f"hook-{fake_namespace}"

    @contextlib.asynccontextmanager
    async def run(
        *, source=None, mode=ConfigurationMode.MANAGE, admission=None, client=client, **options
    ):
        settings = WebhookSettings(
            host="127.0.0.1",
            port=0,
            namespace=fake_namespace,
            url_host="127.0.0.1",
            terms=Terms(address={}, **options.pop("terms", {})),
        )
        admission = admission or Admission(default=("f",), validate=("f",))
        hooks = [Hook(gvk=things.gvk, admission=admission)]
        registrar = Registrar(client, DiscoveryMapper(client), name, mode, hooks)
        secret = SharedSecret(client, fake_namespace, name, settings.names())
        source = source or SecretSource(secret)
        async with webhooks(settings, source, registrar, judge, **options) as server:
            await asyncio.sleep(0.5)  # the API server learns of configurations by a watch
            yield server

    run.name = name
    yield run
    for plural in PLURALS:
        with contextlib.suppress(KubeError):
            await client.request("DELETE", f"{ROOT}/{plural}/{name}")


async def make(client, things, namespace, name, **spec):
    path = things.path(namespace=namespace)
    body = {
        "apiVersion": things.gvk.api_version,
        "kind": "Thing",
        "metadata": {"name": name},
        "spec": spec,
    }
    return await client.request("POST", path, body=body)
