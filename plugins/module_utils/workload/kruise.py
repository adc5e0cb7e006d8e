# SPDX-License-Identifier: Apache-2.0
"""Sets whose Pods a workload of OpenKruise runs: those of the Go operator, until they are adopted.

Its resources have the kinds and names of ours, and their Pods and claims the names and labels that
ours would have. A second workload beside the first one would fight for them, so a set is left
alone as long as anything of it has such a controller.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

GROUP: Final = "apps.kruise.io"
"""API group of CloneSets and Advanced StatefulSets."""
LABEL_CLONE: Final = "apps.kruise.io/cloneset-instance-id"
"""On each Pod of a CloneSet, and on its claims."""
ANNOTATION_ADOPTION: Final = "matrixorigin.io/adoption"
"""On a set that was taken over: `UNDER_WAY` until it serves, then `COMPLETE`."""
UNDER_WAY: Final = "under-way"
COMPLETE: Final = "complete"
HELD: Final = "waiting for its adoption"
"""How it begins what such a set waits for."""

Json = Mapping[str, Any]


def hold(pods: Iterable[Json], claims: Iterable[Json]) -> str:
    """Return what a set waits for that OpenKruise runs; empty for any other one.

    Args:
        pods: those with the labels of the set.
        claims: those with the labels of the set, as far as they were observed.
    """
    owners = (owner for one in (*pods, *claims) if (owner := kruise_owner(one)) is not None)
    owner = next(owners, None)
    if owner is None:
        return ""
    return (
        f"{HELD}: {owner.get('kind')} {owner.get('name')} of OpenKruise runs it; "
        "see ansible-playbook matrixorigin.matrixone.adopt"
    )


def kruise_owner(found: Json) -> Json | None:
    """Return the owner of an object that is a workload of OpenKruise; None without one."""
    owners = found["metadata"].get("ownerReferences") or []
    return next((owner for owner in owners if is_kruise(owner.get("apiVersion"))), None)


def is_kruise(api_version: object) -> bool:
    """Return whether an ``apiVersion`` is of OpenKruise's workloads."""
    return str(api_version or "").partition("/")[0] == GROUP


def is_left_behind(pod: Json) -> bool:
    """Return whether a CloneSet has created a Pod that nothing has any more.

    No Deployment takes such a Pod over, and none would create it again.
    """
    metadata = pod["metadata"]
    owners = metadata.get("ownerReferences") or []
    created = LABEL_CLONE in (metadata.get("labels") or {})
    return created and not any(owner.get("controller") for owner in owners)
