# SPDX-License-Identifier: Apache-2.0
"""An object is followed until a play has ended, on an API server.

A Service stands for the object of an operator: it has conditions, which nothing else writes.
"""

import json
import time
from typing import Any

import pytest

from compat.following import Deleted, collection_path, last_seen
from testbed import TestBed
from testbed.api import ApiClient

pytestmark = pytest.mark.api


class Operated:
    """A Service whose conditions a test writes, as a runner does."""

    def __init__(self, bed: TestBed, namespace: str) -> None:
        self.client = ApiClient(bed.kubeconfig)
        service = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "sample"},
            "spec": {"ports": [{"port": 80}]},
        }
        options = ("-n", namespace, "create", "-o", "json", "-f", "-")
        self.created: dict[str, Any] = json.loads(bed.kubectl(*options, input=json.dumps(service)))
        self.path = f"{collection_path(self.client, self.created)}/sample"

    def report(self, reason: str) -> None:
        condition = {
            "type": "Running",
            "status": "True",
            "reason": reason,
            "message": "",
            "lastTransitionTime": "2026-11-23T00:00:00Z",
        }
        self.client.merge(f"{self.path}/status", {"status": {"conditions": [condition]}})

    def follow(self, seconds: float = 30.0, created: dict[str, Any] | None = None) -> str:
        """The reason that was seen last; empty before the first report."""
        deadline = time.monotonic() + seconds
        obj = last_seen(self.client, created or self.created, deadline, lambda: None)
        conditions = obj["status"].get("conditions") or [{"reason": ""}]
        return str(conditions[0]["reason"])


@pytest.fixture
def operated(fake_testbed: TestBed, fake_namespace: str) -> Operated:
    return Operated(fake_testbed, fake_namespace)


def test_an_end_that_the_next_play_overwrites_at_once_is_seen(operated: Operated) -> None:
    """The Go runner plays again as soon as dependents have changed."""
    for reason in ("Running", "Successful", "Running"):
        operated.report(reason)

    assert operated.follow() == "Successful"


def test_a_play_that_does_not_end_is_followed_up_to_the_deadline(operated: Operated) -> None:
    operated.report("Running")
    begun = time.monotonic()

    assert operated.follow(1.5) == "Running"
    assert 1.5 <= time.monotonic() - begun < 6.0


def test_the_object_is_read_again_if_its_changes_are_no_longer_known(operated: Operated) -> None:
    operated.report("Successful")
    metadata = {**operated.created["metadata"], "resourceVersion": "1"}

    assert operated.follow(created={**operated.created, "metadata": metadata}) == "Successful"


def test_a_deleted_object_is_not_waited_for(operated: Operated) -> None:
    operated.client.request("DELETE", operated.path)

    with pytest.raises(Deleted, match="Service sample was deleted"):
        operated.follow()


def test_a_runner_that_has_ended_is_not_waited_for(operated: Operated) -> None:
    def ended() -> None:
        raise ChildProcessError

    with pytest.raises(ChildProcessError):
        last_seen(operated.client, operated.created, time.monotonic() + 30.0, ended)
