# SPDX-License-Identifier: Apache-2.0
"""Reads through the proxy: from caches that exist, never from a stale one, else live."""

import asyncio
import dataclasses
import json

import pytest

from ansible_operator.serve.interface import ProxyLimits
from tests.runner.serve.proxy.conftest import CONFIG_MAP, basic_of, config_map
from tests.support.waiting import eventually_async

pytestmark = pytest.mark.api


async def test_reading_never_starts_an_informer(served):
    session = served.open()
    answer = await served.request(session, "GET", served.path("owner"))
    assert answer.json["metadata"]["uid"] == served.owner.uid
    assert "X-Cache" not in answer.headers
    assert served.pool.peek(CONFIG_MAP) is None


async def test_a_running_informer_answers(served):
    await served.watch()
    answer = await served.request(served.open(), "GET", served.path("owner"))
    assert answer.headers["X-Cache"] == "HIT"
    assert answer.headers["Content-Type"].startswith("application/json")
    assert answer.json["metadata"]["uid"] == served.owner.uid
    assert (answer.json["kind"], answer.json["apiVersion"]) == ("ConfigMap", "v1")
    assert answer.body.decode().startswith('{\n  "')


async def test_the_loop_is_told_before_a_run_looks_at_objects_of_its_own_kind(served):
    await served.watch()
    versions = []

    async def look():
        changed = await served.client.request(
            "PATCH",
            served.path("owner"),
            body={"metadata": {"labels": {"is": "reported"}}},
            content_type="application/merge-patch+json",
        )
        versions.append(changed["metadata"]["resourceVersion"])
        return versions[-1]

    session = served.proxy.open_session(served.owner, ProxyLimits(), served.directory, look)
    await served.request(session, "GET", served.path(plural="secrets"))
    await served.request(session, "GET", f"/api/v1/namespaces/{served.namespace}")
    assert versions == []
    for _ in range(2):
        answer = await served.request(session, "GET", served.path("owner"))
        assert answer.json["metadata"]["labels"] == {"is": "reported"}
        assert [answer.json["metadata"]["resourceVersion"]] == versions


async def test_a_cluster_scoped_object_is_cached_under_its_name(served):
    namespaces = await served.mapper.by_plural("", "v1", "namespaces")
    await served.watch(namespaces)
    answer = await served.request(served.open(), "GET", f"/api/v1/namespaces/{served.namespace}")
    assert answer.headers["X-Cache"] == "HIT"
    assert answer.json["metadata"]["name"] == served.namespace


async def test_a_cache_miss_is_read_live(served):
    await served.watch()
    answer = await served.request(served.open(), "GET", served.path("nowhere"))
    assert answer.status == 404
    assert answer.json["reason"] == "NotFound"
    assert "X-Cache" not in answer.headers


async def test_a_cached_list_can_be_watched_on(served):
    await served.direct("POST", served.path(), config_map("second"))
    await served.watch()
    answer = await served.request(served.open(), "GET", served.path())
    assert answer.headers["X-Cache"] == "HIT"
    document = answer.json
    assert document["kind"] == "ConfigMapList"
    assert {item["metadata"]["name"] for item in document["items"]} >= {"owner", "second"}
    assert all(item["kind"] == "ConfigMap" for item in document["items"])
    assert int(document["metadata"]["resourceVersion"]) > 0
    assert "continue" not in document["metadata"]


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("tier=gold", {"a"}),
        ("tier==gold", {"a"}),
        ("tier=gold,zone=x", set()),
        ("tier=silver", {"b"}),
        ("tier=silver&limit=500", {"b"}),
        ("tier=gold&limit=1", {"a"}),
    ],
)
async def test_simple_label_selectors_are_answered_from_the_cache(served, selector, names):
    for name, tier in (("a", "gold"), ("b", "silver")):
        body = config_map(name)
        body["metadata"]["labels"] = {"tier": tier}
        await served.direct("POST", served.path(), body)
    await served.watch()
    answer = await served.request(served.open(), "GET", f"{served.path()}?labelSelector={selector}")
    assert answer.headers["X-Cache"] == "HIT"
    assert {item["metadata"]["name"] for item in answer.json["items"]} == names


LIVE = [
    "?limit=1",
    "?labelSelector=tier+in+(gold)",
    "?labelSelector=tier",
    "?labelSelector=%21tier",
    "?labelSelector=tier!%3Dgold",
    "?fieldSelector=metadata.name%3Downer",
    "?resourceVersion=1&resourceVersionMatch=NotOlderThan",
    "?timeoutSeconds=5",
]


