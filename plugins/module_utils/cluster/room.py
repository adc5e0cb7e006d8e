# SPDX-License-Identifier: Apache-2.0
"""Whether there is room for one more compute node, which an upgrade needs.

Quotas, taints, affinities and volumes decide about that, and other clients change them all the
time; so nothing is computed. One more compute node is started in the present version: the one that
becomes the canary of the upgrade, so that its place stays taken until it is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..api.types import Manifest
from ..upgrade.checks import Check, Name, Result
from ..workload.plans import Observed
from .canary import canary_in, canary_of, lacking, outdated, serves


@dataclass(frozen=True, slots=True)
class Room:
    """What is known of the room for one more compute node.

    Attributes:
        check: its result.
        canary: CNSet to apply for it; None for none.
    """

    check: Check
    canary: Manifest | None = None


def find_room(observed: Observed, children: Sequence[Manifest], *, is_due: bool) -> Room | None:
    """Return whether one more compute node has room; None if no compute node is replaced.

    Args:
        observed: what the references of the cluster led to.
        children: what the cluster consists of, rendered.
        is_due: whether nothing else holds the upgrade back; nothing is started before.

    Raises:
        InvalidSpec: the name of the cluster leaves no room for that of the canary.
    """
    changed = outdated(observed, children)
    if not changed:
        return None
    present = canary_of([_as_it_runs(changed[0], observed)], children)
    live, name = canary_in(observed), present["metadata"]["name"]
    if live is None and not is_due:
        message = "one more compute node is started when all other checks pass"
        return Room(Check(Name.ROOM, Result.UNKNOWN, message))
    if live is None:
        message = f"starting CNSet {name}, one more compute node"
        return Room(Check(Name.ROOM, Result.UNKNOWN, message), present)
    if serves(live, present):
        message = f"CNSet {name}, one more compute node, has room"
        return Room(Check(Name.ROOM, Result.PASSED, message), present)
    message = f"CNSet {name}, one more compute node, is not ready: {lacking(live)}"
    return Room(Check(Name.ROOM, Result.UNKNOWN, message), present)


def _as_it_runs(group: Manifest, observed: Observed) -> Manifest:
    """Return a group with the spec that its compute nodes have at present."""
    name = group["metadata"]["name"]
    live = next(one for one in observed.get("cnSets") or [] if one["metadata"]["name"] == name)
    return {**group, "spec": dict(live["spec"])}
