# SPDX-License-Identifier: Apache-2.0
"""Whatever a server answers, clients get an error, and informers, leases and Events go on."""

import asyncio
import contextlib
import json
from collections.abc import Sequence
from typing import Any

import pytest
from aiohttp import web
from hypothesis import HealthCheck, example, given, settings

from ansible_operator.errors import KubeError, OperatorError
from ansible_operator.kube import client as client_module
from ansible_operator.kube import informer as informer_module
from ansible_operator.kube.access import ClusterAccess
from ansible_operator.kube.client import HttpClient, kube_error
from ansible_operator.kube.discovery import DiscoveryMapper
from ansible_operator.kube.documents import IncompleteObject
from ansible_operator.kube.informer import KindInformer
from ansible_operator.kube.interface import EventType, GroupVersionKind, Object, ResourceType
from ansible_operator.kube.lease import LeaderElection, LeaseSettings
from ansible_operator.kube.recorder import EventRecorder
from ansible_operator.version import VERSION
from tests.support import hostile
from tests.support.hostile import Answer, Deep, hostile_server

PODS = ResourceType(GroupVersionKind("", "v1", "Pod"), "pods", True)
FUZZ = settings(
    deadline=None,
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture(autouse=True)
def _in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retry after milliseconds."""
    for module in (client_module, informer_module):
        monkeypatch.setattr(module, "FIRST_DELAY", 0.001)
        monkeypatch.setattr(module, "LONGEST_DELAY", 0.01)


def pod(name: str, version: int = 1, **more: Any) -> Object:
    metadata = {"name": name, "namespace": "d", "resourceVersion": str(version)}
    return {"metadata": metadata, **more}


def listed(*items: Any) -> Answer:
    body = {"items": list(items), "metadata": {"resourceVersion": "1"}}
    return Answer(body=(hostile.encode(body),))


@FUZZ
@given(hostile.answers())
# A body behind 204: the connection's next answer begins with it.
@example(Answer(204, body=(b'{"a":' * 2000,)))
def test_a_request_ends_with_an_object_or_an_error(answer: Answer) -> None:
    async def ask() -> None:
        async with (
            hostile_server(lambda _: answer) as server,
            HttpClient(ClusterAccess(server=server.url)) as client,
        ):
            for method in ("GET", "PATCH"):
                try:
                    found = await client.request(method, "/api/v1/pods", timeout=5)
                    assert isinstance(found, dict)
                except KubeError as error:
                    assert len(str(error)) < 5000  # noqa: PT017
                with contextlib.suppress(KubeError):
                    found = await client.request_object(method, "/api/v1/pods/x", timeout=5)
                    assert found["metadata"]["name"]

    asyncio.run(ask())


@pytest.mark.parametrize("wait", hostile.RETRY_AFTER)
def test_a_wait_that_a_server_asks_for_is_bounded(wait: str) -> None:
    error = kube_error("GET /", 429, {"Retry-After": wait}, b"")
    assert error.retry_after is None or 0 <= error.retry_after <= client_module.LONGEST_DELAY


@pytest.mark.parametrize("payload", hostile.PAYLOADS)
def test_an_error_has_the_types_that_it_promises(payload: bytes) -> None:
    error = kube_error("GET /", 500, {}, payload)
    assert isinstance(error.reason, str)
    assert isinstance(error.details, dict)
    assert len(str(error)) < 5000


async def follow(
    lists: Sequence[Answer], watches: Sequence[Answer], discoveries: Sequence[Answer] = ()
) -> tuple[list[str], KindInformer, list[str]]:
    """What an informer reports of hostile answers, and of good ones after them."""
    waiting = {"list": iter(lists), "watch": iter(watches), "discovery": iter(discoveries)}
    heard: list[str] = []

    def script(request: web.Request) -> Answer:
        kind = "watch" if "watch" in request.query else "list"
        if request.path == "/api/v1":
            kind = "discovery"
        last = pod("last", 7)
        line = json.dumps({"type": "MODIFIED", "object": pod("last", 8)}).encode()
        good = {"list": listed(last), "watch": Answer(body=(line + b"\n",))}
        served = {"name": "pods", "kind": "Pod", "namespaced": True}
        good["discovery"] = Answer(body=(json.dumps({"resources": [served]}).encode(),))
        return next(waiting[kind], good[kind])

    def hear(_event: EventType, _before: Object | None, now: Object) -> None:
        heard.append(now["metadata"]["name"])

    async with (
        hostile_server(script) as server,
        HttpClient(ClusterAccess(server=server.url)) as client,
    ):
        informer = KindInformer(client, PODS, DiscoveryMapper(client))
        informer.subscribe(hear)
        task = asyncio.create_task(informer.run())
        async with asyncio.timeout(20):
            while True:
                last = informer.get("d", "last")
                if last and last["metadata"]["resourceVersion"] == "8":
                    break
                assert not task.done()
                await asyncio.sleep(0.005)
        task.cancel()
        await asyncio.wait([task])
        return heard, informer, server.requests


@FUZZ
@given(hostile.answers(), hostile.watch_streams(), hostile.answers())
def test_an_informer_gets_over_everything(
    bad_list: Answer, bad_watch: Answer, bad_discovery: Answer
) -> None:
    asyncio.run(follow([bad_list], [bad_watch, bad_watch], [bad_discovery]))


@pytest.mark.parametrize("payload", hostile.PAYLOADS)
async def test_an_informer_lists_again_what_was_no_list(payload: bytes) -> None:
    await follow([Answer(body=(payload,))], [])


@pytest.mark.parametrize("line", hostile.LINES)
async def test_an_informer_gets_over_a_line_that_is_no_event(line: bytes) -> None:
    await follow([listed()], [Answer(body=(line + b"\n",)), Answer(body=(line,), is_cut=True)])


@pytest.mark.parametrize(
    "items", [{}, {"items": {}}, {"items": ""}, {"items": False}, {"items": 0}], ids=str
)
async def test_a_list_without_items_does_not_say_that_objects_are_gone(
    items: dict[str, Any],
) -> None:
    """It is read again; each object stays until a list says that it is not there."""
    bad = Answer(body=(json.dumps({"metadata": {"resourceVersion": "2"}, **items}).encode(),))
    expired = json.dumps({"type": "ERROR", "object": {"code": 410, "reason": "Expired"}}).encode()
    gone: list[str] = []

    def script(request: web.Request) -> Answer:
        if request.path == "/api/v1":
            served = {"name": "pods", "kind": "Pod", "namespaced": True}
            return Answer(body=(json.dumps({"resources": [served]}).encode(),))
        return next(watches if "watch" in request.query else lists, Answer(status=503))

    def hear(event: EventType, _before: Object | None, now: Object) -> None:
        if event is EventType.DELETED:
            gone.append(now["metadata"]["name"])
        elif now["metadata"]["name"] == "last":
            done.set()

    lists = iter([listed(pod("a")), bad, listed(pod("a"), pod("last"))])
    watches = iter([Answer(body=(expired + b"\n",))])
    done = asyncio.Event()
    async with (
        hostile_server(script) as server,
        HttpClient(ClusterAccess(server=server.url)) as client,
    ):
        informer = KindInformer(client, PODS, DiscoveryMapper(client))
        informer.subscribe(hear)
        task = asyncio.create_task(informer.run())
        await asyncio.wait_for(done.wait(), 20)
        task.cancel()
        await asyncio.wait([task])
    assert gone == []


async def test_a_list_that_goes_on_with_what_it_began_with_is_read_again() -> None:
    """It would never end, and all that was read be kept."""
    endless = {"items": [pod("a")], "metadata": {"resourceVersion": "1", "continue": "again"}}
    answer = Answer(body=(hostile.encode(endless),))
    heard, _, requests = await follow([answer, answer], [])
    assert heard[:1] == ["last"]
    assert sum("continue=" in one for one in requests) == 1


async def test_what_cannot_be_read_is_skipped_and_its_neighbours_are_not() -> None:
    odd = [None, {}, {"metadata": []}, pod("../../x"), pod(""), pod("b", labels=1)]
    odd[-1]["metadata"]["labels"] = {"a": 1}
    heard, _, _ = await follow([listed(pod("a"), *odd, pod("c"), pod("last"))], [])
    assert heard[:3] == ["a", "c", "last"]


async def test_a_deep_object_in_a_list_and_in_a_watch_is_known_by_its_metadata() -> None:
    line = hostile.encode({"type": "ADDED", "object": pod("e", 5, spec=Deep(5000))})
    watch = Answer(body=(line + b"\n",))
    heard, _, _ = await follow([listed(pod("a"), pod("b", spec=Deep(2000)))], [watch])
    assert heard[:3] == ["a", "b", "e"]


async def test_a_handler_that_fails_takes_neither_others_nor_other_objects_with_it() -> None:
    heard: list[str] = []

    def fail(_event: EventType, _before: Object | None, now: Object) -> None:
        if now["metadata"]["name"] == "b":
            raise RecursionError("too deep")

    def hear(_event: EventType, _before: Object | None, now: Object) -> None:
        heard.append(now["metadata"]["name"])

    answer = listed(pod("a"), pod("b"), pod("c"))
    async with (
        hostile_server([answer]) as server,
        HttpClient(ClusterAccess(server=server.url)) as client,
    ):
        informer = KindInformer(client, PODS, DiscoveryMapper(client))
        informer.subscribe(fail)
        informer.subscribe(hear)
        task = asyncio.create_task(informer.run())
        await asyncio.wait_for(informer.synced.wait(), 5)
        informer.subscribe(fail)  # the replay is guarded as well
        task.cancel()
        await asyncio.wait([task])
    assert heard == ["a", "b", "c"]


@FUZZ
@given(hostile.answers())
def test_discovery_leaves_out_what_is_malformed(answer: Answer) -> None:
    async def ask() -> None:
        async with (
            hostile_server(lambda _: answer) as server,
            HttpClient(ClusterAccess(server=server.url)) as client,
        ):
            with contextlib.suppress(KubeError):
                found = await DiscoveryMapper(client).by_kind(GroupVersionKind("g", "v1", "K"))
                assert found is None or found.gvk.kind == "K"

    asyncio.run(ask())


@FUZZ
@given(hostile.answers())
def test_a_lease_is_not_taken_from_an_answer_that_is_none(answer: Answer) -> None:
    async def elect() -> None:
        async with (
            hostile_server(lambda _: answer) as server,
            HttpClient(ClusterAccess(server=server.url)) as client,
        ):
            lease = LeaseSettings(
                name="x", namespace="d", duration=3, renew_deadline=2, retry_period=0.01
            )
            election = LeaderElection(client, lease)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(election.acquire(), 0.05)
            await election.release()

    asyncio.run(elect())


async def test_an_event_about_an_object_with_the_longest_name_is_written() -> None:
    """A name of more than 253 characters is refused by the API server."""
    sent: list[dict[str, Any]] = []

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        sent.append(await request.json())
        return web.json_response({})

    runner = web.ServerRunner(web.Server(handle))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    async with HttpClient(ClusterAccess(server=url)) as client:
        recorder = EventRecorder(client, "test")
        writing = asyncio.create_task(recorder.run())
        for name in ("a" * 253, "b" * 235 + ".-" + "b" * 16, "short", ".."):
            about = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}}
            recorder.record(about, "Normal", "Reason", f"about {name} \ud800"[:-1])
        await asyncio.wait_for(recorder.flush(), 5)
        writing.cancel()
    await runner.cleanup()
    names = [event["metadata"]["name"] for event in sent]
    assert [len(name) for name in names[:3]] == [253, 252, 22]
    assert names[2].startswith("short.")
    assert len(set(names)) == 4


async def test_a_message_that_no_encoding_has_is_an_error_and_stops_no_other_event() -> None:
    async with (
        hostile_server(lambda _: Answer(body=(b"{}",))) as server,
        HttpClient(ClusterAccess(server=server.url)) as client,
    ):
        with pytest.raises(OperatorError, match="JSON"):
            await client.request("POST", "/x", body={"message": "\ud800"})
        recorder = EventRecorder(client, "test")
        writing = asyncio.create_task(recorder.run())
        about = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "../x"}}
        recorder.record(about, "Normal", "Reason", "\ud800")
        about = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "d"}}
        recorder.record(about, "Normal", "Reason", "fine")
        await asyncio.wait_for(recorder.flush(), 5)
        writing.cancel()
    assert server.requests[-1] == "POST /api/v1/namespaces/d/events"


async def test_the_user_agent_names_this_version() -> None:
    seen: list[str] = []

    def script(request: web.Request) -> Answer:
        seen.append(request.headers["User-Agent"])
        return Answer(body=(b"{}",))

    async with (
        hostile_server(script) as server,
        HttpClient(ClusterAccess(server=server.url)) as client,
    ):
        await client.request("GET", "/version")
    assert seen[0].startswith(f"ansible-operator/{VERSION} (")


def test_incomplete_objects_are_documents() -> None:
    obj = IncompleteObject({"a": 1}, "spec")
    assert obj == {"a": 1}
    assert json.dumps(obj) == '{"a": 1}'
