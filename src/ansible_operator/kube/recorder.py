# SPDX-License-Identifier: Apache-2.0
"""Kubernetes Events about objects, written in the background and counted up when they repeat."""

import asyncio
import datetime
import secrets
from collections import OrderedDict
from dataclasses import dataclass
from typing import Literal

from ansible_operator.background import note_failure
from ansible_operator.errors import KubeError
from ansible_operator.kube.client import HttpClient
from ansible_operator.kube.interface import Object
from ansible_operator.kube.names import api_path
from ansible_operator.logs import get_logger

QUEUE_SIZE = 500
REMEMBERED = 1000
LONGEST_MESSAGE = 1024
LONGEST_NAME = 253
_TOKEN_BYTES = 8
CLUSTER_NAMESPACE = "default"
"""Where Events about cluster-scoped objects go."""

_LOG = get_logger("recorder")


def _event_name(involved: str) -> str:
    """A name of its own for an Event, which begins with that of its object as far as it fits."""
    token = secrets.token_hex(_TOKEN_BYTES)
    room = LONGEST_NAME - len(token) - 1
    return f"{involved[:room].rstrip('.-')}.{token}"


@dataclass(frozen=True, slots=True)
class _Happening:
    involved: tuple[tuple[str, str], ...]
    namespace: str
    type: str
    reason: str
    message: str


class EventRecorder:
    """Writes Events; losing one is no failure, delaying a run for one would be."""

    def __init__(self, client: HttpClient, component: str) -> None:
        self._client = client
        self._component = component
        self._waiting: asyncio.Queue[_Happening] = asyncio.Queue(QUEUE_SIZE)
        self._written: OrderedDict[_Happening, tuple[str, int]] = OrderedDict()

    def record(
        self, obj: Object, kind: Literal["Normal", "Warning"], reason: str, message: str
    ) -> None:
        """Record what happened to an object.

        Args:
            obj: the object, complete.
            kind: type of the Event.
            reason: one word in CamelCase.
            message: a sentence; cut at 1024 characters.
        """
        metadata = obj["metadata"]
        involved = {
            "apiVersion": obj["apiVersion"],
            "kind": obj["kind"],
            "name": metadata["name"],
            "namespace": metadata.get("namespace", ""),
            "uid": metadata.get("uid", ""),
        }
        happening = _Happening(
            involved=tuple(item for item in involved.items() if item[1]),
            namespace=metadata.get("namespace") or CLUSTER_NAMESPACE,
            type=kind,
            reason=reason,
            message=message[:LONGEST_MESSAGE],
        )
        try:
            self._waiting.put_nowait(happening)
        except asyncio.QueueFull:
            _LOG.info("Too many Events are waiting, one was dropped", reason=reason)

    async def run(self) -> None:
        """Write until cancelled."""
        while True:
            happening = await self._waiting.get()
            try:
                await self._write(happening)
            except KubeError as error:
                _LOG.info("Event was not recorded", reason=happening.reason, error=str(error))
            except Exception:  # noqa: BLE001  # those behind it are still to be written
                note_failure("recorder", "Event was not recorded", reason=happening.reason)
            finally:
                self._waiting.task_done()

    async def flush(self) -> None:
        """Wait until everything recorded so far has been written (or has failed)."""
        await self._waiting.join()

    async def _write(self, happening: _Happening) -> None:
        name, count = self._written.pop(happening, ("", 0))
        now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        place = ("api", "v1", "namespaces", happening.namespace, "events")
        if name and await self._count_up(api_path(*place, name), count + 1, now):
            self._remember(happening, name, count + 1)
            return
        involved = dict(happening.involved)
        name = _event_name(involved["name"])
        body = self._event(happening, involved, name, now)
        await self._client.request("POST", api_path(*place), body=body)
        self._remember(happening, name, 1)

    async def _count_up(self, path: str, count: int, now: str) -> bool:
        """Whether the Event was still there."""
        body = {"count": count, "lastTimestamp": now}
        try:
            await self._client.request(
                "PATCH", path, body=body, content_type="application/merge-patch+json"
            )
        except KubeError as error:
            if error.is_not_found:
                return False
            raise
        return True

    def _remember(self, happening: _Happening, name: str, count: int) -> None:
        self._written[happening] = (name, count)
        if len(self._written) > REMEMBERED:
            self._written.popitem(last=False)

    def _event(
        self, happening: _Happening, involved: dict[str, str], name: str, now: str
    ) -> Object:
        return {
            "metadata": {"name": name, "namespace": happening.namespace},
            "involvedObject": involved,
            "type": happening.type,
            "reason": happening.reason,
            "message": happening.message,
            "source": {"component": self._component},
            "reportingComponent": self._component,
            "count": 1,
            "firstTimestamp": now,
            "lastTimestamp": now,
        }
