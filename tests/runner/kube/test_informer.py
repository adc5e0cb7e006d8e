# SPDX-License-Identifier: Apache-2.0
"""List and watch: pages, bookmarks, breaks, expired versions, several namespaces."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from aiohttp import web

from ansible_operator.kube import informer as informer_module
from ansible_operator.kube.access import ClusterAccess, from_kubeconfig
from ansible_operator.kube.client import HttpClient
from ansible_operator.kube.discovery import DiscoveryMapper
from ansible_operator.kube.informer import KindInformer
from ansible_operator.kube.interface import EventType, GroupVersionKind, Object, ResourceType
from ansible_operator.kube.shared_informers import SharedInformers
from testbed.bed import TestBed

PODS = ResourceType(GroupVersionKind("", "v1", "Pod"), "pods", True)
SERVED = {"name": "pods", "kind": "Pod", "namespaced": True, "verbs": ["get", "list", "watch"]}


def pod(name: str, version: int, namespace: str = "d", **more: Any) -> Object:
    metadata = {"name": name, "namespace": namespace, "resourceVersion": str(version)}
    return {"metadata": metadata, **more}


class ScriptedApi:
    """Lists what ``items`` holds, in pages of one; watches send what tests put into ``events``.

    An API server gives an expired version only after minutes, and never breaks when told to.
    """

    def __init__(self) -> None:
        self.items: list[Object] = []
        self.version: int | str = 1
        self.lists = 0
        self.list_status = 200
        self.watches: list[str] = []
        self.refusals: list[int] = []
        self.served: list[dict[str, Any]] | None = [SERVED]
        self.events: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        if request.path == "/api/v1":
            status = 200 if self.served is not None else 503
            return web.json_response({"resources": self.served}, status=status)
        if "watch" in request.query:
            return await self.watch(request)
        if self.list_status != 200:
            return web.json_response({"message": "no"}, status=self.list_status)
        start = int(request.query.get("continue", "0"))
        self.lists += start == 0
        metadata = {"resourceVersion": str(self.version)}
        if start + 1 < len(self.items):
            metadata["continue"] = str(start + 1)
        return web.json_response({"items": self.items[start : start + 1], "metadata": metadata})

    async def watch(self, request: web.Request) -> web.StreamResponse:
        self.watches.append(request.query["resourceVersion"])
        if self.refusals:
            return web.json_response({"message": "not now"}, status=self.refusals.pop())
        response = web.StreamResponse()
        await response.prepare(request)
        while (event := await self.events.get()) is not None:
            line = json.dumps(event).encode() + b"\n"
            for start in range(0, len(line), 7):
                await response.write(line[start : start + 7])
        return response

    def send(self, kind: str, item: Any) -> None:
        self.events.put_nowait({"type": kind, "object": item})


@pytest.fixture
async def api(
    request: pytest.FixtureRequest,
) -> AsyncIterator[tuple[ScriptedApi, KindInformer, list[str]]]:
    """An API, an informer that follows it, and what the informer's handler heard.

    A parameter gives the namespaces to follow; none means all at once.
    """
    scripted = ScriptedApi()
    app = web.Application()
    app.router.add_get("/{path:.*}", scripted.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    heard: list[str] = []

    def hear(event: EventType, before: Object | None, now: Object) -> None:
        versions = [x["metadata"]["resourceVersion"] for x in (before, now) if x]
        heard.append(f"{event} {now['metadata']['name']} {'->'.join(versions)}")

    url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    async with HttpClient(ClusterAccess(server=url)) as client:
        namespaces = getattr(request, "param", ())
        informer = KindInformer(client, PODS, DiscoveryMapper(client), namespaces=namespaces)
        informer.subscribe(hear)
        task = asyncio.create_task(informer.run())
        yield scripted, informer, heard
        task.cancel()
        await asyncio.wait([task])
    await runner.cleanup()


async def until(look: Callable[[], Any]) -> None:
    async with asyncio.timeout(5):
        while not look():  # noqa: ASYNC110  # what is awaited is elsewhere
            await asyncio.sleep(0.01)


Api = tuple[ScriptedApi, KindInformer, list[str]]


async def test_lists_in_pages_then_follows(api: Api) -> None:
    scripted, informer, heard = api
    scripted.items = [pod("a", 1), pod("b", 1), pod("c", 1)]
    await informer.synced.wait()
    assert heard == ["ADDED a 1", "ADDED b 1", "ADDED c 1"]
    assert informer.get("d", "b") == {**pod("b", 1), "apiVersion": "v1", "kind": "Pod"}
    scripted.send("MODIFIED", pod("a", 2))
    scripted.send("DELETED", pod("b", 3))
    scripted.send("ADDED", pod("e", 4))
    await until(lambda: len(heard) == 6)
    assert heard[3:] == ["MODIFIED a 1->2", "DELETED b 1->3", "ADDED e 4"]
    assert sorted(item["metadata"]["name"] for item in informer.list("d")) == ["a", "c", "e"]
    assert informer.list("elsewhere") == ()


async def test_a_bookmark_moves_the_version_and_nothing_else(api: Api) -> None:
    scripted, informer, heard = api
    await informer.synced.wait()
    scripted.send("BOOKMARK", {"metadata": {"resourceVersion": "77"}})
    await until(lambda: informer.resource_version == "77")
    scripted.events.put_nowait(None)
    await until(lambda: len(scripted.watches) == 2)
    assert scripted.watches == ["1", "77"]
    assert heard == []
    assert scripted.lists == 1


@pytest.mark.parametrize("status", [429, 500, 503, 403])
async def test_a_server_that_is_busy_is_asked_for_the_same_changes_again(
    api: Api, status: int
) -> None:
    scripted, _, heard = api
    await until(lambda: scripted.watches)
    scripted.refusals = [status, status]
    scripted.send("BOOKMARK", {"metadata": {"resourceVersion": "77"}})
    scripted.events.put_nowait(None)
    await until(lambda: len(scripted.watches) == 4)
    assert scripted.watches == ["1", "77", "77", "77"]
    assert scripted.lists == 1, "a list of everything is the last thing that a busy server needs"
    scripted.send("ADDED", pod("a", 78))
    await until(lambda: heard == ["ADDED a 78"])


async def test_a_kind_that_may_not_be_listed_is_known_to_be_so(api: Api) -> None:
    scripted, informer, _ = api
    assert not informer.tried.is_set()
    scripted.list_status = 403
    await asyncio.wait_for(informer.tried.wait(), 5)
    assert not informer.synced.is_set()


async def test_a_kind_that_was_removed_is_listed_again(api: Api) -> None:
    scripted, _, _ = api
    await until(lambda: scripted.watches)
    scripted.refusals = [404]
    scripted.events.put_nowait(None)
    await until(lambda: scripted.lists == 2)


async def test_an_expired_version_leads_to_a_new_list_and_to_the_difference(api: Api) -> None:
    scripted, informer, heard = api
    scripted.items = [pod("kept", 1), pod("changed", 1), pod("gone", 1)]
    await informer.synced.wait()
    heard.clear()
    scripted.items = [pod("kept", 1), pod("changed", 5), pod("new", 6)]
    scripted.version = 9
    scripted.send("ERROR", {"kind": "Status", "code": 410, "message": "too old"})
    await until(lambda: len(scripted.watches) == 2)
    assert heard == ["DELETED gone 1->1", "MODIFIED changed 1->5", "ADDED new 6"]
    assert scripted.watches == ["1", "9"]
    assert informer.failure == ""


async def test_a_watch_continues_after_a_cut_connection(api: Api) -> None:
    scripted, informer, heard = api
    await informer.synced.wait()
    scripted.send("ADDED", pod("a", 5))
    await until(lambda: heard)
    for _ in range(3):
        scripted.events.put_nowait(None)
    await until(lambda: len(scripted.watches) == 4)
    assert scripted.watches == ["1", "5", "5", "5"]
    assert heard == ["ADDED a 5"]


@pytest.mark.parametrize(
    "last",
    [
        {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "5"}}},
        {"type": "ERROR", "object": {"kind": "Status", "code": 410, "message": "too old"}},
    ],
    ids=["closed", "expired"],
)
async def test_a_watch_that_always_ends_after_an_event_is_begun_less_and_less_often(
    api: Api, monkeypatch: pytest.MonkeyPatch, last: dict[str, Any]
) -> None:
    monkeypatch.setattr(informer_module, "FIRST_DELAY", 0.01)
    scripted, informer, _ = api
    for number in range(200):
        scripted.send("ADDED", pod("a", number + 2))
        scripted.events.put_nowait(last)
        scripted.events.put_nowait(None)
    await informer.synced.wait()
    await asyncio.sleep(1.5)
    assert 3 < len(scripted.watches) < 15


async def test_handlers_get_the_cache_once_and_can_unsubscribe(api: Api) -> None:
    scripted, informer, _ = api
    scripted.items = [pod("a", 1)]
    await informer.synced.wait()
    late: list[str] = []
    leave = informer.subscribe(lambda event, _, now: late.append(f"{event} {now['metadata']}"))
    assert len(late) == 1
    assert informer.subscribers == 2
    leave()
    leave()
    scripted.send("MODIFIED", pod("a", 2))
    await until(lambda: informer.get("d", "a") == pod("a", 2))
    assert len(late) == 1


@pytest.mark.parametrize(
    ("api", "version", "later", "expected"),
    [
        ((), "12/34", "12/35", "12/35"),
        (("d", "e"), "12/34", "12/35", ""),
        (("d", "e"), "9", "10", "9"),
    ],
    indirect=["api"],
)
async def test_versions_are_compared_only_if_they_are_numbers(
    api: Api, version: str, later: str, expected: str
) -> None:
    """Servers other than Kubernetes' own have composite versions, of which none is the lowest."""
    scripted, informer, heard = api
    scripted.version = version
    await asyncio.wait_for(informer.synced.wait(), 5)
    assert informer.resource_version == version
    named = {"name": "a", "namespace": "d", "resourceVersion": later}
    scripted.send("ADDED", {"metadata": named})
    await until(lambda: heard == [f"ADDED a {later}"])
    await until(lambda: informer.resource_version == expected)


