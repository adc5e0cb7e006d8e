# SPDX-License-Identifier: Apache-2.0
"""A proxy in front of the test bed's API server, with an owner object to act for."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from ansible_operator.errors import KubeError
from ansible_operator.kube.client import HttpClient
from ansible_operator.kube.discovery import DiscoveryMapper
from ansible_operator.kube.interface import GroupVersionKind, ResourceType
from ansible_operator.kube.shared_informers import SharedInformers
from ansible_operator.serve.interface import Owner, OwnWrite, ProxyLimits, Session
from ansible_operator.serve.proxy import LoopbackProxy

CONFIG_MAP = ResourceType(GroupVersionKind("", "v1", "ConfigMap"), "configmaps", True)


@dataclass
class Answer:
    status: int
    headers: Any
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Served:
    """A running proxy and everything around it.

    Attributes:
        dependents: calls of the callback that sets up dependent watches.
        refuse: what that callback raises, if anything.
    """

    client: HttpClient
    pool: SharedInformers
    mapper: DiscoveryMapper
    proxy: LoopbackProxy
    owner: Owner
    namespace: str
    directory: Path
    kubectl_path: Path
    http: aiohttp.ClientSession
    dependents: list[tuple[str, str, bool]] = field(default_factory=list)
    writes: list[OwnWrite] = field(default_factory=list)
    refuse: KubeError | None = None

    def open(self, owner: Owner | None = None, **limits: Any) -> Session:
        return self.proxy.open_session(owner or self.owner, ProxyLimits(**limits), self.directory)

    async def request(
        self, session: Session, method: str, path: str, body: Any = None, **headers: str
    ) -> Answer:
        """One request with the token of a session; dictionaries are sent as JSON."""
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        headers["Authorization"] = basic_of(session)
        if isinstance(body, dict | list):
            body = json.dumps(body)
            headers.setdefault("Content-Type", "application/json")
        url = f"http://127.0.0.1:{self.proxy.port}{path}"
        async with self.http.request(method, url, data=body, headers=headers) as answer:
            return Answer(answer.status, answer.headers, await answer.read())

    async def kubectl(self, session: Session, *args: str, stdin: str = "") -> str:
        """What kubectl prints when it uses a session's kubeconfig."""
        process = await asyncio.create_subprocess_exec(
            str(self.kubectl_path),
            f"--kubeconfig={session.kubeconfig}",
            *args,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        output, _ = await asyncio.wait_for(process.communicate(stdin.encode()), 60)
        assert process.returncode == 0, output.decode()
        return output.decode()

    def path(self, name: str = "", plural: str = "configmaps") -> str:
        return f"/api/v1/namespaces/{self.namespace}/{plural}{'/' if name else ''}{name}"

    async def direct(self, method: str, path: str, body: Any = None) -> Any:
        """The same without the proxy."""
        return await self.client.request(method, path, body=body)

    async def watch(self, resource: ResourceType = CONFIG_MAP) -> None:
        """Start the informer of a kind and wait until it is complete."""
        informer = self.pool.start(resource)
        await asyncio.wait_for(informer.synced.wait(), 10)


def user_of(session: Session) -> str:
    user: dict[str, str] = json.loads(session.kubeconfig.read_text())["users"][0]["user"]
    return user["username"]


def basic_of(session: Session) -> str:
    return "Basic " + base64.b64encode(f"{user_of(session)}:{session.token}".encode()).decode()


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


@pytest.fixture
def watched_namespaces() -> tuple[str, ...]:
    """Namespaces that the proxy's operator is restricted to; tests may replace it."""
    return ()


@pytest.fixture
async def served(
    fake_testbed, fake_namespace, client, tmp_path, watched_namespaces
) -> AsyncIterator[Served]:
    """A proxy on a free port; its owner is a ConfigMap named ``owner``."""
    mapper = DiscoveryMapper(client)
    made = await client.request(
        "POST", f"/api/v1/namespaces/{fake_namespace}/configmaps", body=config_map("owner")
    )
    owner = Owner(CONFIG_MAP.gvk, "owner", fake_namespace, made["metadata"]["uid"])

    async def add_dependent(owner: Owner, resource: ResourceType, by_annotation: bool) -> None:
        if served.refuse:
            raise served.refuse
        served.dependents.append((owner.name, resource.gvk.kind, by_annotation))

    informers = SharedInformers(client, mapper, watched_namespaces)
    async with informers as pool, aiohttp.ClientSession() as http:
        proxy = LoopbackProxy(
            client,
            mapper,
            pool,
            add_dependent=add_dependent,
            write_seen=lambda _, write: served.writes.append(write),
            namespaces=watched_namespaces,
            port=0,
        )
        async with proxy:
            served = Served(
                client=client,
                pool=pool,
                mapper=mapper,
                proxy=proxy,
                owner=owner,
                namespace=fake_namespace,
                directory=tmp_path,
                kubectl_path=fake_testbed.kubectl_path,
                http=http,
            )
            yield served
