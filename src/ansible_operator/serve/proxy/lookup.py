# SPDX-License-Identifier: Apache-2.0
"""Who owns an object that a play is about to write: from the cache if it is fresh, else live."""

from collections.abc import Mapping
from typing import Any

from ansible_operator.errors import KubeError
from ansible_operator.kube.client import HttpClient
from ansible_operator.kube.documents import UnreadableAnswerError, decode, read_object
from ansible_operator.kube.interface import ResourceType
from ansible_operator.kube.shared_informers import SharedInformers
from ansible_operator.logs import get_logger
from ansible_operator.serve.proxy.barrier import WriteBarrier
from ansible_operator.serve.proxy.request_info import RequestInfo

METADATA_ONLY = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
FOREIGN: Mapping[str, Any] = {"metadata": {}}
"""Placeholder of an object that cannot be read: it counts as not ours."""

_log = get_logger("proxy")


class Lookup:
    """Reads the metadata of single objects."""

    def __init__(
        self, client: HttpClient, informers: SharedInformers, barrier: WriteBarrier
    ) -> None:
        self._client = client
        self._informers = informers
        self._barrier = barrier

    async def metadata(
        self, info: RequestInfo, resource: ResourceType, namespace: str
    ) -> Mapping[str, Any] | None:
        """The object with at least its metadata; None if it does not exist."""
        informer = self._informers.peek(resource)
        if informer is not None and informer.synced.is_set():
            cached = self._barrier.object_if_fresh(informer, namespace, info.name)
            if cached is not None:
                return cached
        path = resource.path(info.name, namespace)
        try:
            async with await self._client.open(
                "GET", path, headers={"Accept": METADATA_ONLY}, read_timeout=30.0
            ) as response:
                body = await response.read()
        except KubeError as error:
            _log.error("Could not read who owns an object", path=path, err=str(error))
            return FOREIGN
        if response.status == 404:
            return None
        if response.status >= 400:
            _log.info("Could not read who owns an object", path=path, status=response.status)
            return FOREIGN
        try:
            return read_object(decode(body))
        except UnreadableAnswerError as error:
            _log.info("Could not read who owns an object", path=path, err=str(error))
            return FOREIGN
