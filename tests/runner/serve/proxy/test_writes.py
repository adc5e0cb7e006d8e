# SPDX-License-Identifier: Apache-2.0
"""What plays create belongs to the object they run for."""

import asyncio
import json

import pytest

from ansible_operator.errors import KubeError
from ansible_operator.kube.interface import GroupVersionKind
from ansible_operator.serve.interface import Owner
from ansible_operator.serve.proxy import sessions
from tests.runner.serve.proxy.conftest import CONFIG_MAP, config_map
from tests.support.waiting import eventually_async

pytestmark = pytest.mark.api
APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"


def references(obj):
    return obj["metadata"].get("ownerReferences") or []


def reference(owner):
    return {"apiVersion": "v1", "kind": "ConfigMap", "name": owner.name, "uid": owner.uid}


async def test_a_created_object_gets_a_reference(served):
    session = served.open()
    answer = await served.request(session, "POST", served.path(), config_map("made"))
    assert answer.status == 201
    stored = await served.direct("GET", served.path("made"))
    assert references(stored) == [reference(served.owner)]
    assert stored["metadata"]["namespace"] == served.namespace
    assert served.dependents == [("owner", "ConfigMap", False)]
    [write] = served.writes
    assert (write.name, write.uid) == ("made", stored["metadata"]["uid"])
    assert write.resource_version == stored["metadata"]["resourceVersion"]


async def test_generated_names_work(served):
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "gen-"}}
    answer = await served.request(served.open(), "POST", served.path(), body)
    assert answer.json["metadata"]["name"].startswith("gen-")
    assert references(answer.json) == [reference(served.owner)]


async def test_an_object_elsewhere_is_annotated(served):
    path = "/api/v1/namespaces/default/configmaps"
    name = f"far-{served.namespace}"
    try:
        answer = await served.request(served.open(), "POST", path, config_map(name))
        assert references(answer.json) == []
        assert answer.json["metadata"]["annotations"] == {
            "operator-sdk/primary-resource": f"{served.namespace}/owner",
            "operator-sdk/primary-resource-type": "ConfigMap",
        }
        assert served.dependents == [("owner", "ConfigMap", True)]
    finally:
        await served.direct("DELETE", f"{path}/{name}")


async def test_a_cluster_scoped_object_is_annotated(served):
    name = f"role-{served.namespace}"
    path = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
    body = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": [],
    }
    try:
        answer = await served.request(served.open(), "POST", path, body)
        assert references(answer.json) == []
        assert "operator-sdk/primary-resource" in answer.json["metadata"]["annotations"]
        assert served.dependents == [("owner", "ClusterRole", True)]
    finally:
        await served.direct("DELETE", f"{path}/{name}")


async def test_a_cluster_scoped_owner_is_always_referenced(served):
    namespace = await served.direct("GET", f"/api/v1/namespaces/{served.namespace}")
    gvk = GroupVersionKind("", "v1", "Namespace")
    owner = Owner(gvk, served.namespace, "", namespace["metadata"]["uid"], namespaced=False)
    answer = await served.request(served.open(owner), "POST", served.path(), config_map("c"))
    assert [entry["kind"] for entry in references(answer.json)] == ["Namespace"]


async def test_injection_can_be_switched_off(served):
    session = served.open(inject_owner=False)
    answer = await served.request(session, "POST", served.path(), config_map("plain"))
    assert answer.status == 201
    assert references(answer.json) == []
    assert served.dependents == []


async def test_a_blacklisted_kind_is_owned_but_not_watched(served):
    session = served.open(blacklist=frozenset({CONFIG_MAP.gvk}))
    answer = await served.request(session, "POST", served.path(), config_map("b"))
    assert references(answer.json) == [reference(served.owner)]
    assert served.dependents == []


async def test_a_dry_run_is_injected_and_changes_nothing(served):
    path = f"{served.path()}?dryRun=All"
    answer = await served.request(served.open(), "POST", path, config_map("dry"))
    assert references(answer.json) == [reference(served.owner)]
    assert served.dependents == []
    assert served.writes == []


async def test_a_create_is_refused_when_its_kind_cannot_be_watched(served):
    served.refuse = KubeError("forbidden", status=403)
    answer = await served.request(served.open(), "POST", served.path(), config_map("unwatched"))
    assert answer.status == 500
    assert "could not add watch to controller" in answer.json["message"]
    with pytest.raises(KubeError, match="not found"):
        await served.direct("GET", served.path("unwatched"))


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        ("k8s\0...", {"Content_Type": "application/vnd.kubernetes.protobuf"}),
        ("not: [json", {"Content_Type": "application/json"}),
        ('["a list"]', {"Content_Type": "application/json"}),
    ],
)
async def test_bodies_that_are_no_objects_are_refused(served, body, headers):
    answer = await served.request(served.open(), "POST", served.path(), body, **headers)
    assert answer.status == 400
    assert "Could not deserialize request body" in answer.json["message"]


