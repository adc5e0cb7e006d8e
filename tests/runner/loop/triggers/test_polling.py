# SPDX-License-Identifier: Apache-2.0
"""Objects that others name, read by name: no list, no watch, no content."""

from typing import Any

from ansible_operator.errors import KubeError
from ansible_operator.kube.interface import GroupVersionKind, Object, ResourceType
from ansible_operator.loop.queueing.queue import Key
from ansible_operator.loop.settings import Controlled
from ansible_operator.loop.triggers.polling import ReferencePoll
from ansible_operator.watches import KindName, PlayPath, Reference, Watch

KIND = KindName("g", "v1", "K")
SECRET = ResourceType(GroupVersionKind("", "v1", "Secret"), "secrets", namespaced=True)
REFERENCE = Reference(KindName("", "v1", "Secret"), "status.login.name", poll=30)


class Server:
    """Stands in for cache, API server and queue: versions of Secrets by path, and what happened."""

    def __init__(self, *objects: Object) -> None:
        self.objects = list(objects)
        self.versions: dict[str, str] = {}
        self.asked: list[tuple[str, str, str]] = []
        self.queued: list[tuple[Key, str]] = []
        self.failure: KubeError | None = None
        self.elsewhere: set[str] = set()

    def peek(self, _resource: ResourceType) -> "Server":
        return self

    def list(self) -> list[Object]:
        return self.objects

    def includes(self, key: Key) -> bool:
        return key.name not in self.elsewhere

    def add(self, key: Key, *, reason: str) -> None:
        self.queued.append((key, reason))

    async def request_object(self, method: str, path: str, *, accept: str) -> Any:
        self.asked.append((method, path, accept))
        if self.failure:
            raise self.failure
        if path not in self.versions:
            raise KubeError("not found", status=404)
        return {"metadata": {"name": "x", "resourceVersion": self.versions[path]}}

    def poll(self, **settings: Any) -> ReferencePoll:
        watch = Watch(kind=KIND, play=PlayPath(playbook="/p"), **settings)
        resource = ResourceType(GroupVersionKind(*KIND), "ks", namespaced=True)
        controlled = Controlled(name="k", watch=watch, resource=resource, period=0, verbosity=0)
        here: Any = self
        return ReferencePoll(controlled, REFERENCE, here, here, here)


def obj(name: str, secret: str = "", namespace: str = "ns") -> Object:
    status = {"login": {"name": secret}} if secret else {}
    return {"metadata": {"name": name, "namespace": namespace}, "status": status}


def path(name: str, namespace: str = "ns") -> str:
    return f"/api/v1/namespaces/{namespace}/secrets/{name}"


async def test_a_changed_object_runs_those_that_name_it() -> None:
    server = Server(obj("a", "s"), obj("b", "s"), obj("c", "t"), obj("d"))
    server.versions = {path("s"): "1", path("t"): "1"}
    poll = server.poll()
    await poll.ask(SECRET)
    await poll.ask(SECRET)
    assert server.queued == []
    server.versions[path("s")] = "2"
    await poll.ask(SECRET)
    await poll.ask(SECRET)
    assert server.queued == [
        (Key("k", "ns", "a"), "Secret s changed"),
        (Key("k", "ns", "b"), "Secret s changed"),
    ]


async def test_only_metadata_of_what_is_named_is_read() -> None:
    server = Server(obj("a", "s"), obj("b", "s"), obj("c"))
    await server.poll().ask(SECRET)
    ((method, asked, accept),) = server.asked
    assert (method, asked) == ("GET", path("s"))
    assert "PartialObjectMetadata" in accept


async def test_what_is_named_later_runs_its_object_once() -> None:
    """Its run was before the first look, and there may be a change between them."""
    server = Server(obj("a", "s"))
    server.versions = {path("s"): "1"}
    poll = server.poll()
    await poll.ask(SECRET)
    server.objects.append(obj("b", "t"))
    for _ in range(3):
        await poll.ask(SECRET)
    assert server.queued == [(Key("k", "ns", "b"), "Secret t is referred to")]


async def test_creation_and_deletion_are_changes() -> None:
    server = Server(obj("a", "s"))
    poll = server.poll()
    await poll.ask(SECRET)
    server.versions[path("s")] = "1"
    await poll.ask(SECRET)
    del server.versions[path("s")]
    await poll.ask(SECRET)
    assert [key.name for key, _reason in server.queued] == ["a", "a"]


async def test_what_cannot_be_read_has_not_changed() -> None:
    server = Server(obj("a", "s"))
    server.versions[path("s")] = "1"
    poll = server.poll()
    await poll.ask(SECRET)
    server.failure = KubeError("forbidden", status=403)
    await poll.ask(SECRET)
    server.failure = None
    await poll.ask(SECRET)
    assert server.queued == []
    server.versions[path("s")] = "2"
    await poll.ask(SECRET)
    assert len(server.queued) == 1


async def test_nothing_is_asked_for_objects_that_are_not_run() -> None:
    server = Server(obj("a", "s", namespace="denied"))
    await server.poll(ignored_namespaces=frozenset({"denied"})).ask(SECRET)
    assert server.asked == []


async def test_what_nobody_names_any_longer_is_forgotten() -> None:
    server = Server(obj("a", "s"))
    server.versions[path("s")] = "1"
    poll = server.poll()
    await poll.ask(SECRET)
    server.objects, server.versions = [], {path("s"): "2"}
    await poll.ask(SECRET)
    server.objects = [obj("a", "s")]
    await poll.ask(SECRET)
    assert [reason for _key, reason in server.queued] == ["Secret s is referred to"]


async def test_what_objects_of_another_process_name_is_not_read() -> None:
    server = Server(obj("here", "a"), obj("elsewhere", "b"))
    server.elsewhere.add("elsewhere")
    await server.poll().ask(SECRET)
    assert [one[1] for one in server.asked] == [path("a")]
