# SPDX-License-Identifier: Apache-2.0
"""Which log store a roll replaces next: one that every log shard can do without."""

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice.roll import (
    dispensable,
)

UUIDS = {"mo-log-0": "a", "mo-log-1": "b", "mo-log-2": "c"}
OLD = ("mo-log-2", "mo-log-1", "mo-log-0")


@pytest.mark.parametrize(
    ("lost", "leaders", "chosen"),
    [
        ({0: frozenset(), 1: frozenset()}, {0: "a", 1: "a"}, "mo-log-2"),
        ({0: frozenset(), 1: frozenset()}, {0: "c", 1: "b"}, "mo-log-0"),
        ({0: frozenset(), 1: frozenset()}, {0: "c", 1: "c"}, "mo-log-1"),
        ({0: frozenset(), 1: frozenset("a")}, {0: "b", 1: "b"}, "mo-log-0"),
        ({0: frozenset("a"), 1: frozenset("b")}, {}, ""),
        ({1: frozenset("x")}, {}, ""),
    ],
)
def test_a_log_store_goes_when_all_shards_have_their_other_replicas(lost, leaders, chosen):
    """Leaders go last; a store whose replicas are lost already goes first."""
    pod_name, waiting = dispensable(OLD, UUIDS, lost, leaders)

    assert pod_name == chosen
    assert bool(waiting) != bool(chosen)


def test_who_is_missing_is_named():
    _pod, waiting = dispensable(("mo-log-2",), UUIDS, {1: frozenset("b")}, {})

    assert waiting == "log shard 1 to have its replica on mo-log-1 back"