async def test_an_unreadable_path_is_refused(served):
    answer = await served.request(served.open(), "GET", "/api/v1/watch")
    assert answer.status == 400
    assert "Could not convert request" in answer.json["message"]


async def test_kinds_that_nobody_serves_go_to_the_server(served):
    path = f"/apis/none.example.com/v1/namespaces/{served.namespace}/things"
    answer = await served.request(served.open(), "POST", path, {"metadata": {"name": "x"}})
    assert answer.status == 404


async def test_subresources_are_not_touched(served):
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "sa"}}
    session = served.open()
    await served.request(session, "POST", served.path(plural="serviceaccounts"), account)
    served.dependents.clear()
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    path = served.path("sa/token", plural="serviceaccounts")
    answer = await served.request(session, "POST", path, body)
    assert answer.status == 201
    assert answer.json["status"]["token"]
    assert served.dependents == []


async def apply(served, session, body, manager="m", **query):
    extra = "".join(f"&{key}={value}" for key, value in query.items())
    path = f"{served.path(body['metadata']['name'])}?fieldManager={manager}&force=true{extra}"
    return await served.request(session, "PATCH", path, body, Content_Type=APPLY)


async def test_an_apply_that_creates_gets_a_reference_and_keeps_it(served):
    session = served.open()
    first = await apply(served, session, config_map("applied", n="1"))
    assert first.status == 201
    assert references(first.json) == [reference(served.owner)]
    assert served.dependents == [("owner", "ConfigMap", False)]
    for later in (session, served.open()):
        again = await apply(served, later, config_map("applied", n="2"))
        assert again.status == 200
        assert references(again.json) == [reference(served.owner)]


async def test_what_a_run_has_just_not_found_is_not_looked_up_again(served, monkeypatch):
    sent = []
    stock = served.client.open

    async def opened(method, path, **options):
        sent.append(method)
        return await stock(method, path, **options)

    monkeypatch.setattr(served.client, "open", opened)
    session = served.open()
    assert (await served.request(session, "GET", served.path("new"))).status == 404
    answer = await apply(served, session, config_map("new"))
    assert references(answer.json) == [reference(served.owner)]
    assert sent == ["GET", "PATCH"]


@pytest.mark.parametrize("who", ["another run", "the same run, later"])
async def test_what_was_not_found_otherwise_is_looked_up(served, monkeypatch, who):
    session = served.open()
    assert (await served.request(session, "GET", served.path("late"))).status == 404
    await served.direct("POST", served.path(), config_map("late"))
    if who == "another run":
        session = served.open()
    else:
        monkeypatch.setattr(sessions, "ABSENT_SECONDS", 0)
    answer = await apply(served, session, config_map("late"))
    assert references(answer.json) == []


async def test_an_apply_never_adopts(served):
    await served.direct("POST", served.path(), config_map("foreign"))
    answer = await apply(served, served.open(), config_map("foreign", n="1"))
    assert answer.json["data"] == {"n": "1"}
    assert references(answer.json) == []
    assert served.dependents == []


async def test_an_apply_never_adopts_from_a_cache_either(served):
    await served.direct("POST", served.path(), config_map("foreign"))
    await served.watch()
    answer = await apply(served, served.open(), config_map("foreign", n="1"))
    assert references(answer.json) == []


async def test_an_object_that_the_run_deletes_and_applies_again_is_its_own(served):
    await served.direct("POST", served.path(), config_map("again"))
    session = served.open()
    await apply(served, session, config_map("again"))
    await served.request(session, "DELETE", served.path("again"))
    answer = await apply(served, session, config_map("again"))
    assert references(answer.json) == [reference(served.owner)]


async def test_a_dry_apply_shows_the_reference(served):
    session = served.open()
    dry = await apply(served, session, config_map("dry"), dryRun="All")
    assert references(dry.json) == [reference(served.owner)]
    assert served.dependents == []
    real = await apply(served, session, config_map("dry"))
    assert references(real.json) == [reference(served.owner)]
    assert served.dependents == [("owner", "ConfigMap", False)]


async def test_yaml_can_be_applied(served):
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: y}\ndata: {a: 'yes'}\n"
    path = f"{served.path('y')}?fieldManager=m"
    answer = await served.request(served.open(), "PATCH", path, text, Content_Type=APPLY)
    assert answer.status == 201
    assert answer.json["data"] == {"a": "yes"}
    assert references(answer.json) == [reference(served.owner)]


