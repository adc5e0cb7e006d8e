# SPDX-License-Identifier: Apache-2.0
"""Ask HAKeeper about log stores and shards."""

from __future__ import annotations

from collections.abc import Sequence

from ..clients.matrixone import Deadline, HAKeeper
from .quorum import view_of
from .view import View


def ask(addresses: Sequence[str], deadline: Deadline, seconds: float) -> View:
    """Ask HAKeeper for its log stores and shards.

    Args:
        addresses: where it may be.
        deadline: when the pass ends.
        seconds: how long each of the two questions may take.

    Raises:
        MatrixOneError: it does not answer.
    """
    with HAKeeper(discovery=addresses, addresses=addresses) as hakeeper:
        details = hakeeper.cluster_details(deadline.within(seconds))
        state = hakeeper.cluster_state(deadline.within(seconds))
    return view_of(details, state)
