# SPDX-License-Identifier: Apache-2.0
"""A Pod that writes to the shared folder of a LogSet, and what its readiness tells.

Nothing else can tell whether the folder can be written: the operator does not mount it, and the
database writes to it only for large inserts and checkpoints. One process writes, so that a folder
that hangs holds up one and not a new one every few seconds; the probe reads when it last could.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import Any, Final

from ..api import names, versions
from ..api.pods import is_ready, main_process
from ..api.storage_answer import StorageAnswer
from ..api.timestamps import unix_time
from ..api.types import Manifest, Resource
from ..workload.containers import container_security, value_env
from ..workload.helper_resources import helper_resources
from ..workload.sets import SetContext

Json = dict[str, Any]

FILE: Final = ".storage-check"
"""MatrixOne passes over names that begin with a dot when it lists a folder."""
_SETTLING_SECONDS: Final = 20.0
"""A container that has run for so long had the time to write, and the probe to see it."""
_NOTING: Final = "date +%s >writing && mv writing written"
_NOTING_BEFORE: Final = "date +%s >written"
"""Of operatorVersion below 1.4.0: the probe may read the file while it is empty."""
_WRITING: Final = """\
trap 'exit 0' TERM
cd %(folder)s
file=$FOLDER/%(file)s
while :; do
  if said=$(dd if=/dev/zero of="$file" bs=4096 count=1 conv=fsync 2>&1 && rm "$file" 2>&1); then
    %(noting)s
    if [ -e refused ]; then echo "$FOLDER can be written again"; rm refused; fi
  else
    if [ ! -e refused ]; then echo "$FOLDER cannot be written: $said"; fi
    touch refused
    rm -f written "$file"
  fi
  sleep 3 &
  wait $!
done
"""
_HAS_WRITTEN: Final = f"""\
[ -s {names.TEMP_MOUNT}/written ] && [ $(($(date +%s) - $(cat {names.TEMP_MOUNT}/written))) -le 8 ]
"""
_RESOURCES: Final = {
    "requests": {"cpu": "10m", "memory": "16Mi"},
    "limits": {"cpu": "100m", "memory": "64Mi"},
}
_WITHOUT_CPU_LIMIT: Final = {
    "requests": {"cpu": "10m", "memory": "16Mi"},
    "limits": {"memory": "64Mi"},
}
_OF_POD: Final = (
    "nodeSelector",
    "tolerations",
    "imagePullSecrets",
    "priorityClassName",
    "runtimeClassName",
    "securityContext",
)
"""What of the log stores' Pods decides where a Pod may run, and as whom."""
_OF_CONTAINER: Final = ("image", "imagePullPolicy")
_OF_ONE_POD: Final = {"emptyDir", "ephemeral"}


def folder_check(context: SetContext, template: Mapping[str, Any], folder: str) -> list[Manifest]:
    """Return the Deployment that writes to the shared folder; none where no volume is mounted.

    Args:
        context: the LogSet.
        template: the Pod template of its log stores.
        folder: path of the shared folder in their Pods.
    """
    found = _mounted(template["spec"], folder)
    if found is None:
        return []
    labels = check_labels(context.owner)
    body = {
        "replicas": 0 if context.spec.number("replicas") == 0 else 1,
        "revisionHistoryLimit": 1,
        "selector": {"matchLabels": labels},
        "strategy": {"type": "Recreate"},
        "template": {
            "metadata": {"labels": labels},
            "spec": _pod(context, template["spec"], folder, *found),
        },
    }
    name = names.storage_check_name(context.base)
    return [context.manifest("apps/v1", "Deployment", name, {"spec": body})]


def _pod(
    context: SetContext, stores: Mapping[str, Any], folder: str, mount: Json, volume: Json
) -> Json:
    """Return the spec of the Pod, of which much is that of the log stores' Pods."""
    temporary = {"medium": "Memory", "sizeLimit": "1Mi"}
    pod = {
        **{field: stores[field] for field in _OF_POD if field in stores},
        "affinity": _affinity(stores, context.selector),
        "automountServiceAccountToken": False,
        "containers": [_container(context, stores["containers"][0], folder, mount)],
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": 5,
        "volumes": [volume, {"name": names.VOLUME_TEMP, "emptyDir": temporary}],
    }
    return copy.deepcopy(pod)


