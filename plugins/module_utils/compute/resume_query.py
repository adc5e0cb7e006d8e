# SPDX-License-Identifier: Apache-2.0
"""Which compute nodes serve on by themselves after the transaction node took them for dead.

A transaction node that did not reach a compute node refuses its commits, because it has forgotten
which of its transactions lost their locks. From 2.1.1 on, a compute node whose commit is refused so
aborts all transactions that it has, and then has the refusal lifted (``ResumeInvalidCN``): the next
ones are committed. It does that at each refused commit, so it needs no help, and no attempt is its
last; what it needs for it, an answer of the transaction node, any commit needs, too. Before 2.0.1
there is no such call; up to 2.1.0 a compute node makes it once in its life, and may block itself.

The operator never makes that call. It would lift the refusal without the abort, so that a
transaction could be committed whose locks others have got meanwhile; it needs an id that only the
compute node knows; and the transaction node of 4.2 remembers each id that it is called with.

So a compute node is asked for another call that came with the same releases, and does nothing here.
Read in MatrixOne's pkg/txn/client/client.go (handleMarkActiveTxnAborted) and
pkg/lockservice/lock_table_allocator.go, in each tag from 2.0.0 to 4.2.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from ..clients.matrixone import Deadline, MatrixOneError, NodeLockService, Reach

_AT_ONCE: Final = 8
_SECONDS: Final = 4.0
_PAUSES: Final = (0.5, 1.0, 0.0)
"""Seconds after each attempt: a connection of before a cut may have to fail first."""


def that_resume(
    addresses: Mapping[str, str], deadline: Deadline, reach: Reach = Reach.NETWORK
) -> frozenset[str]:
    """Return which compute nodes said that they resume; not those that gave no answer.

    Args:
        addresses: of their lock services, by name.
        deadline: for the answers.
        reach: what is dialled of them.
    """
    if not addresses:
        return frozenset()
    within = deadline.within(_SECONDS)
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="resume") as threads:
        answers = threads.map(lambda one: _resumes(one, within, reach), addresses.values())
        return frozenset(name for name, answer in zip(addresses, answers, strict=True) if answer)


def _resumes(address: str, deadline: Deadline, reach: Reach) -> bool:
    for pause in _PAUSES:
        try:
            with NodeLockService(address, reach) as service:
                return service.ends_remote_deadlocks(deadline)
        except MatrixOneError:
            if not deadline.pause(pause):
                return False
    return False