async def test_an_apply_elsewhere_is_annotated_again_and_again(served):
    path = f"/api/v1/namespaces/default/configmaps/ssa-{served.namespace}?fieldManager=m"
    body = config_map(f"ssa-{served.namespace}")
    try:
        for _ in range(2):
            session = served.open()
            answer = await served.request(session, "PATCH", path, body, Content_Type=APPLY)
            annotations = answer.json["metadata"]["annotations"]
            assert annotations["operator-sdk/primary-resource"] == f"{served.namespace}/owner"
    finally:
        await served.direct("DELETE", path.partition("?")[0])


async def test_a_replacement_keeps_the_reference(served):
    session = served.open()
    await served.request(session, "POST", served.path(), config_map("put", n="1"))
    for cached in (False, True):
        if cached:
            await served.watch()
        answer = await served.request(
            served.open(), "PUT", served.path("put"), config_map("put", n="2")
        )
        assert answer.status == 200
        assert references(answer.json) == [reference(served.owner)]


async def test_a_replacement_does_not_adopt(served):
    await served.direct("POST", served.path(), config_map("foreign"))
    answer = await served.request(
        served.open(), "PUT", served.path("foreign"), config_map("foreign", n="1")
    )
    assert answer.json["data"] == {"n": "1"}
    assert references(answer.json) == []


async def test_patches_pass(served):
    session = served.open()
    await served.request(session, "POST", served.path(), config_map("p", n="1"))
    patch = {"data": {"n": "2"}}
    path = served.path("p")
    answer = await served.request(session, "PATCH", path, patch, Content_Type=MERGE)
    assert answer.json["data"] == {"n": "2"}
    operations = [{"op": "replace", "path": "/data/n", "value": "3"}]
    kind = "application/json-patch+json"
    answer = await served.request(session, "PATCH", path, operations, Content_Type=kind)
    assert answer.json["data"] == {"n": "3"}


async def test_a_write_that_changes_nothing_is_not_taken_for_the_change_before_it(served):
    """Such a write is answered with the version of whoever wrote last."""
    session, path, patch = served.open(), served.path("shared"), {"data": {"n": "2"}}
    await served.request(session, "POST", served.path(), config_map("shared", n="1"))
    await served.watch()
    informer = served.pool.peek(CONFIG_MAP)
    foreign = await served.client.request("PATCH", path, body=patch, content_type=MERGE)
    version = foreign["metadata"]["resourceVersion"]

    def cached():
        return informer.get(served.namespace, "shared")["metadata"]["resourceVersion"]

    await eventually_async(lambda: cached() == version)
    answer = await served.request(session, "PATCH", path, patch, Content_Type=MERGE)
    assert answer.json["metadata"]["resourceVersion"] == version
    written = {write.resource_version for write in served.writes}
    assert version not in written

    answer = await served.request(session, "PATCH", path, {"data": {"n": "3"}}, Content_Type=MERGE)
    later = answer.json["metadata"]["resourceVersion"]
    await served.request(session, "PATCH", path, {"data": {"n": "3"}}, Content_Type=MERGE)
    assert {write.resource_version for write in served.writes} == {*written, later}


def behind(served, monkeypatch, name):
    """Have the cache know of no change from now on, as if its events were late."""
    informer = served.pool.peek(CONFIG_MAP)
    known = informer.get(served.namespace, name)
    get = informer.get
    assert known is not None

    def late(namespace, asked):
        return known if (namespace, asked) == (served.namespace, name) else get(namespace, asked)

    monkeypatch.setattr(type(informer), "get", lambda _self, *key: late(*key))


async def seen(served, name):
    """Wait until the cache has an object as it is."""
    informer = served.pool.peek(CONFIG_MAP)
    current = await served.direct("GET", served.path(name))
    version = current["metadata"]["resourceVersion"]

    def is_cached():
        cached = informer.get(served.namespace, name)
        return cached is not None and cached["metadata"]["resourceVersion"] == version

    await eventually_async(is_cached)


@pytest.mark.parametrize("own_before", [False, True])
async def test_a_change_that_the_cache_does_not_know_is_not_taken_for_an_own_one(
    served, monkeypatch, own_before
):
    """The write after it changes nothing, and is answered with the version of the change."""
    session, path, patch = served.open(), served.path("late"), {"data": {"n": "2"}}
    await served.request(session, "POST", served.path(), config_map("late", n="1"))
    await served.watch()
    await seen(served, "late")
    session = served.open()
    behind(served, monkeypatch, "late")
    if own_before:
        await served.request(session, "PATCH", path, {"data": {"m": "1"}}, Content_Type=MERGE)
    foreign = await served.client.request("PATCH", path, body=patch, content_type=MERGE)
    version = foreign["metadata"]["resourceVersion"]
    answer = await served.request(session, "PATCH", path, patch, Content_Type=MERGE)
    assert answer.json["metadata"]["resourceVersion"] == version
    assert version not in {write.resource_version for write in served.writes}

    answer = await served.request(session, "PATCH", path, {"data": {"k": "3"}}, Content_Type=MERGE)
    own = answer.json["metadata"]["resourceVersion"]
    assert own in {write.resource_version for write in served.writes}


