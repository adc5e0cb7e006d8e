# SPDX-License-Identifier: Apache-2.0
"""What works beside the operator on fake nodes: HAKeeper, and the programs of Jobs."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import UTC, datetime
from typing import Any

from faults.scenes import NAMESPACE, reported_by_program
from testbed.api import ApiError
from tests.support import pools
from tests.support.api import Api

Json = dict[str, Any]
PassContext = Callable[[Api, str], AbstractContextManager[Mapping[str, str]]]
HAKEEPER = "hakeeper:32001"
"""What its address is called in the texts of a life."""
IMAGE = "operator:played"
"""Pods of Jobs with it run until they are ended here (testbed/stages)."""
_PERIOD = 0.2
_MERGE = "application/merge-patch+json"


def replaced(value: Mapping[str, Any], texts: Mapping[str, str]) -> Json:
    """Return a table with other texts in it, where they stand as words."""
    if not texts:
        return dict(value)
    text = json.dumps(value)
    for old, new in texts.items():
        text = re.sub(rf"\b{re.escape(old)}\b", new, text)
    found: Json = json.loads(text)
    return found


@contextmanager
def nothing(_api: Api, _namespace: str) -> Iterator[Mapping[str, str]]:
    """Nothing works beside it."""
    yield {}


@contextmanager
def hakeeper(api: Api, namespace: str) -> Iterator[Mapping[str, str]]:
    """Answer as HAKeeper and compute nodes do."""
    with pools.hakeeper(api, namespace) as told:
        yield {HAKEEPER: told.address}


@contextmanager
def programs(api: Api, namespace: str) -> Iterator[Mapping[str, str]]:
    """Do what the programs of backup Jobs do: report that all went well, and end."""
    end = threading.Event()
    thread = threading.Thread(target=_play, args=(api, namespace, end), daemon=True)
    thread.start()
    try:
        yield {}
    finally:
        end.set()
        thread.join()


def _play(api: Api, namespace: str, end: threading.Event) -> None:
    while not end.wait(_PERIOD):
        for pod in api.listed("pods", namespace):
            owners = pod["metadata"].get("ownerReferences") or []
            jobs = [one["name"] for one in owners if one["kind"] == "Job"]
            if jobs and (pod.get("status") or {}).get("phase") == "Running":
                with suppress(ApiError):  # somebody deletes it meanwhile
                    _end(api, namespace, pod["metadata"]["name"], jobs[0])


def _end(api: Api, namespace: str, pod: str, job: str) -> None:
    task = api.get("configmap", namespace, f"{job}-task")
    if task:
        now = datetime.fromtimestamp(int(time.time()), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        data = replaced(reported_by_program(task, now), {NAMESPACE: namespace})
        api.merge("configmap", namespace, f"{job}-result", {"data": data})
    path = f"{api.path('pod', namespace, pod)}/status"
    api.request("PATCH", path, {"status": {"phase": "Succeeded"}}, _MERGE)
