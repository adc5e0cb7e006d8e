# SPDX-License-Identifier: Apache-2.0
"""What a user changes of a cluster: annotations and fields that anybody could set by kubectl."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from .errors import PluginError
from .kubectl import Json, Kubectl, table_in
from .reading import COMPONENT, CORDON, LABEL, SETS, resource_of

_PAUSED: Final = ("matrixorigin.io/paused", "matrixorigin.io/skip-sync")
_FENCED: Final = "matrixorigin.io/fenced"
_RESTARTED: Final = "matrixorigin.io/restartedAt"


def pause(kubectl: Kubectl, cluster: Json) -> str:
    """Keep the operator away from a cluster."""
    _annotate(kubectl, cluster, {_PAUSED[0]: "true"})
    return f"{title_of(cluster)} is paused: the operator leaves it alone until it is resumed"


def resume(kubectl: Kubectl, cluster: Json) -> str:
    """Let the operator act on a cluster again."""
    _annotate(kubectl, cluster, dict.fromkeys(_PAUSED))
    return f"{title_of(cluster)} is resumed"


def fence(kubectl: Kubectl, cluster: Json) -> str:
    """Keep clients off a cluster, and the operator from changing or deleting anything of it."""
    _annotate(kubectl, cluster, {_FENCED: "true"})
    return (
        f"{title_of(cluster)} is fenced: its sessions are ended, clients are kept off, and nothing "
        "is changed or deleted; the way back: kubectl matrixone unfence"
    )


def unfence(kubectl: Kubectl, cluster: Json) -> str:
    """Let clients and the operator come to a cluster again."""
    _annotate(kubectl, cluster, {_FENCED: None})
    return f"{title_of(cluster)} is not fenced any more"


def hibernate(kubectl: Kubectl, cluster: Json, scope: str | None) -> str:
    """Stop what a cluster runs, until it is woken.

    Args:
        kubectl: where the cluster was found.
        cluster: the MatrixOneCluster.
        scope: ``Compute`` or ``Database``; None as in its spec.
    """
    chosen = {"scope": scope} if scope else {}
    patch(kubectl, cluster, {"spec": {"hibernation": {"asleep": True, **chosen}}})
    return f"{title_of(cluster)} falls asleep; to wake it: kubectl matrixone wake"


def wake(kubectl: Kubectl, cluster: Json, *, by_schedule: bool) -> str:
    """Start a cluster again, or let its schedule decide.

    Raises:
        PluginError: there is no schedule.
    """
    schedule = table_in(table_in(cluster, "spec"), "hibernation").get("schedule")
    if by_schedule and not schedule:
        raise PluginError(f"{title_of(cluster)} has no schedule in spec.hibernation")
    asleep = None if by_schedule else False
    patch(kubectl, cluster, {"spec": {"hibernation": {"asleep": asleep}}})
    if by_schedule:
        return f"{title_of(cluster)} follows its schedule"
    hint = "; to follow its schedule: kubectl matrixone wake --by-schedule" if schedule else ""
    return f"{title_of(cluster)} wakes, and stays awake{hint}"


def restart(kubectl: Kubectl, cluster: Json, part: str, now: datetime) -> str:
    """Replace the Pods of a cluster, or of one of its sets.

    Args:
        kubectl: where the cluster was found.
        cluster: the MatrixOneCluster.
        part: a set as ``kind/name``; empty for all.
        now: the present, which tells one restart from another.

    Raises:
        PluginError: the set is not one of the cluster.
    """
    one = _set_of(kubectl, cluster, part) if part else cluster
    _annotate(kubectl, one, {_RESTARTED: f"{now:%Y-%m-%dT%H:%M:%SZ}"})
    return f"{title_of(one)} replaces its Pods, as after a change; see: kubectl matrixone status"


def _set_of(kubectl: Kubectl, cluster: Json, part: str) -> Json:
    kind, _slash, name = part.partition("/")
    known = {each.lower(): each for each in SETS}
    if kind.lower() not in known or not name:
        raise PluginError(f"{part!r} names no set; write it as in the status, such as cnset/mo-tp")
    found = kubectl.get(resource_of(kind), name)
    if _labels(found).get(LABEL) != cluster["metadata"]["name"]:
        raise PluginError(f"{known[kind.lower()]} {name} is not one of {title_of(cluster)}")
    return found


def cordon(kubectl: Kubectl, pod: str, *, is_cordoned: bool) -> str:
    """Keep new sessions away from a compute node, or let them come again.

    Raises:
        PluginError: the Pod is no compute node.
    """
    found = kubectl.get("pod", pod)
    if _labels(found).get(COMPONENT) != "CNSet":
        raise PluginError(f"Pod {pod} is no compute node: only those have sessions to keep away")
    _annotate(kubectl, found, {CORDON: "" if is_cordoned else None})
    effect = "serves again"
    if is_cordoned:
        effect = "gets no new sessions; proxies move those that it has to other nodes"
    return f"Pod {pod} {effect}"


def upgrade(kubectl: Kubectl, cluster: Json, version: str) -> str:
    """Ask for another version of MatrixOne."""
    patch(kubectl, cluster, _version(version))
    return f"{title_of(cluster)} is asked for {version}; see: kubectl matrixone status"


def check_upgrade(kubectl: Kubectl, cluster: Json, version: str) -> None:
    """Have the API server check another version, and change nothing.

    Raises:
        KubectlError: it would refuse it.
    """
    patch(kubectl, cluster, _version(version), "--dry-run=server")


def _version(version: str) -> dict[str, Any]:
    return {"spec": {"version": version}}


def hold_upgrade(kubectl: Kubectl, cluster: Json, *, is_held: bool) -> str:
    """Pause an upgrade before the point of no return, or let it go on."""
    patch(kubectl, cluster, {"spec": {"upgrade": {"paused": True if is_held else None}}})
    return f"the upgrade of {title_of(cluster)} {'is paused' if is_held else 'goes on'}"


def cancel_upgrade(kubectl: Kubectl, cluster: Json) -> str:
    """Set the version of before the upgrade again.

    Raises:
        PluginError: there is no upgrade, or it cannot be taken back any more.
    """
    record = table_in(table_in(cluster, "status"), "upgrade")
    before = record.get("from")
    if record.get("phase") not in {"Held", "Updating"} or not before:
        raise PluginError(f"no upgrade of {title_of(cluster)} is under way that could be canceled")
    if record.get("pointOfNoReturn") != "Ahead":
        raise PluginError(
            f"the upgrade to {record.get('to')} is past the point of no return: earlier versions "
            f"cannot read the data any more. {record.get('message') or ''}".strip()
        )
    return upgrade(kubectl, cluster, str(before))


def _annotate(kubectl: Kubectl, one: Json, values: Mapping[str, str | None]) -> None:
    patch(kubectl, one, {"metadata": {"annotations": dict(values)}})


def patch(kubectl: Kubectl, one: Json, change: dict[str, Any], *options: str) -> None:
    """Change fields of an object, by a merge patch.

    Raises:
        KubectlError: the API server refuses it.
    """
    kind = "pods" if one["kind"] == "Pod" else resource_of(one["kind"])
    kubectl.run(
        *("patch", kind, one["metadata"]["name"], "--type=merge"),
        *("--field-manager=kubectl-matrixone", "--patch", json.dumps(change), *options),
    )


def _labels(one: Json) -> Json:
    return table_in(one["metadata"], "labels")


def title_of(one: Json) -> str:
    """Return kind, namespace and name of an object."""
    return f"{one['kind']} {one['metadata']['namespace']}/{one['metadata']['name']}"
