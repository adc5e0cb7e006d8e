# SPDX-License-Identifier: Apache-2.0
"""An object, followed by a watch until its conditions report the end of a play."""

import time
from collections.abc import Callable
from contextlib import closing

from compat.passes import Json, has_ended
from testbed.api import ApiClient, ApiError

_WATCH_SECONDS = 5.0
"""Of one watch, after which the runner is checked."""
_AGAIN_SECONDS = 0.2


class Deleted(Exception):
    """The object was deleted before a play has ended."""


def collection_path(client: ApiClient, obj: Json) -> str:
    """Return the path of the collection that an object belongs to, by discovery of its kind."""
    version, kind = obj["apiVersion"], obj["kind"]
    below = f"/apis/{version}" if "/" in version else f"/api/{version}"
    served = client.request("GET", below)["resources"]
    plural = next(one["name"] for one in served if one["kind"] == kind and "/" not in one["name"])
    return f"{below}/namespaces/{obj['metadata']['namespace']}/{plural}"


def last_seen(client: ApiClient, created: Json, deadline: float, alive: Callable[[], None]) -> Json:
    """Follow an object until its play has ended, or until the deadline.

    Every state counts, even one that lasts for a single write: the Go runner replaces the report of
    a play by that of the next one at once.

    Args:
        client: of the API server.
        created: the object as the API server answered its creation.
        deadline: monotonic time in seconds; exceeded by less than a second.
        alive: raises if the runner has ended.

    Returns:
        The object in the first state that reports the end, else in its last one.

    Raises:
        Deleted: there is no such object any more.
    """
    path, obj = collection_path(client, created), created
    version = obj["metadata"]["resourceVersion"]
    while not has_ended(obj) and (left := deadline - time.monotonic()) > 0:
        alive()
        try:
            obj, version = _followed(client, path, obj, version, min(left, _WATCH_SECONDS))
        except ApiError:  # of a version that is too old, for example
            time.sleep(_AGAIN_SECONDS)
            obj = client.request("GET", f"{path}/{obj['metadata']['name']}")
            version = obj["metadata"]["resourceVersion"]
    return obj


def _followed(
    client: ApiClient, path: str, obj: Json, version: str, seconds: float
) -> tuple[Json, str]:
    """The object after one watch, and the version behind which the next one begins."""
    name = obj["metadata"]["name"]
    with closing(client.watch(path, version, seconds)) as changes:
        for kind, found in changes:
            version = found["metadata"]["resourceVersion"]
            if kind == "BOOKMARK" or found["metadata"]["name"] != name:
                continue
            if kind == "DELETED":
                raise Deleted(f"{obj['kind']} {name} was deleted before a play has ended")
            obj = found
            if has_ended(obj):
                break
    return obj, version
