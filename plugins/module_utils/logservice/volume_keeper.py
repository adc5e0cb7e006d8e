# SPDX-License-Identifier: Apache-2.0
"""Keep the volumes of log stores that are replaced, and release them a day later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from ..clients.kubernetes.errors import ApiError
from ..reporting.events import Occurrence, occurrence
from . import replaced_volumes
from .pods import Record
from .replaced_volumes import Mark, ReplacedVolume
from .view import View

Json = Mapping[str, Any]


class Volumes(Protocol):
    """What this needs of Kubernetes."""

    def volumes(self, claims: Sequence[Json]) -> Sequence[Json]:
        """Return the PersistentVolumes of claims, as far as they can be read."""

    def volume(self, name: str) -> Json | None:
        """Return a PersistentVolume as it is now; None if there is none."""

    def keep(self, volume: Json, pod: str, annotations: Mapping[str, str | None]) -> str:
        """Make a PersistentVolume outlive its claim; return why that cannot be, or nothing."""

    def give_back(self, volume: Json, policy: str, *, in_use: bool) -> None:
        """Give a PersistentVolume the reclaim policy again that it had before it was kept."""

    def annotate(self, annotations: Mapping[str, str | None]) -> None:
        """Set annotations of the LogSet; None removes one."""


class VolumeKeeper:
    """The volumes of one LogSet.

    Args:
        resource: the LogSet as it is in the cluster now.
        kubernetes: how volumes are read and changed.

    Attributes:
        events: what happened.
    """

    def __init__(self, resource: Json, kubernetes: Volumes) -> None:
        self._resource, self._kubernetes = resource, kubernetes
        self._remembered = replaced_volumes.remembered(resource)
        self.events: list[Occurrence] = []

    def keep(self, record: Record, claims: Sequence[Json]) -> str:
        """Keep the volumes of claims, before these are deleted.

        Args:
            record: says for how long: for good, for a while, or not at all.
            claims: of the store that is replaced.

        Returns:
            Why a volume that is to be kept for good cannot be; empty if all is well.
        """
        if not record.keep and not record.hold:
            return ""
        volumes = self._kubernetes.volumes(_bound(claims))
        if len(volumes) < len(_bound(claims)):
            problem = "it cannot be read, or is not bound to its claim"
            if record.keep:
                return problem
            self._tell_not_kept(record.pod, problem)
        for volume in volumes:
            problem = self._keep(record, volume)
            if problem:
                return problem
        return ""

    def keep_deleted(self, claims: Sequence[Json]) -> None:
        """Keep the volumes of claims that somebody deletes, for good: before their Pods end."""
        for claim in claims:
            name = claim["metadata"]["name"]
            found = self._kubernetes.volumes(_bound([claim]))
            policies = [one["spec"].get("persistentVolumeReclaimPolicy") for one in found]
            if policies == ["Retain"]:
                continue
            problem = "it cannot be read"
            for volume in found:
                problem = self._kubernetes.keep(volume, name, {})
            note = f"the volume of claim {name}, which somebody has deleted, "
            if problem:
                note += f"is deleted when no Pod mounts it any more, because {problem}"
                told = occurrence("VolumeNotKept", note, action="Keep", warning=True)
            else:
                note += f"is kept (Retain): PersistentVolume {found[0]['metadata']['name']}"
                told = occurrence("VolumeKept", note, action="Keep")
            self.events.append(told)

    def finds_volumes(self, claims: Sequence[Json]) -> bool:
        """Tell whether the volumes of claims can be read, without which none can be kept."""
        return len(self._kubernetes.volumes(_bound(claims))) == len(_bound(claims))

    def _keep(self, record: Record, volume: Json) -> str:
        name, spec = volume["metadata"]["name"], volume.get("spec") or {}
        policy = str(spec.get("persistentVolumeReclaimPolicy") or "Delete")
        is_held = record.hold and not record.keep
        if policy != "Retain":
            owner = str(self._resource["metadata"].get("uid") or "")
            mark = Mark(owner, record.pod, str(spec["claimRef"]["uid"]), policy)
            problem = self._kubernetes.keep(
                volume, record.pod, mark.annotations() if is_held else {}
            )
            if problem and not record.keep:
                self._tell_not_kept(record.pod, problem)
                return ""
            if problem:
                return problem
            note = f"PersistentVolume {name} with the data of {record.pod} is kept (Retain)"
            note += "; it is deleted a day after the log service is complete" if is_held else ""
            self.events.append(occurrence("VolumeKept", note, action="FailOver"))
        elif replaced_volumes.own_mark(self._resource, volume) is None:
            return ""
        if is_held:
            kept = ReplacedVolume(name, record.pod)
            self._remember(replaced_volumes.with_volume(self._remembered, kept))
        return ""

    def _tell_not_kept(self, pod: str, problem: str) -> None:
        note = f"the volume of {pod} is deleted with its claim, because {problem}"
        self.events.append(occurrence("VolumeNotKept", note, action="FailOver", warning=True))

    def give_back(self, pod: str) -> None:
        """Undo `keep` for a store that came back before anything of it was deleted."""
        for entry in self._remembered:
            if entry.pod == pod and not entry.since and self._release(entry, in_use=True):
                self._forget(entry)

    def settle(self, pod: str, now: float) -> None:
        """Let the time begin for which the volumes of a store are kept.

        Args:
            pod: whose store has been replaced.
            now: the present, Unix time.
        """
        self._remember(replaced_volumes.settled(self._remembered, pod, now))

    def delete_overdue(self, view: View | None, now: float) -> None:
        """Release volumes that were kept for long enough, while the log service is complete.

        Args:
            view: what HAKeeper says; None when it did not answer or was not asked.
            now: the present, Unix time.
        """
        for entry in replaced_volumes.overdue(self._remembered, now):
            if replaced_volumes.may_delete(view) and self._release(entry, in_use=False):
                self._forget(entry)

    def release_all(self) -> None:
        """Release all volumes, because the data of the log service are deleted."""
        for entry in self._remembered:
            self._release(entry, in_use=False, is_bound_yet=True)

    def _release(self, entry: ReplacedVolume, *, in_use: bool, is_bound_yet: bool = False) -> bool:
        """Give a volume its policy back if it is still ours; return whether that is settled.

        What cannot be read is neither gone nor ours, and is looked at again later.
        """
        try:
            volume = self._kubernetes.volume(entry.name)
            mark = replaced_volumes.own_mark(self._resource, volume)
            if mark is None or volume is None:
                return True
            if not (in_use or is_bound_yet or replaced_volumes.is_released(volume)):
                return False
            self._kubernetes.give_back(volume, mark.policy, in_use=in_use)
        except ApiError:
            return False
        if not in_use:
            note = f"PersistentVolume {entry.name} with the old data of {entry.pod} is released"
            self.events.append(occurrence("VolumeReleased", note, action="Delete"))
        return True

    def _forget(self, entry: ReplacedVolume) -> None:
        self._remember([one for one in self._remembered if one != entry])

    def _remember(self, volumes: list[ReplacedVolume]) -> None:
        if volumes != self._remembered:
            self._kubernetes.annotate(replaced_volumes.annotation(volumes))
            self._remembered = volumes


def _bound(claims: Sequence[Json]) -> list[Json]:
    return [claim for claim in claims if (claim.get("spec") or {}).get("volumeName")]
