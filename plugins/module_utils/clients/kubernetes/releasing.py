# SPDX-License-Identifier: Apache-2.0
"""Let go of objects that must outlive what is about to be deleted.

The garbage collector takes with an owner all that names it. A StatefulSet names itself on its
claims for as long as its retention policy is Delete, so it is told first, and has to have heard.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .applying import Writer
from .outcomes import Outcome
from .selecting import Selection

_HEARD_SECONDS = 15.0
"""How long the controller of StatefulSets has; one that does not work takes nothing back either."""
_PAUSE = 0.2  # seconds


def release(writer: Writer, selections: Iterable[Selection]) -> Iterator[Outcome]:
    """Free objects of their owners, and StatefulSets of their claims.

    Args:
        writer: changes; honours its dry run.
        selections: what is to outlive its owners; StatefulSets among it may go, their claims stay.

    Raises:
        ApiError: the server refuses.
    """
    workloads_first = sorted(selections, key=lambda chosen: chosen.kind != "StatefulSet")
    for selection in workloads_first:
        for found in selection.list(writer.session):
            if selection.kind != "StatefulSet":
                yield writer.free(found)
                continue
            outcome = writer.patch(_keeping_claims(found))
            yield outcome
            _await_heard(writer, outcome)


def free(writer: Writer, selections: Iterable[Selection]) -> Iterator[Outcome]:
    """Free objects of their owners, which are about to be deleted without them.

    Raises:
        ApiError: the server refuses.
    """
    for selection in selections:
        for found in selection.list(writer.session):
            yield writer.free(found)


def _keeping_claims(workload: Mapping[str, Any]) -> dict[str, Any]:
    metadata = {key: workload["metadata"][key] for key in ("name", "namespace")}
    policy = {"whenDeleted": "Retain", "whenScaled": "Retain"}
    return {
        "apiVersion": workload["apiVersion"],
        "kind": workload["kind"],
        "metadata": metadata,
        "spec": {"persistentVolumeClaimRetentionPolicy": policy},
    }


def _await_heard(writer: Writer, told: Outcome) -> None:
    """Wait until a StatefulSet's controller knows its spec, which it would not act upon later."""
    live = told.after
    deadline = time.monotonic() + _HEARD_SECONDS
    while live is not None and not writer.dry_run and not _heard(live):
        if time.monotonic() > deadline:
            return
        time.sleep(_PAUSE)
        live = writer.get(live)


def _heard(workload: Mapping[str, Any]) -> bool:
    generation = workload["metadata"].get("generation") or 0
    return bool(((workload.get("status") or {}).get("observedGeneration") or 0) >= generation)
