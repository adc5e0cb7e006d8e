# SPDX-License-Identifier: Apache-2.0
"""The steps of an adoption, and of the way back.

No step deletes a claim, a volume or anything in a bucket, and there is none that could. Each can be
repeated: a plan is made of what is there now, and leaves out what was done.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from ..workload.kruise import is_kruise


class Action(StrEnum):
    """What a step does; its value says it to a user, followed by the object."""

    RESUME = "let operators act again on"
    AWAIT_HELD = "wait until our operator reports that it leaves alone"
    KEEP_CLAIMS = "keep the claims when it is deleted, of"
    FREE_CLAIM = "take the owner of OpenKruise off"
    RELEASE_POD = "take the finalizers of the Go operator off"
    ORPHAN = "delete, and leave its Pods running,"
    HAND_OVER = "record the adoption, which starts a pass, of"
    AWAIT_SERVING = "wait until it serves under our operator:"
    COMPLETE = "record that the adoption is complete, of"
    END_POD = "end, since its successor serves,"
    PAUSE = "keep our operator away from"
    HAND_BACK = "remove the record of the adoption of"
    END_POLICY = "delete, since it would keep the Go operator from the Pods,"
    END_WORKLOAD = "delete, with its Pods, since those of OpenKruise serve,"

    @property
    def is_wait(self) -> bool:
        """Whether it changes nothing."""
        return self in {Action.AWAIT_HELD, Action.AWAIT_SERVING}

    @property
    def is_beginning(self) -> bool:
        """Whether it comes before all that is done to any set."""
        return self in {Action.RESUME, Action.PAUSE, Action.AWAIT_HELD}


DELETING: Final = frozenset({Action.ORPHAN, Action.END_POD, Action.END_WORKLOAD, Action.END_POLICY})
"""Actions that delete an object: a workload, a Pod or a NetworkPolicy, never a claim."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step; it is about one object.

    Attributes:
        action: what is done.
        api_version: of the object.
        kind: of the object.
        name: of the object, in the namespace of the cluster.
        uid: of the object: a later one of that name is left alone. Empty where only a name is
            needed.
        part: the set that it belongs to, as ``Kind name``; empty for the cluster.
        removes: finalizers that are taken off.
    """

    action: Action
    api_version: str
    kind: str
    name: str
    uid: str = ""
    part: str = ""
    removes: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """What it does, for a user."""
        of = " of OpenKruise" if is_kruise(self.api_version) else ""
        return f"{self.action.value} {self.kind} {self.name}{of}"

    @property
    def document(self) -> dict[str, str]:
        """The step as it travels through variables of Ansible."""
        return {"action": self.action.name, "set": self.part, "does": self.title}


@dataclass(frozen=True, slots=True)
class AdoptionPlan:
    """What an adoption is going to do.

    Attributes:
        refusals: why it is not begun; empty if nothing stands in its way. Then there are no steps.
        steps: in order.
        notes: what a user should know.
    """

    refusals: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    notes: tuple[str, ...] = ()
