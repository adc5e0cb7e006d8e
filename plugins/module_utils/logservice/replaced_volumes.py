# SPDX-License-Identifier: Apache-2.0
"""Volumes of log stores that were replaced: kept for a while, then deleted.

A store may have been replaced by mistake, and its volume may hold what nobody else has. So its
PersistentVolume gets the reclaim policy Retain before its claim is deleted, and its own policy
again a day after the log service was complete. What is deleted is decided by the mark on the
volume, which names the LogSet by its uid: tenants may write the LogSet's annotations, and not
PersistentVolumes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from ..api.types import Resource
from .view import View

ANNOTATION_VOLUMES: Final = "logset.matrixorigin.io/replaced-volumes"
"""On a LogSet: the volumes that are kept for a while."""
MARK: Final = "logset.matrixorigin.io/replaced-store"
"""On a PersistentVolume: the annotation says whose it was, the label names the Pod."""
KEPT_SECONDS: Final = 24 * 3600.0
_RETAIN: Final = "Retain"
_MOST: Final = 100
"""Volumes that one LogSet remembers, so that its annotation cannot grow without limit."""

Volume = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ReplacedVolume:
    """A volume that is kept for a while, as its LogSet remembers it.

    Attributes:
        name: of the PersistentVolume.
        pod: of the store that had it.
        since: when the log service was complete without it (Unix time); 0 before that.
    """

    name: str
    pod: str
    since: float = 0.0


@dataclass(frozen=True, slots=True)
class Mark:
    """Whose a volume was, as the volume itself says.

    Attributes:
        owner: uid of the LogSet.
        pod: of the store that had it.
        claim: uid of the claim that it was bound to.
        policy: reclaim policy that it had before.
    """

    owner: str
    pod: str
    claim: str
    policy: str

    def annotations(self) -> dict[str, str | None]:
        """Return it as the volume carries it."""
        return {MARK: json.dumps(asdict(self), separators=(",", ":"), sort_keys=True)}


def remembered(resource: Resource) -> list[ReplacedVolume]:
    """Return the volumes that a LogSet remembers; none where that cannot be read."""
    annotations = resource["metadata"].get("annotations") or {}
    try:
        listed = json.loads(annotations.get(ANNOTATION_VOLUMES) or "[]")
        return [
            ReplacedVolume(str(entry["name"]), str(entry["pod"]), float(entry["since"]))
            for entry in listed[:_MOST]
        ]
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
        return []


def annotation(volumes: Iterable[ReplacedVolume]) -> dict[str, str | None]:
    """Return the annotation that remembers volumes; it goes with the last of them."""
    listed = [asdict(volume) for volume in volumes]
    text = json.dumps(listed, separators=(",", ":"), sort_keys=True)
    return {ANNOTATION_VOLUMES: text if listed else None}


def with_volume(volumes: Iterable[ReplacedVolume], added: ReplacedVolume) -> list[ReplacedVolume]:
    """Return them with one more; the oldest is forgotten, and stays, where there are too many."""
    return [*(volume for volume in volumes if volume.name != added.name), added][-_MOST:]


def settled(volumes: Iterable[ReplacedVolume], pod: str, now: float) -> list[ReplacedVolume]:
    """Return them when the store of a Pod has been replaced: the time of its volumes begins."""
    return [
        replace(volume, since=now) if volume.pod == pod and not volume.since else volume
        for volume in volumes
    ]


def overdue(volumes: Iterable[ReplacedVolume], now: float) -> list[ReplacedVolume]:
    """Return the volumes that have been kept for long enough."""
    return [volume for volume in volumes if volume.since and volume.since + KEPT_SECONDS <= now]


def seconds_left(volumes: Iterable[ReplacedVolume], now: float) -> float | None:
    """Return for how long the first of them is still kept; None if no time has begun.

    It is negative for one that has not been released at its time.
    """
    ends = [volume.since + KEPT_SECONDS for volume in volumes if volume.since]
    return min(ends) - now if ends else None


def may_delete(view: View | None) -> bool:
    """Return whether a log service can do without old volumes; unknown is no."""
    return view is not None and view.running and bool(view.shards) and not view.incomplete()


def mark_of(volume: Volume) -> Mark | None:
    """Return the mark on a volume; None if there is none that can be read."""
    annotations = volume["metadata"].get("annotations") or {}
    try:
        found = Mark(**json.loads(annotations.get(MARK) or "null"))
    except (RecursionError, TypeError, ValueError):
        return None
    return found if all(isinstance(text, str) for text in asdict(found).values()) else None


def own_mark(resource: Resource, volume: Volume | None) -> Mark | None:
    """Return the mark on a volume that a LogSet may give back its reclaim policy.

    Args:
        resource: the LogSet as it is in the cluster.
        volume: the PersistentVolume as it is now; None if there is none.

    Returns:
        None for a volume of somebody else: it has no mark of this LogSet, another claim uses it
        by now, or somebody has changed its policy.
    """
    if volume is None:
        return None
    mark, spec = mark_of(volume), volume.get("spec") or {}
    claim = spec.get("claimRef") or {}
    is_ours = (
        mark is not None
        and bool(mark.owner)
        and mark.owner == resource["metadata"].get("uid")
        and mark.claim == claim.get("uid")
        and claim.get("namespace") == resource["metadata"].get("namespace")
        and spec.get("persistentVolumeReclaimPolicy") == _RETAIN
    )
    return mark if is_ours else None


def is_released(volume: Volume) -> bool:
    """Return whether the claim of a volume is gone, and no other one uses it."""
    return bool((volume.get("status") or {}).get("phase") == "Released")
