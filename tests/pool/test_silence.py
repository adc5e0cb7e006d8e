# SPDX-License-Identifier: Apache-2.0
"""Which silent compute nodes of a pool are waited for: those of a version that resumes by itself."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.matrixone import (
    Deadline,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.compute.pods import uuid_of
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.pool import silence

_RUNNING = {"name": "main", "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}}


def pod(name: str, generation: str = "p-1", image: str = "mo:3.0.4") -> dict[str, Any]:
    return {
        "metadata": {
            "name": name,
            "namespace": "ns",
            "labels": {"matrixorigin.io/instance": generation},
        },
        "spec": {
            "subdomain": "headless",
            "containers": [{"name": "side", "image": "x"}, {"name": "main", "image": image}],
        },
        "status": {"podIP": f"10.0.0.{ord(name)}", "containerStatuses": [_RUNNING]},
    }


def details(pods: Mapping[str, Mapping[str, Any]], silent: Mapping[str, float]) -> Any:
    stores = [
        SimpleNamespace(
            uuid=uuid_of(one), silent=silent.get(name, 0.3), lock_address=f"{name}.headless:6003"
        )
        for name, one in pods.items()
    ]
    return SimpleNamespace(
        cn_stores=stores,
        tn_stores=[SimpleNamespace(silent=0.2)],
        log_silences=[0.1],
        cn_store=lambda uuid: next((one for one in stores if one.uuid == uuid), None),
        serving_tn=lambda: None,
    )


RESUMING = {"10.0.0.98:6003"}
"""The address of b."""


@pytest.mark.parametrize(
    ("pods", "silent", "refused", "asked"),
    [
        ([pod("a"), pod("b")], {"a": 12.0}, set(), {"10.0.0.98:6003"}),
        ([pod("a"), pod("b")], {"a": 30.5}, {"a"}, set()),
        ([pod("a"), pod("b")], {"a": 9.0}, set(), set()),
        ([pod("a"), pod("b")], {"a": 12.0, "b": 12.0}, {"a", "b"}, set()),
        ([pod("a"), pod("c")], {"a": 12.0}, {"a"}, {"10.0.0.99:6003"}),
        ([pod("a", "p-0"), pod("b")], {"a": 12.0}, {"a"}, set()),
        ([pod("a", image="mo:1.3"), pod("b")], {"a": 12.0}, {"a"}, set()),
        ([pod("a"), pod("d"), pod("b")], {"a": 12.0, "d": 31.0}, {"d"}, {"10.0.0.98:6003"}),
        ([pod("a"), pod("b"), pod("c")], {"a": 12.0}, set(), {"10.0.0.98:6003"}),
    ],
    ids=[
        "a peer resumes",
        "away for too long",
        "not silent yet",
        "nobody is left to ask",
        "the peer does not resume",
        "the peer is of another template",
        "the peer is of another image",
        "each by its time",
        "one peer is enough",
    ],
)
def test_who_is_waited_for(
    pods: list[dict[str, Any]],
    silent: dict[str, float],
    refused: set[str],
    asked: set[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All that are silent get no claims; those that are refused are deleted at once."""
    heard: dict[str, str] = {}

    def that_resume(addresses: Mapping[str, str], _deadline: Deadline) -> frozenset[str]:
        heard.update(addresses)
        return frozenset(name for name, address in addresses.items() if address in RESUMING)

    monkeypatch.setattr(silence, "that_resume", that_resume)
    by_name = {one["metadata"]["name"]: one for one in pods}
    found = silence.silence_among(
        by_name, details(by_name, silent), [], lambda: None, Deadline.after(5)
    )
    assert found.refused == refused
    assert found.silent == {name for name, seconds in silent.items() if seconds > 10}
    assert set(heard.values()) == asked