async def test_a_very_long_line_is_one_event(api: Api) -> None:
    scripted, informer, heard = api
    await informer.synced.wait()
    scripted.send("ADDED", pod("big", 2, data="x" * 300_000))
    await until(lambda: heard)
    assert len((informer.get("d", "big") or {})["data"]) == 300_000


CLUSTER_SCOPED = {**SERVED, "namespaced": False}
RENAMED = {**SERVED, "name": "capsules"}


@pytest.mark.parametrize("served", [CLUSTER_SCOPED, RENAMED], ids=["scope", "plural"])
async def test_a_redefined_kind_is_followed_as_what_it_is_now(
    api: Api, served: dict[str, Any]
) -> None:
    scripted, informer, heard = api
    redefined: list[ResourceType] = []
    informer.when_redefined(redefined.append)
    scripted.items = [pod("a", 1)]
    await informer.synced.wait()
    namespace = "d" if served["namespaced"] else ""
    scripted.served, scripted.items = [served], [pod("b", 2, namespace)]
    scripted.events.put_nowait(None)
    await until(lambda: "ADDED b 2" in heard)
    assert heard == ["ADDED a 1", "DELETED a 1->1", "ADDED b 2"]
    assert redefined == [informer.resource]
    assert (informer.resource.plural, informer.resource.namespaced) == (
        served["name"],
        served["namespaced"],
    )
    assert informer.get(namespace, "b")
    assert informer.synced.is_set()


