# SPDX-License-Identifier: Apache-2.0
"""Shapes of what goes into rendering and what comes out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict

Manifest = dict[str, Any]
"""A Kubernetes object as the API server takes it: apiVersion, kind, metadata, and the rest."""

Resource = Mapping[str, Any]
"""A custom resource of ours, whole; never changed by rendering."""


class BootstrapMember(TypedDict):
    """One initial HAKeeper member, as stored on the LogSet."""

    ordinal: int
    replicaId: int


class LogSetObserved(TypedDict, total=False):
    """What was decided earlier about a LogSet and must be kept.

    Keys:
        bootstrap: the stored bootstrap decision; None or absent before the first creation.
        incarnations: ordinal (decimal text) to the number of times that its store was replaced.
    """

    bootstrap: list[BootstrapMember] | None
    incarnations: Mapping[str, int]


class References(TypedDict, total=False):
    """The resources that a set's ``deps`` name, whole; None or absent when there is none."""

    logSet: Resource | None
    dnSet: Resource | None
    cnSet: Resource | None