@pytest.mark.parametrize("query", LIVE)
async def test_what_a_cache_cannot_answer_goes_live(served, query):
    await served.direct("POST", served.path(), config_map("second"))
    await served.watch()
    answer = await served.request(served.open(), "GET", served.path() + query)
    assert answer.status == 200
    assert "X-Cache" not in answer.headers


async def test_a_list_of_few_large_objects_goes_live(served):
    for number in range(5):
        body = {**config_map(f"large{number}"), "data": {"x": "y" * 900_000}}
        await served.direct("POST", served.path(), body)
    await served.watch()
    answer = await served.request(served.open(), "GET", served.path())
    assert len(answer.json["items"]) >= 5
    assert "X-Cache" not in answer.headers


async def test_tables_come_from_the_server(served):
    await served.watch()
    accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
    answer = await served.request(served.open(), "GET", served.path(), Accept=accept)
    assert answer.json["kind"] == "Table"
    one = await served.request(served.open(), "GET", served.path("owner"), Accept=accept)
    assert one.json["kind"] == "Table"


async def test_blacklisted_kinds_are_never_cached(served):
    await served.watch()
    session = served.open(blacklist=frozenset({CONFIG_MAP.gvk}))
    answer = await served.request(session, "GET", served.path("owner"))
    assert answer.status == 200
    assert "X-Cache" not in answer.headers


async def test_other_subresources_go_live(served):
    deployments = await served.mapper.by_plural("apps", "v1", "deployments")
    await served.watch(deployments)
    path = f"/apis/apps/v1/namespaces/{served.namespace}/deployments"
    await served.direct("POST", path, deployment("d"))
    answer = await served.request(served.open(), "GET", f"{path}/d/scale")
    assert answer.json["kind"] == "Scale"
    assert "X-Cache" not in answer.headers


def deployment(name):
    labels = {"app": name}
    container = {"name": "c", "image": "registry.invalid/c"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


async def test_virtual_kinds_go_live_and_untouched(served):
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}},
    }
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    answer = await served.request(served.open(), "POST", path, body)
    assert answer.status == 201
    assert answer.json["status"]["allowed"] is True
    assert served.dependents == []


async def test_reads_see_what_the_run_has_just_written(served):
    await served.watch()
    session = served.open()
    await served.request(session, "POST", served.path(), config_map("w", n="0"))
    for number in range(1, 40):
        patch = {"data": {"n": str(number)}}
        answer = await served.request(
            session,
            "PATCH",
            served.path("w"),
            patch,
            Content_Type="application/merge-patch+json",
        )
        assert answer.status == 200
        read = await served.request(session, "GET", served.path("w"))
        assert read.json["data"]["n"] == str(number)
        listed = await served.request(session, "GET", served.path())
        found = {item["metadata"]["name"]: item for item in listed.json["items"]}
        assert found["w"]["data"]["n"] == str(number)
    await served.request(session, "DELETE", served.path("w"))
    listed = await served.request(session, "GET", served.path())
    assert "w" not in {item["metadata"]["name"] for item in listed.json["items"]}
    assert (await served.request(session, "GET", served.path("w"))).status == 404
    await asyncio.sleep(0.5)
    assert (await served.request(session, "GET", served.path())).headers["X-Cache"] == "HIT"


async def test_a_run_never_reads_its_owner_older_than_it_began(served):
    """The status that is written just before a run is not missing in what the run reads."""
    await served.watch()
    for number in range(20):
        written = await served.client.request(
            "PATCH",
            served.path("owner"),
            body={"data": {"n": str(number)}},
            content_type="application/merge-patch+json",
        )
        version = written["metadata"]["resourceVersion"]
        session = served.open(dataclasses.replace(served.owner, resource_version=version))
        read = await served.request(session, "GET", served.path("owner"))
        assert read.json["data"]["n"] == str(number)


async def test_deleting_a_collection_is_seen_at_once(served):
    await served.watch()
    session = served.open()
    for number in range(5):
        body = config_map(f"c{number}")
        body["metadata"]["labels"] = {"many": "yes"}
        await served.request(session, "POST", served.path(), body)
    await asyncio.sleep(0.3)
    answer = await served.request(session, "DELETE", f"{served.path()}?labelSelector=many%3Dyes")
    assert answer.status == 200
    listed = await served.request(session, "GET", f"{served.path()}?labelSelector=many=yes")
    assert listed.json["items"] == []