async def test_an_object_of_another_scope_has_the_kind_looked_up(api: Api) -> None:
    """One API server serves the new definition while another one still says what it was."""
    scripted, informer, heard = api
    await informer.synced.wait()
    scripted.served, scripted.items = [CLUSTER_SCOPED], [pod("b", 2, "")]
    scripted.send("ADDED", pod("b", 2, ""))
    scripted.events.put_nowait(None)
    await until(lambda: heard == ["ADDED b 2"])
    assert not informer.resource.namespaced


async def test_nobody_is_answered_from_the_cache_of_a_kind_that_is_not_served(api: Api) -> None:
    scripted, informer, heard = api
    scripted.items = [pod("a", 1)]
    await informer.synced.wait()
    scripted.served = []
    scripted.events.put_nowait(None)
    await until(lambda: not informer.synced.is_set())
    scripted.served = [SERVED]
    scripted.items = [pod("a", 1), pod("b", 2)]
    await asyncio.wait_for(informer.synced.wait(), 5)
    assert heard == ["ADDED a 1", "ADDED b 2"]  # it was never known that the first one was gone


async def test_a_kind_is_followed_while_discovery_fails(api: Api) -> None:
    scripted, informer, heard = api
    await informer.synced.wait()
    scripted.served = None
    scripted.events.put_nowait(None)
    scripted.send("ADDED", pod("a", 2))
    await until(lambda: heard == ["ADDED a 2"])
    assert informer.synced.is_set()


@pytest.mark.api
async def test_several_namespaces_become_one_cache(fake_testbed: TestBed) -> None:
    gvk = GroupVersionKind("", "v1", "ConfigMap")
    with fake_testbed.namespace() as one, fake_testbed.namespace() as two:
        async with HttpClient(from_kubeconfig([fake_testbed.kubeconfig])) as client:
            mapper = DiscoveryMapper(client)
            resource = await mapper.by_kind(gvk)
            assert resource is not None
            assert await mapper.by_plural("", "v1", "configmaps") == resource
            assert await mapper.by_kind(GroupVersionKind("no.such", "v1", "Thing")) is None
            async with SharedInformers(client, mapper, [one, two]) as pool:
                informer = pool.start(resource)
                assert pool.peek(resource) is informer
                await asyncio.wait_for(informer.synced.wait(), 10)
                for namespace in (one, two, "default"):
                    path = resource.path(namespace=namespace)
                    await client.request("POST", path, body={"metadata": {"name": "seen"}})
                await until(lambda: informer.get(one, "seen") and informer.get(two, "seen"))
                assert informer.get("default", "seen") is None
                assert int(informer.resource_version) > 0
                leave = informer.subscribe(lambda *_: None)
                assert not pool.release(resource)
                leave()
                assert pool.release(resource)
                assert pool.peek(resource) is None
            await client.request("DELETE", resource.path("seen", "default"))
