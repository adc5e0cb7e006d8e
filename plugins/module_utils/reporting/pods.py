# SPDX-License-Identifier: Apache-2.0
"""What is known of the Pods of a set: which are up, what blocks the others, which version runs."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from ..api import names, versions
from ..api.pods import condition, is_ready
from ..api.timestamps import unix_time
from .pod_problems import PodProblems

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
"""Reasons of a waiting container that time alone does not fix."""
_SAME = {"ErrImagePull": "ImagePullBackOff"}
_OF_THE_IMAGE = frozenset({"ErrImageNeverPull", "ImagePullBackOff", "InvalidImageName"})
_UNSTEADY = frozenset({"CrashLoopBackOff"})
"""Reasons whose message changes with each attempt."""
_BACK_OFF = re.compile(r'Back-off pulling image "[^"]*"(?:: \w+: |$)')
_LONGEST_CAUSE = 300
"""Characters of what a kubelet says about a container."""
_RESTARTS = 2
"""A container that ended once may have been early; one that ended this often will end again."""
_FIRST_CONDITION_SECONDS = 5.0
"""So long after its start a Pod has the conditions that the kubelet gives it first."""


def stores(
    pods: Iterable[Pod],
    expected: Iterable[str],
    previous: Mapping[str, Any] | None,
    now: str,
    lost: Collection[str] = (),
) -> dict[str, list[dict[str, str]]]:
    """Return ``availableStores`` and ``failedStores``.

    A store is Up while its Pod is Ready: the probes ask the store itself, so no extra delay is
    needed. An expected Pod that does not exist is Down, unlike in the reference.

    Being down begins when it is seen: Pods that terminate or do not exist do not tell, and what a
    condition tells may be older than the failure. It begins earlier only where a Pod says itself
    when it ceased to be ready, as after a time without an operator.

    Args:
        pods: Pods of the set.
        expected: names of the Pods that should exist; empty where names are random.
        previous: earlier status; a store that keeps its phase keeps its time.
        now: the present, RFC 3339, for stores that changed without a Pod to tell when.
        lost: Pods that are ready, but whose store is of no use.
    """
    known = {
        entry["podName"]: entry
        for field in ("availableStores", "failedStores")
        for entry in (previous or {}).get(field) or []
    }
    live = {pod["metadata"]["name"]: pod for pod in pods}
    result: dict[str, list[dict[str, str]]] = {"availableStores": [], "failedStores": []}
    for name in sorted({*live, *expected}, key=natural_order):
        pod = live.get(name)
        is_up = pod is not None and is_ready(pod) and name not in lost
        since = _up_since if is_up else _down_since
        entry = {
            "podName": name,
            "phase": "Up" if is_up else "Down",
            "lastTransition": since(None if name in lost else pod, known.get(name, {}), now),
        }
        result["availableStores" if is_up else "failedStores"].append(entry)
    return result


def _up_since(pod: Pod | None, before: Mapping[str, Any], now: str) -> str:
    """Return since when a store is up, RFC 3339; see `_down_since`."""
    if before.get("phase") == "Up" and before.get("lastTransition"):
        return str(before["lastTransition"])
    ready = condition(pod or {}, "Ready").get("lastTransitionTime")
    return _within(str(before.get("lastTransition") or ""), str(ready or now), now)


def _down_since(pod: Pod | None, before: Mapping[str, Any], now: str) -> str:
    """Return since when a store is down, RFC 3339: never earlier than it was last known to be up.

    Args:
        pod: its Pod; None without one, or where the Pod does not tell.
        before: its entry in the earlier status; empty without one.
        now: the present, RFC 3339.
    """
    recorded = str(before.get("lastTransition") or "")
    went_down = _went_down(pod, now)
    if before.get("phase") == "Down" and recorded:
        return went_down if pod is not None and _was_up_after(pod, recorded) else recorded
    return _within(recorded, went_down, now)


def _went_down(pod: Pod | None, now: str) -> str:
    """Return when a Pod ceased to be ready; the present where it does not tell.

    A Pod that is terminating is ready until its process ends: then its condition only tells when
    it became ready, which may be months ago.
    """
    ready = condition(pod or {}, "Ready")
    if pod is None or ready.get("status") != "False":
        return now
    created = str(pod["metadata"].get("creationTimestamp") or "")
    return _within(created, str(ready.get("lastTransitionTime") or now), now)


def _was_up_after(pod: Pod, moment: str) -> bool:
    """Return whether a Pod was ready at some time after a moment.

    The kubelet sets the condition first when it starts a Pod, and writes ``startTime`` then; a
    condition that became False later was True before.
    """
    ready = condition(pod, "Ready")
    changed = unix_time(ready.get("lastTransitionTime"))
    if changed <= unix_time(moment):
        return False
    started = unix_time((pod.get("status") or {}).get("startTime"))
    was_true = bool(started) and changed > started + _FIRST_CONDITION_SECONDS
    return ready.get("status") == "True" or (ready.get("status") == "False" and was_true)


def _within(earliest: str, moment: str, now: str) -> str:
    """Return a moment of another clock, but none before an earlier fact or after the present."""
    if earliest and unix_time(moment) < unix_time(earliest):
        moment = earliest
    return now if unix_time(moment) > unix_time(now) else moment


def natural_order(name: str) -> tuple[str, int, str]:
    """Order names so that ordinal 10 comes after 9."""
    stem, _dash, ordinal = name.rpartition("-")
    return (stem, int(ordinal), "") if ordinal.isdigit() else (name, -1, "")


_NO_PROBLEMS = PodProblems()


def unready(
    pods: Sequence[Pod], expected: Iterable[str], problems: PodProblems = _NO_PROBLEMS
) -> str:
    """Return which Pods are not ready, e.g. ``mo-log-1 (ContainerCreating)``; empty if all are.

    Args:
        pods: those that exist.
        expected: names of those that should.
        problems: what keeps them from existing or from starting.
    """
    live = {pod["metadata"]["name"]: pod for pod in pods}
    known = [problems.refusals] if problems.refusals else []
    parts = known + [
        f"{name} ({_told(live[name], problems) if name in live else 'not created yet'})"
        for name in sorted({*live, *expected} - set(problems.not_created), key=natural_order)
        if name not in live or not is_ready(live[name])
    ]
    return ", ".join(parts[:5]) + (f" and {len(parts) - 5} more" if len(parts) > 5 else "")


def _told(pod: Pod, problems: PodProblems) -> str:
    """Return what keeps a Pod from being ready, with what its volumes or its sandbox lack."""
    lack = problems.not_started.get(pod["metadata"]["name"])
    return f"{why(pod)}; {lack}" if lack else why(pod)


def why(pod: Pod) -> str:
    """Return in few words what keeps a Pod from being ready."""
    if pod["metadata"].get("deletionTimestamp"):
        return "Terminating"
    status = pod.get("status") or {}
    for container in _containers(pod):
        reason = _held_up(container)
        if reason:
            image = container.get("image") if reason in _OF_THE_IMAGE else None
            cause = _cause(container, reason)
            return f"{reason}{f' of {image}' if image else ''}{cause}{_last_end(container)}"
    scheduled = condition(pod, "PodScheduled")
    if scheduled.get("status") == "False":
        return f"{scheduled.get('reason')}: {scheduled.get('message')}"
    gates = closed_gates(pod)
    if gates and condition(pod, "ContainersReady").get("status") == "True":
        return f"readiness gate {', '.join(gates)} is not set"
    if status.get("phase") == "Running":
        return f"not ready yet{''.join(map(_last_end, _containers(pod)))}"
    return str(status.get("reason") or status.get("phase") or "Pending")


def closed_gates(pod: Pod) -> list[str]:
    """Return the conditions that a Pod waits for, besides its containers, and that do not hold."""
    gates = [gate["conditionType"] for gate in (pod.get("spec") or {}).get("readinessGates") or []]
    return [gate for gate in gates if condition(pod, gate).get("status") != "True"]


def _containers(pod: Pod) -> list[Mapping[str, Any]]:
    status = pod.get("status") or {}
    return [
        *(status.get("initContainerStatuses") or []),
        *(status.get("containerStatuses") or []),
    ]


def _held_up(container: Mapping[str, Any]) -> str:
    """Return the reason why a container does not run; empty if it does.

    One that ends again and again runs in between, and is pulled again in between: those moments are
    reported like the others, so that the message does not change with each of them.
    """
    waiting = (container.get("state") or {}).get("waiting") or {}
    reason = str(waiting.get("reason") or "")
    ended = (container.get("lastState") or {}).get("terminated")
    again = ended and int(container.get("restartCount") or 0) >= _RESTARTS
    if again and not container.get("started") and not reason:
        return "CrashLoopBackOff"
    return _SAME.get(reason, reason)


def _cause(container: Mapping[str, Any], reason: str) -> str:
    """Return what the kubelet says about a container that it cannot start.

    A pull that is tried again is reported in turns as the error and as a back-off that quotes it.
    """
    waiting = (container.get("state") or {}).get("waiting") or {}
    if reason not in _STUCK - _UNSTEADY:
        return ""
    text = " ".join(_BACK_OFF.sub("", str(waiting.get("message") or ""), count=1).split())
    cut = f"{text[:_LONGEST_CAUSE]}..." if len(text) > _LONGEST_CAUSE else text
    return f": {cut}" if cut else ""


def _last_end(container: Mapping[str, Any]) -> str:
    """Return how a container that does not serve ended last; empty if it did not end."""
    ends = ((container.get(name) or {}).get("terminated") for name in ("state", "lastState"))
    end = next((one for one in ends if one), None)
    if end is None or container.get("ready"):
        return ""
    reason = end.get("reason") or "Error"
    return f", {container.get('name')} ended with exit code {end.get('exitCode')} ({reason})"


_LATELY_SECONDS = 20.0


def became_unready_lately(pods: Iterable[Pod], now: str) -> bool:
    """Return whether a Pod that is not ready was created, or ceased to be ready, a moment ago.

    Args:
        pods: the Pods.
        now: the present, RFC 3339.
    """
    moment = datetime.fromisoformat(now)
    times = [
        str(time)
        for pod in pods
        if not is_ready(pod)
        for time in (
            pod["metadata"].get("creationTimestamp"),
            condition(pod, "Ready").get("lastTransitionTime"),
        )
        if time
    ]
    ages = ((moment - datetime.fromisoformat(time)).total_seconds() for time in times)
    return any(age < _LATELY_SECONDS for age in ages)


_BEGINNING_SECONDS = 300.0


def is_beginning(pod: Pod, now: str | None) -> bool:
    """Return whether a Pod runs for the first time, is not ready, and has begun lately.

    Args:
        pod: the Pod.
        now: the present, RFC 3339; nothing is known to have begun lately without it.
    """
    if pod["metadata"].get("deletionTimestamp") or is_ready(pod) or not now:
        return False
    for container in (pod.get("status") or {}).get("containerStatuses") or []:
        running = (container.get("state") or {}).get("running") or {}
        started, restarts = running.get("startedAt"), int(container.get("restartCount") or 0)
        if container.get("name") == names.CONTAINER_MAIN and started and not restarts:
            age = datetime.fromisoformat(now) - datetime.fromisoformat(started)
            return age.total_seconds() < _BEGINNING_SECONDS
    return False


def is_hopeless(pod: Pod) -> bool:
    """Return whether a Pod will not come up by itself: its image, its start, or no place for it."""
    if pod["metadata"].get("deletionTimestamp"):
        return False
    reasons = {_held_up(container) for container in _containers(pod)}
    return bool(reasons & _STUCK) or condition(pod, "PodScheduled").get("status") == "False"


def image_refusal(pod: Pod) -> str:
    """Return why the kubelet cannot pull an image of a Pod; empty if nothing is known of that."""
    reasons = {_held_up(container) for container in _containers(pod)}
    return min(reasons & _OF_THE_IMAGE, default="")


def stuck(pods: Iterable[Pod]) -> str:
    """Name the Pods that will not come up by themselves, and why; empty if there are none."""
    found = [
        f"{pod['metadata']['name']} ({why(pod)})"
        for pod in pods
        if is_hopeless(pod) and {_held_up(container) for container in _containers(pod)} & _STUCK
    ]
    return ", ".join(found[:5]) + (f" and {len(found) - 5} more" if len(found) > 5 else "")


def staying(pods: Iterable[Pod]) -> list[Pod]:
    """Return the Pods that are not being deleted; all of them if none stays.

    The numbers of a workload leave Pods that are being deleted out, and so must what is reported
    beside them: a set that is synced would otherwise show the version that it had before.
    """
    listed = list(pods)
    return [pod for pod in listed if not pod["metadata"].get("deletionTimestamp")] or listed


def running_version(pods: Iterable[Pod]) -> str:
    """Return the lowest version of MatrixOne among the Pods; an image tag where none is known.

    Args:
        pods: of a set; those that are being deleted count only if no other is there.

    Returns:
        Text such as ``1.3.0``; empty if there are no Pods or their image has no tag.
    """
    found: list[tuple[versions.Version, str]] = []
    tags: list[str] = []
    for pod in staying(pods):
        annotations = pod["metadata"].get("annotations") or {}
        text = str(annotations.get(names.ANNOTATION_SEMANTIC_VERSION) or "")
        parsed = versions.parse(text)
        if parsed is not None:
            found.append((parsed, text))
        else:
            tags += [versions.image_tag(image.partition("@")[0]) for image in _images(pod)]
    if found:
        return min(found, key=lambda pair: pair[0].numbers)[1]
    return min((tag for tag in tags if tag), default="")


def _images(pod: Pod) -> list[str]:
    containers = (pod.get("spec") or {}).get("containers") or []
    return [
        str(container["image"])
        for container in containers
        if container.get("name") == names.CONTAINER_MAIN and container.get("image")
    ]
