# SPDX-License-Identifier: Apache-2.0
"""Record that transaction nodes are silent, and restart those that are back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from ..api import names
from ..api.pods import main_process
from ..reporting.events import Occurrence, occurrence
from .silence import Silence, Step, next_step

Json = Mapping[str, Any]


class Pods(Protocol):
    """How Pods are changed."""

    def annotate(self, pod: Json, annotations: Mapping[str, str | None]) -> None:
        """Set annotations of a Pod; None removes one."""

    def delete(self, pod: Json) -> None:
        """Delete this very Pod."""


def follow_silence(
    writer: Pods, pods: Sequence[Json], silences: Mapping[str, Silence], now: float
) -> list[Occurrence]:
    """Take the next step for each transaction node; return an event for each that is restarted.

    Args:
        writer: how Pods are changed.
        pods: the Pods of the set.
        silences: what HAKeeper answered about each, by Pod, as far as it knows them.
        now: the present, Unix time.
    """
    events = []
    for pod in pods:
        name = pod["metadata"]["name"]
        step = next_step(pod, silences.get(name), now)
        if step is Step.RECORD:
            writer.annotate(pod, {names.ANNOTATION_UNHEARD: main_process(pod)})
        elif step is Step.RESTART:
            writer.delete(pod)
            note = f"{name} was not heard for a time; it might refuse commits, so it is restarted"
            events.append(occurrence("StoreRestarted", note, action="Repair", warning=True))
    return events
