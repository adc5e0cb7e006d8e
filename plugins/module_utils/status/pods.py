# SPDX-License-Identifier: Apache-2.0
"""What the Pods of a set tell: which are up, what keeps the others, which version runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..rendering import names, versions

Pod = Mapping[str, Any]

_STUCK = frozenset(
    {
        "CrashLoopBackOff",
        "CreateContainerConfigError",
        "CreateContainerError",
        "ErrImageNeverPull",
        "ErrImagePull",
        "ImagePullBackOff",
        "InvalidImageName",
        "RunContainerError",
    }
)
"""Reasons of a waiting container that time alone does not mend."""


def is_ready(pod: Pod) -> bool:
    """Tell whether a Pod serves; one that is terminating does not."""
    return (
        not pod["metadata"].get("deletionTimestamp")
        and _condition(pod, "Ready").get("status") == "True"
    )


def _condition(pod: Pod, kind: str) -> Mapping[str, Any]:
    for entry in (pod.get("status") or {}).get("conditions") or []:
        if entry.get("type") == kind:
            return entry  # type: ignore[no-any-return]
    return {}


def stores(
    pods: Iterable[Pod],
    expected: Iterable[str],
    previous: Mapping[str, Any] | None,
    now: str,
) -> dict[str, list[dict[str, str]]]:
    """Return ``availableStores`` and ``failedStores`` (core.md §10.2).

    A store is Up while its Pod is Ready: the probes ask the store itself, so no extra delay is
    needed. An expected Pod that does not exist is Down, unlike in the reference.

    Args:
        pods: Pods of the set.
        expected: names of the Pods that should exist; empty where names are random.
        previous: earlier status; a store that keeps its phase keeps its time.
        now: the present, RFC 3339, for stores that changed without a Pod to tell when.
    """
    known = {
        entry["podName"]: entry
        for field in ("availableStores", "failedStores")
        for entry in (previous or {}).get(field) or []
    }
    live = {pod["metadata"]["name"]: pod for pod in pods}
    result: dict[str, list[dict[str, str]]] = {"availableStores": [], "failedStores": []}
    for name in sorted({*live, *expected}, key=_natural):
        pod = live.get(name)
        phase = "Up" if pod is not None and is_ready(pod) else "Down"
        old = known.get(name, {})
        since = old.get("lastTransition") if old.get("phase") == phase else None
        told = _condition(pod, "Ready").get("lastTransitionTime") if pod else None
        entry = {"podName": name, "phase": phase, "lastTransition": since or told or now}
        result["availableStores" if phase == "Up" else "failedStores"].append(entry)
    return result


def _natural(name: str) -> tuple[str, int, str]:
    """Order names so that ordinal 10 comes after 9."""
    stem, _dash, ordinal = name.rpartition("-")
    return (stem, int(ordinal), "") if ordinal.isdigit() else (name, -1, "")


def awaited(pods: Sequence[Pod], expected: Iterable[str]) -> str:
    """Say which Pods are not ready and why: ``mo-log-1 (ContainerCreating)``; empty if all are."""
    live = {pod["metadata"]["name"]: pod for pod in pods}
    parts = [
        f"{name} ({why(live[name]) if name in live else 'not created yet'})"
        for name in sorted({*live, *expected}, key=_natural)
        if name not in live or not is_ready(live[name])
    ]
    return ", ".join(parts[:5]) + (f" and {len(parts) - 5} more" if len(parts) > 5 else "")


def why(pod: Pod) -> str:
    """Say in few words what keeps a Pod from being ready."""
    if pod["metadata"].get("deletionTimestamp"):
        return "Terminating"
    status = pod.get("status") or {}
    for container in [
        *(status.get("initContainerStatuses") or []),
        *(status.get("containerStatuses") or []),
    ]:
        waiting = (container.get("state") or {}).get("waiting") or {}
        if waiting.get("reason"):
            return str(waiting["reason"])
    scheduled = _condition(pod, "PodScheduled")
    if scheduled.get("status") == "False":
        return f"{scheduled.get('reason')}: {scheduled.get('message')}"
    if status.get("phase") == "Running":
        return "not ready yet"
    return str(status.get("reason") or status.get("phase") or "Pending")


def stuck(pods: Iterable[Pod]) -> str:
    """Name the Pods that will not come up by themselves, and why; empty if there are none."""
    found = [f"{pod['metadata']['name']} ({why(pod)})" for pod in pods if why(pod) in _STUCK]
    return ", ".join(found[:5]) + (f" and {len(found) - 5} more" if len(found) > 5 else "")


def running_version(pods: Iterable[Pod]) -> str:
    """Return the lowest version of MatrixOne among the Pods; an image tag where none is known.

    Returns:
        Text such as ``1.3.0``; empty if there are no Pods or their image has no tag.
    """
    found: list[tuple[versions.Version, str]] = []
    tags: list[str] = []
    for pod in pods:
        annotations = pod["metadata"].get("annotations") or {}
        text = str(annotations.get(names.ANNOTATION_SEMANTIC_VERSION) or "")
        parsed = versions.parse(text)
        if parsed is not None:
            found.append((parsed, text))
        else:
            tags += [versions.image_tag(image) for image in _images(pod)]
    if found:
        return min(found, key=lambda pair: (pair[0].major, pair[0].minor, pair[0].patch))[1]
    return min((tag for tag in tags if tag), default="")


def _images(pod: Pod) -> list[str]:
    containers = (pod.get("spec") or {}).get("containers") or []
    return [
        str(container["image"])
        for container in containers
        if container.get("name") == names.CONTAINER_MAIN and container.get("image")
    ]
