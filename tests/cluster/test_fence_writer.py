# SPDX-License-Identifier: Apache-2.0
"""Which sessions of a compute node a fence ends."""

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.cluster.fence_writer import (
    _ending,
)


def talk(rows):
    """Return the sessions that are killed, and what is returned."""
    conversation, killed = _ending(), []
    next(conversation)
    answer = rows
    try:
        while True:
            statement, values = conversation.send(answer)
            assert values == ()
            killed.append(statement)
            answer = []
    except StopIteration as end:
        return killed, end.value


@pytest.mark.parametrize(
    ("rows", "killed", "ended"),
    [
        ([("a", 7, 7)], [], 0),
        ([("a", 7, 7), ("a", 8, 7), ("a", 9, 7)], [8, 9], 2),
        ([("a", 7, 7), ("b", 6, 7), ("b", 8, 7)], [], 0),
        ([("b", 8, 7)], [], None),
        ([], [], None),
    ],
    ids=["alone", "others", "other nodes", "not its own", "nothing listed"],
)
def test_all_of_its_own_node_but_itself(rows, killed, ended):
    assert talk(rows) == ([f"kill connection {one}" for one in killed], ended)
