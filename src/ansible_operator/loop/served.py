# SPDX-License-Identifier: Apache-2.0
"""Waiting for kinds whose CRDs are not there yet."""

import asyncio
from collections.abc import Callable
from typing import Any

from ansible_operator.errors import KubeError
from ansible_operator.kube.interface import GroupVersionKind, Mapper, ResourceType

LOOKUP_SECONDS = (0.5, 10.0)
"""First and longest time between two looks for a kind that is not served: CRDs that are applied
together with the operator are there in a moment."""
TELL_SECONDS = 2.0


async def served_kind(
    mapper: Mapper, gvk: GroupVersionKind, tell: Callable[..., Any]
) -> ResourceType:
    """What the API server calls a kind, as soon as it serves it.

    Args:
        mapper: discovery.
        gvk: the kind.
        tell: a method of a logger: how much it matters that the kind is not there.
    """
    pause, longest = LOOKUP_SECONDS
    told = False
    while True:
        try:
            resource = await mapper.by_kind(gvk)
        except KubeError as error:
            tell("Kind cannot be looked up", gvk=str(gvk), error=str(error))
            resource = None
        if resource is not None:
            return resource
        if not told and pause >= TELL_SECONDS:
            told = True
            tell("Kind is not served: is its CRD installed?", gvk=str(gvk))
        await asyncio.sleep(pause)
        pause = min(2 * pause, longest)