@pytest.mark.parametrize("content_type", [MERGE, APPLY])
async def test_writes_of_a_run_are_its_own_however_many_in_a_second(
    served, monkeypatch, content_type
):
    session, path = served.open(), served.path("own")
    await served.request(session, "POST", served.path(), config_map("own", n="1"))
    await served.watch()
    await seen(served, "own")
    behind(served, monkeypatch, "own")
    if content_type == APPLY:
        path += "?fieldManager=ansible&force=true"
    versions = set()
    for number in range(5):
        body = config_map("own", n=str(number + 2))
        answer = await served.request(session, "PATCH", path, body, Content_Type=content_type)
        assert answer.status == 200
        versions.add(answer.json["metadata"]["resourceVersion"])
    assert len(versions) == 5
    assert versions <= {write.resource_version for write in served.writes}


async def test_a_deletion_under_way_is_not_the_own_one(served, monkeypatch):
    body = config_map("held")
    body["metadata"]["finalizers"] = ["example.com/hold"]
    path = served.path("held")
    await served.direct("POST", served.path(), body)
    await served.watch()
    await served.direct("DELETE", path)
    await seen(served, "held")
    answer = await served.request(served.open(), "DELETE", path)
    assert answer.status == 200
    assert answer.json["metadata"]["deletionTimestamp"]
    assert served.writes == []
    await served.client.request(
        "PATCH", path, body={"metadata": {"finalizers": None}}, content_type=MERGE
    )


async def test_a_lost_watch_is_recovered_from_what_is_read(served):
    body = config_map("left")
    body["metadata"]["ownerReferences"] = [reference(served.owner)]
    await served.direct("POST", served.path(), body)
    paths = (served.path("left"), served.path(), f"{served.path()}?limit=500")
    for path in paths:
        served.dependents.clear()
        await served.request(served.open(), "GET", path)
        assert served.dependents == [("owner", "ConfigMap", False)]
    await served.watch()
    for path in paths:
        served.dependents.clear()
        session = served.open()
        for _ in range(2):
            answer = await served.request(session, "GET", path)
            assert answer.headers["X-Cache"] == "HIT"
        assert served.dependents == [("owner", "ConfigMap", False)]


async def test_runs_side_by_side_own_what_they_made(served):
    owners = []
    for number in range(10):
        made = await served.direct("POST", served.path(), config_map(f"owner{number}"))
        uid = made["metadata"]["uid"]
        owners.append(Owner(CONFIG_MAP.gvk, f"owner{number}", served.namespace, uid))
    await served.watch()

    async def play(owner):
        session = served.open(owner)
        for number in range(5):
            name = f"{owner.name}-{number}"
            await served.request(session, "POST", served.path(), config_map(name))
            read = await served.request(session, "GET", served.path(name))
            assert references(read.json) == [reference(owner)]
            await apply(served, session, config_map(f"{name}-ssa"))
        served.proxy.close_session(session)

    await asyncio.gather(*(play(owner) for owner in owners))
    listed = await served.direct("GET", served.path())
    owned = [references(item)[0]["name"] for item in listed["items"] if references(item)]
    assert sorted(owned) == sorted(owner.name for owner in owners for _ in range(10))


async def test_chunked_bodies_are_owned_too(served):
    async def chunks():
        text = json.dumps(config_map("chunked", blob="x" * 300_000))
        for start in range(0, len(text), 50_000):
            yield text[start : start + 50_000].encode()

    answer = await served.request(
        served.open(), "POST", served.path(), chunks(), Content_Type="application/json"
    )
    assert answer.status == 201
    assert len(answer.json["data"]["blob"]) == 300_000
    assert references(answer.json) == [reference(served.owner)]


async def test_the_servers_errors_come_through(served):
    session = served.open()
    await served.request(session, "POST", served.path(), config_map("once"))
    answer = await served.request(session, "POST", served.path(), config_map("once"))
    assert answer.status == 409
    assert answer.json["reason"] == "AlreadyExists"
    huge = config_map("huge", blob="x" * 4_000_000)
    answer = await served.request(session, "POST", served.path(), huge)
    assert answer.status == 413
