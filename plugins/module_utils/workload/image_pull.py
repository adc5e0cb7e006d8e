# SPDX-License-Identifier: Apache-2.0
"""The Job that pulls an image onto a node before a Pod there is replaced by one of that image.

A Pod of a StatefulSet is deleted before its successor exists. Without this, an image that cannot be
pulled, such as that of a misspelt version, takes a store that serves away, and a large one keeps
the database without its transaction node for as long as the pull takes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..api import digests as digest
from ..api.jobs import end_of
from ..api.pods import is_ready
from ..api.timestamps import unix_time
from ..api.types import Manifest
from ..reporting.pods import image_refusal, why
from .containers import container_security, pod_security

Json = Mapping[str, Any]
Pod = Mapping[str, Any]

LABEL: Final = "matrixorigin.io/image-pull"
"""Label of the Job and its Pod; its value is the name of the StatefulSet."""
_DEADLINE_SECONDS: Final = 900
_LATE: Final = f"not done within {_DEADLINE_SECONDS // 60} minutes"
_KEPT_SECONDS: Final = 60
_NO_POD_SECONDS: Final = 20.0
"""How long a Job may have no Pod before that is known to stay so, as under a quota."""
_NOT_PULLED: Final = frozenset({None, "", "ContainerCreating", "PodInitializing"})
"""Reasons of a container that waits and may be waiting for its image."""
_LONGEST_BASE: Final = 50
_RESOURCES: Final = {
    "requests": {"cpu": "10m", "memory": "16Mi"},
    "limits": {"cpu": "100m", "memory": "64Mi"},
}
_COPIED: Final = (
    "imagePullSecrets",
    "priorityClassName",
    "runtimeClassName",
    "securityContext",
    "serviceAccountName",
    "tolerations",
)
"""Fields of the Pod's template on which it depends whether a node may pull, and run, the image."""


@dataclass(frozen=True, slots=True)
class ImagePull:
    """Images that a node lacks for the Pod that is replaced next.

    Attributes:
        pod: name of that Pod.
        node: name of its node.
        images: of the containers of the latest template.
    """

    pod: str
    node: str
    images: tuple[str, ...]

    @property
    def title(self) -> str:
        """What is under way, for messages."""
        return f"node {self.node} to pull {', '.join(self.images)} before {self.pod} is replaced"


@dataclass(frozen=True, slots=True)
class PullState:
    """How far a pull is.

    Attributes:
        is_over: the images are there, or nobody can tell before the Pod is replaced.
        fault: why they cannot be pulled; empty while nothing is known to be wrong.
    """

    is_over: bool = False
    fault: str = ""


def needed_pull(workload: Json, pod: Pod, pods: Iterable[Pod]) -> ImagePull | None:
    """Return what is to be pulled before a Pod is deleted; None if nothing is lost without it.

    Args:
        workload: the live StatefulSet.
        pod: the Pod; one that does not serve is deleted at once.
        pods: all Pods of the set: an image that runs on the same node is there already.
    """
    node = str((pod.get("spec") or {}).get("nodeName") or "")
    if not node or not is_ready(pod):
        return None
    beside = [one for one in pods if (one.get("spec") or {}).get("nodeName") == node]
    there = {image for one in beside if is_ready(one) for image in _images(one["spec"])}
    lacking = tuple(sorted(_images(workload["spec"]["template"]["spec"]) - there))
    return ImagePull(pod["metadata"]["name"], node, lacking) if lacking else None


def _images(spec: Json) -> set[str]:
    """Return the images of a Pod or a template."""
    containers = [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]
    return {str(one["image"]) for one in containers if one.get("image")}


def job_of(workload: Json, pull: ImagePull, resources: Json | None) -> Manifest:
    """Return the Job that pulls the images; it removes itself a minute after its end.

    Args:
        workload: the live StatefulSet.
        pull: what is to be pulled.
        resources: requests and limits that its containers have instead of small ones.
    """
    metadata, template = workload["metadata"], workload["spec"]["template"]["spec"]
    base = str(metadata["name"])[:_LONGEST_BASE]
    key = digest.digest7("\n".join((pull.pod, pull.node, *pull.images)))
    labels = {LABEL: str(metadata["name"])}
    policies = {
        one["image"]: one.get("imagePullPolicy", "IfNotPresent")
        for one in (*(template.get("initContainers") or ()), *template["containers"])
        if one.get("image")
    }
    containers = [
        {
            "name": f"image-{number}",
            "image": image,
            "imagePullPolicy": policies[image],
            # Whether there is a shell in the image does not matter: it has been pulled by then.
            "command": ["/bin/sh", "-c", "exit 0"],
            "resources": dict(resources or _RESOURCES),
            "securityContext": container_security(),
        }
        for number, image in enumerate(pull.images)
    ]
    pod = {
        "restartPolicy": "Never",
        "nodeName": pull.node,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": 0,
        "securityContext": pod_security(),
        **{name: template[name] for name in _COPIED if name in template},
        "containers": containers,
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": f"{base}-pull-{key}",
            "namespace": metadata["namespace"],
            "labels": labels,
        },
        "spec": {
            "backoffLimit": 0,
            "activeDeadlineSeconds": _DEADLINE_SECONDS,
            "ttlSecondsAfterFinished": _KEPT_SECONDS,
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


def pull_state_of(job: Json, pods: Sequence[Pod], now: float) -> PullState:
    """Return how far a pull is.

    A Job whose Pod does not exist, or was refused by the node, says nothing of the image: then the
    roll goes on as it would without this.

    Args:
        job: the live Job.
        pods: its Pods.
        now: the present, Unix time.
    """
    ended = end_of(job)
    if ended is not None:
        is_late = ended.get("reason") == "DeadlineExceeded"
        return PullState(fault=_LATE) if is_late else PullState(is_over=True)
    if not pods:
        age = now - unix_time(job["metadata"].get("creationTimestamp"))
        return PullState(is_over=age > _NO_POD_SECONDS)
    pod = pods[-1]
    if image_refusal(pod):
        return PullState(fault=why(pod))
    is_failed = (pod.get("status") or {}).get("phase") == "Failed"
    return PullState(is_over=is_failed or _has_images(pod))


def _has_images(pod: Pod) -> bool:
    """Return whether the kubelet came further than pulling with each container."""
    statuses = (pod.get("status") or {}).get("containerStatuses") or []
    return bool(statuses) and all(map(_has_image, statuses))


def _has_image(container: Json) -> bool:
    reason = ((container.get("state") or {}).get("waiting") or {}).get("reason")
    return bool(container.get("imageID")) or reason not in _NOT_PULLED
