# SPDX-License-Identifier: Apache-2.0
"""Moving a claim to another compute node of its pool."""

from collections.abc import Iterator, Sequence
from typing import Final

from .errors import PluginError
from .following import Outcome, State
from .kubectl import Json, table_in

PHASE: Final = "pool.matrixorigin.io/phase"
_LEFT: Final = ("connections", "pipelines", "replicas")


def present_pod(claim: Json) -> str:
    """Return the Pod of a claim that can be moved.

    Raises:
        PluginError: it has none, or is being moved.
    """
    name, spec = claim["metadata"]["name"], table_in(claim, "spec")
    source = table_in(spec, "sourcePod").get("podName")
    if source:
        raise PluginError(f"CNClaim {name} moves already, from {source} to {spec.get('podName')}")
    phase = table_in(claim, "status").get("phase") or "Pending"
    if phase not in {"Bound", "Outdated"} or not spec.get("podName"):
        raise PluginError(f"CNClaim {name} is {phase}: it has no Pod that it could leave")
    return str(spec["podName"])


def target(claim: Json, pods: Sequence[Json], named: str) -> str:
    """Return the Pod to which a claim is moved: the newest idle one, which has the newest template.

    Args:
        claim: that is moved.
        pods: of its pool.
        named: by the user; empty for any.

    Raises:
        PluginError: no Pod can take the claim.
    """
    pool = str(table_in(claim, "spec").get("poolName") or "")
    idle = {one["metadata"]["name"]: one for one in pods if _is_idle(one)}
    if named and named not in idle:
        names = ", ".join(sorted(idle)) or "none"
        raise PluginError(f"Pod {named} is no idle one of CNPool {pool}; idle ones are: {names}")
    if not idle:
        raise PluginError(
            f"CNPool {pool} has no idle Pod: wait for one, or raise strategy.scaleStrategy.maxIdle"
        )
    return named or max(idle, key=lambda name: (_created(idle[name]), name))


def _is_idle(pod: Json) -> bool:
    labels = table_in(pod["metadata"], "labels")
    conditions = table_in(pod, "status").get("conditions") or []
    ready = any(one["type"] == "Ready" and one.get("status") == "True" for one in conditions)
    is_leaving = bool(pod["metadata"].get("deletionTimestamp"))
    return labels.get(PHASE) == "Idle" and ready and not is_leaving


def _created(pod: Json) -> str:
    return str(pod["metadata"].get("creationTimestamp") or "")


def move(claim: Json, to: str) -> Json:
    """Return the change that moves a claim; it is refused if the claim has changed meanwhile."""
    return {
        "metadata": {"resourceVersion": claim["metadata"]["resourceVersion"]},
        "spec": {"podName": to, "sourcePod": {"podName": present_pod(claim)}},
    }


def move_state(claim: Json, to: str) -> State:
    """Return how far a claim is on its way to a Pod."""
    spec, status = table_in(claim, "spec"), table_in(claim, "status")
    if spec.get("podName") != to:
        return State("Canceled", f"the claim names {spec.get('podName')}", Outcome.FAILED)
    source = table_in(spec, "sourcePod").get("podName")
    if source:
        left = ", ".join(_left(table_in(table_in(status, "migrate"), "source")))
        return State("Moving", f"left on {source}: {left or 'not known'}")
    if table_in(status, "store").get("podName") != to:
        return State("Moving", f"Pod {to} does not serve it yet")
    return State("Moved", outcome=Outcome.DONE)


def _left(load: Json) -> Iterator[str]:
    for name in _LEFT:
        if name in load:
            yield f"{load[name]} {name}"
