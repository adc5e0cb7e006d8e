# SPDX-License-Identifier: Apache-2.0
"""How far the drain of a compute node is. What is not known never counts as zero."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from .following import Outcome, State
from .kubectl import Json, table_in

DRAINING: Final = "Draining"
SPREADING_SECONDS: Final = 15.0
"""Until all proxies know that a node drains: minDelaySeconds of a CNSet, crds/schema/cnset.yaml."""
CLAIMED_BY: Final = "pool.matrixorigin.io/claimed-by"


@dataclass(frozen=True, slots=True)
class Node:
    """A compute node, as the status of its CNSet has it.

    Attributes:
        uuid: of its store; empty if that is not known.
        state: its work state in HAKeeper; empty if that is not known.
    """

    uuid: str = ""
    state: str = ""


def node_of(sets: Sequence[Json], pod: str) -> Node:
    """Return what CNSets report about the node of a Pod."""
    for one in sets:
        for store in table_in(one, "status").get("stores") or []:
            if store.get("podName") == pod:
                return Node(str(store.get("uuid") or ""), str(store.get("state") or ""))
    return Node()


def drain_state(node: Node, sessions: int | None, waited: float) -> State:
    """Return how far a drain is.

    Args:
        node: that drains.
        sessions: that it has; None if that is not known.
        waited: seconds since HAKeeper was seen to know that it drains.
    """
    if node.state != DRAINING:
        known = f"its work state is {node.state or 'not known'}"
        return State("Cordoned", f"{known}: the operator has not made it Draining yet")
    if sessions is None:
        return State(DRAINING, "its sessions are not known")
    if sessions:
        return State(DRAINING, f"{sessions} session{'' if sessions == 1 else 's'} left")
    if waited < SPREADING_SECONDS:
        return State(DRAINING, "no session is left; proxies are still learning of it")
    return State("Drained", outcome=Outcome.DONE)
