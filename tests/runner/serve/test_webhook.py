# SPDX-License-Identifier: Apache-2.0
"""The API server asks the webhook, and trusts it through renewals."""

import asyncio
import base64
import contextlib
import datetime
import ssl

import aiohttp
import pytest

from ansible_operator.errors import ConfigError, KubeError, OperatorError
from ansible_operator.kube.access import from_kubeconfig
from ansible_operator.kube.client import HttpClient
from ansible_operator.kube.discovery import DiscoveryMapper
from ansible_operator.kube.interface import GroupVersionKind
from ansible_operator.serve.webhook import (
    Care,
    FolderSource,
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
from ansible_operator.serve.webhook.authority import make_credentials
from ansible_operator.watches import Admission

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
    async def run(*, source=None, care=Care.MANAGE, admission=None, client=client, **options):
        settings = WebhookSettings(
            host="127.0.0.1",
            port=0,
            namespace=fake_namespace,
            url_host="127.0.0.1",
            terms=Terms(address={}, **options.pop("terms", {})),
        )
        admission = admission or Admission(default=("f",), validate=("f",))
        hooks = [Hook(gvk=things.gvk, admission=admission)]
        registrar = Registrar(client, DiscoveryMapper(client), name, care, hooks)
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


async def test_without_an_answer_the_policy_decides(client, things, fake_namespace, running):
    async with running(terms={"failure_policy": "Fail"}):
        with pytest.raises(KubeError, match="the functions have crashed"):
            await make(client, things, fake_namespace, "a", size=13)


async def test_deletions_are_judged_if_asked_for(client, things, fake_namespace, running):
    admission = Admission(validate=("f",), operations=("CREATE", "DELETE"))
    async with running(admission=admission):
        for name, keep in (("a", True), ("b", False)):
            await make(client, things, fake_namespace, name, keep=keep)
        with pytest.raises(KubeError, match=r"spec\.keep: must stay"):
            await client.request("DELETE", things.path("a", fake_namespace))
        await client.request("DELETE", things.path("b", fake_namespace))


async def test_subresources_are_judged_if_asked_for(client, things, fake_namespace, running):
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


async def test_certificates_from_a_folder(client, things, fake_namespace, running, tmp_path):
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
        mount(first)
        for number in range(10):
            made = await make(client, things, fake_namespace, f"b{number}")
            assert made["spec"] == {"size": 3}
            await asyncio.sleep(0.3)
        after = await asyncio.to_thread(ssl.get_server_certificate, ("127.0.0.1", server.port))
        assert after != before
    with pytest.raises(KubeError, match="not found"):
        await client.request("GET", f"/api/v1/namespaces/{fake_namespace}/secrets/{running.name}")


async def test_an_authority_that_changes_is_trusted_all_along(
    client, things, fake_namespace, running
):
    """Both replicas go on serving while one of them brings in another authority."""
    path = f"/api/v1/namespaces/{fake_namespace}/secrets/{running.name}"
    async with running(interval=0.3, spread=1.0):
        secret = await client.request("GET", path)
        old = base64.b64decode(secret["data"]["ca.crt"])
        now = datetime.datetime.now(datetime.UTC)
        new = make_credentials(["127.0.0.1"], now, trusted=old)
        values = (new.bundle, new.authority_key, new.serving.certificate, new.serving.key)
        keys = ("ca.crt", "ca.key", "tls.crt", "tls.key")
        data = dict(zip(keys, (base64.b64encode(v).decode() for v in values), strict=True))
        await client.request("PUT", path, body={**secret, "data": data})
        for number in range(10):
            made = await make(client, things, fake_namespace, f"b{number}")
            assert made["spec"] == {"size": 3}
            await asyncio.sleep(0.3)


async def test_configurations_of_others_get_the_certificates(
    client, things, fake_namespace, running
):
    """A chart may make the configurations; only what is to be trusted is filled in."""
    path = f"{ROOT}/{PLURALS[1]}"
    async with running(care=Care.INJECT, interval=0.3) as server:
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


async def test_replicas_that_start_together_agree(client, fake_namespace):
    secrets = [SharedSecret(client, fake_namespace, "shared", ["x"]) for _ in range(5)]
    bundles = {found.bundle for found in await asyncio.gather(*(s.refresh() for s in secrets))}
    assert len(bundles) == 1


@pytest.mark.parametrize(
    "data", [{"tls.key": None}, {"ca.crt": "bm9uc2Vuc2U="}, {"ca.key": "IQ=="}], ids=str
)
async def test_a_damaged_secret_is_made_anew(client, fake_namespace, data):
    secret = SharedSecret(client, fake_namespace, "damaged", ["x"])
    first = await secret.refresh()
    path = f"/api/v1/namespaces/{fake_namespace}/secrets/damaged"
    kind = "application/merge-patch+json"
    await client.request("PATCH", path, body={"data": data}, content_type=kind)
    made = await secret.refresh()
    assert made != first
    assert (await secret.refresh()) == made


async def test_the_secret_of_somebody_else_is_left_alone(client, fake_namespace):
    """As cert-manager writes it: without the key of the authority."""
    path = f"/api/v1/namespaces/{fake_namespace}/secrets"
    data = {"tls.crt": "YQ==", "tls.key": "Yg==", "ca.crt": "Yw=="}
    await client.request("POST", path, body={"metadata": {"name": "theirs"}, "data": data})
    with pytest.raises(ConfigError, match="--webhook-cert-dir"):
        await SharedSecret(client, fake_namespace, "theirs", ["x"]).refresh()
    assert (await client.request("GET", f"{path}/theirs"))["data"] == data


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