def _container(context: SetContext, store: Mapping[str, Any], folder: str, mount: Json) -> Json:
    return {
        "name": names.CONTAINER_MAIN,
        **{field: store[field] for field in _OF_CONTAINER if field in store},
        "command": ["/bin/sh", "-c", _writing(context)],
        "env": [value_env("FOLDER", folder)],
        "readinessProbe": {
            "exec": {"command": ["/bin/sh", "-c", _HAS_WRITTEN]},
            "periodSeconds": 4,
            "timeoutSeconds": 3,
            "failureThreshold": 2,
        },
        **helper_resources(context, _RESOURCES, _WITHOUT_CPU_LIMIT),
        "securityContext": container_security(),
        "volumeMounts": [mount, {"name": names.VOLUME_TEMP, "mountPath": names.TEMP_MOUNT}],
    }


def _writing(context: SetContext) -> str:
    renames = versions.operator_does(context.operator, "StorageCheckRenames")
    noting = _NOTING if renames else _NOTING_BEFORE
    return _WRITING % {"folder": names.TEMP_MOUNT, "file": FILE, "noting": noting}


def check_labels(owner: str) -> dict[str, str]:
    """Return the labels of the Pod; it takes no part in the database, so it has none of a set."""
    return {
        "app.kubernetes.io/name": names.PART_OF,
        "app.kubernetes.io/instance": owner,
        "app.kubernetes.io/component": "storage-check",
        "app.kubernetes.io/managed-by": names.MANAGED_BY,
    }


def reference(resource: Resource) -> Json:
    """Refer to the Pod of a LogSet."""
    metadata = resource["metadata"]
    return {
        "api_version": "v1",
        "kind": "Pod",
        "namespace": metadata["namespace"],
        "labels": check_labels(metadata["name"]),
    }


def answer_of(pods: Iterable[Mapping[str, Any]], now: float) -> StorageAnswer | None:
    """Return whether the shared folder can be written; None where no Pod could tell.

    The status of a Pod on a node that is lost is as it was last; it is not Ready, but its container
    still is, and tells nothing.

    Args:
        pods: those of `reference`.
        now: the present, Unix time.
    """
    present = [pod for pod in pods if not pod["metadata"].get("deletionTimestamp")]
    if any(map(is_ready, present)):
        return StorageAnswer.WRITABLE
    if any(_is_refused(pod, now) for pod in present):
        return StorageAnswer.REFUSED
    return None


def _is_refused(pod: Mapping[str, Any], now: float) -> bool:
    started = main_process(pod)
    statuses = (pod.get("status") or {}).get("containerStatuses") or []
    is_unready = any(status.get("ready") is False for status in statuses)
    return bool(started) and is_unready and unix_time(started) + _SETTLING_SECONDS <= now


def _mounted(stores: Mapping[str, Any], folder: str) -> tuple[Json, Json] | None:
    """Return the mount and the volume that have a folder; None where that is no shared volume.

    The mount is at its path, or the nearest one above.
    """
    path = PurePosixPath(folder)
    mounts = stores["containers"][0]["volumeMounts"]
    above = [one for one in mounts if path.is_relative_to(one["mountPath"])]
    if not above:
        return None
    mount = max(above, key=lambda one: len(PurePosixPath(one["mountPath"]).parts))
    for volume in stores["volumes"]:
        if volume["name"] == mount["name"] and not _OF_ONE_POD & set(volume):
            return mount, volume
    return None


def _affinity(stores: Mapping[str, Any], selector: Mapping[str, str]) -> Json:
    """Prefer the node of a log store, since volumes may be attached to one node only."""
    term = {
        "labelSelector": {"matchLabels": dict(selector)},
        "topologyKey": "kubernetes.io/hostname",
    }
    preferred = [{"weight": 100, "podAffinityTerm": term}]
    beside = {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    nodes = (stores.get("affinity") or {}).get("nodeAffinity")
    return {"nodeAffinity": nodes, **beside} if nodes else beside