async def test_a_page_that_holds_all_is_answered_from_the_cache(served):
    await served.watch()
    session, path = served.open(), served.path()
    whole = await served.request(session, "GET", f"{path}?limit=500")
    assert whole.headers["X-Cache"] == "HIT"
    assert "continue" not in whole.json["metadata"]
    live = await served.direct("GET", path)
    assert [item["metadata"]["name"] for item in whole.json["items"]] == [
        item["metadata"]["name"] for item in live["items"]
    ]
    part = await served.request(session, "GET", f"{path}?limit=1")
    assert "X-Cache" not in part.headers
    assert part.json["metadata"]["continue"]


async def test_a_list_from_the_cache_has_the_order_of_the_server(served):
    await served.watch()
    for name in ("z", "a", "m", "a-b"):
        await served.direct("POST", served.path(), config_map(name))
    # Kubernetes adds one of its own.
    known = served.pool.peek(CONFIG_MAP)
    await eventually_async(lambda: len(known.list(served.namespace)) == 6)
    live = await served.direct("GET", served.path())
    whole = await served.request(served.open(), "GET", served.path())
    assert whole.headers["X-Cache"] == "HIT"
    names = [item["metadata"]["name"] for item in whole.json["items"]]
    assert names == ["a", "a-b", "kube-root-ca.crt", "m", "owner", "z"]
    assert names == [item["metadata"]["name"] for item in live["items"]]


async def test_pages_end(served):
    for number in range(7):
        await served.direct("POST", served.path(), config_map(f"p{number}"))
    await served.watch()
    session, seen, token = served.open(), [], ""
    for _ in range(20):
        answer = await served.request(session, "GET", f"{served.path()}?limit=2&continue={token}")
        seen += [item["metadata"]["name"] for item in answer.json["items"]]
        token = answer.json["metadata"].get("continue", "")
        if not token:
            break
    assert len(seen) == len(set(seen))
    assert {f"p{number}" for number in range(7)} <= set(seen)


async def test_watches_stream(served):
    await served.watch()
    session = served.open()

    async def follow():
        events = []
        url = f"http://127.0.0.1:{served.proxy.port}{served.path()}"
        query = "?watch=true&fieldSelector=metadata.name%3Dfollowed"
        auth = {"Authorization": basic_of(session)}
        async with served.http.get(url + query, headers=auth) as answer:
            async for line in answer.content:
                events.append(json.loads(line)["type"])
                if events[-1] == "DELETED":
                    return events
        return events

    task = asyncio.create_task(follow())
    await asyncio.sleep(0.3)
    await served.direct("POST", served.path(), config_map("followed"))
    await asyncio.sleep(0.1)
    await served.direct("DELETE", served.path("followed"))
    assert await asyncio.wait_for(task, 10) == ["ADDED", "DELETED"]


async def test_long_answers_pass_unchanged(served):
    big = "x" * 900_000
    for number in range(6):
        await served.direct("POST", served.path(), config_map(f"big{number}", blob=big))
    direct = await served.direct("GET", served.path())
    answer = await served.request(served.open(), "GET", served.path())
    assert answer.json["items"] == direct["items"]
    assert len(answer.body) > 5_000_000


async def test_discovery_is_remembered_for_a_moment(served):
    session = served.open()
    first = await served.request(session, "GET", "/apis")
    again = await served.request(session, "GET", "/apis")
    assert first.json["kind"] == "APIGroupList"
    assert again.body == first.body
    plain = await served.request(session, "GET", "/api/v1")
    assert plain.json["kind"] == "APIResourceList"


async def test_a_kind_that_a_play_defines_is_discovered_at_once(served):
    session = served.open()
    group = f"g{served.namespace.replace('-', '')}.example.com"
    before = await served.request(session, "GET", "/apis")
    assert group not in before.body.decode()
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
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
                        "openAPIV3Schema": {
                            "type": "object",
                            "x-kubernetes-preserve-unknown-fields": True,
                        }
                    },
                }
            ],
        },
    }
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    try:
        made = await served.request(session, "POST", path, crd)
        assert made.status == 201, made.body
        async with asyncio.timeout(15):
            while True:
                await asyncio.sleep(0.05)
                groups = await served.request(session, "GET", "/apis")
                if group in groups.body.decode():
                    break
            things = f"/apis/{group}/v1/namespaces/{served.namespace}/things"
            thing = {"apiVersion": f"{group}/v1", "kind": "Thing", "metadata": {"name": "t"}}
            await asyncio.sleep(2.1)  # the mapper may have asked too early; it asks again then
            made = await served.request(session, "POST", things, thing)
            assert made.status == 201
            assert made.json["metadata"]["ownerReferences"][0]["uid"] == served.owner.uid
    finally:
        await served.direct("DELETE", f"{path}/things.{group}")
