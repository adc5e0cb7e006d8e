# SPDX-License-Identifier: Apache-2.0
"""What is compared of two namespaces in which the same was done."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from faults.checks import differences, without_times
from testbed.api import ApiError
from tests.support.api import Api

Json = dict[str, Any]
State = Mapping[str, Json]
_OWN = frozenset(
    {"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink"}
)
_TIMES = frozenset(
    {
        "lastTransitionTime", "lastTransition", "lastProbeTime", "lastUpdateTime", "startTime",
        "startedAt", "since", "observedGeneration", "boundTime", "rotatedAt", "uuid",
        "ansibleResult",
        # Where a Pod happens to be, and a hash of manifests that name the namespace.
        "nodeName", "queryAddress", "sqlAddress", "matrixoneOpResourceHash",
    }
)  # fmt: skip
_OF_SYSTEM = ("kube-root-ca.crt",)
_BOOKKEEPING = frozenset({"StatefulSet", "Deployment", "PersistentVolumeClaim", "Job"})
"""Their status is that of Kubernetes' controllers; what is compared of them is what was asked."""
_DRAWN_LABEL = "claim.matrixorigin.io/instance-id"
"""Of a claim of a set: the end of its name."""
_REVISION = "deployment.kubernetes.io/revision"
_UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z|\b\d{8}T\d{6}Z\b")
"""Of fields, and of the folders of backups."""
_REVISION_OF_POOL = re.compile(r"\b[bcdfghjklmnpqrstvwxz2456789]{9}\b")
"""A digest of a pool's template and its surroundings: HAKeeper has another address each time."""
_POD = re.compile(r"(-[0-9a-f]{8,10})?-[bcdfghjklmnpqrstvwxz2456789]{5}\b")
"""What Kubernetes draws for the names of Pods of Deployments and Jobs."""
_DIGEST = re.compile(r"\b(?=[0-9a-z]*\d)[0-9a-f]{7,64}\b")


def state(api: Api, namespace: str, kinds: Iterable[str]) -> dict[str, Json]:
    """Return all objects of these kinds, without what differs from run to run.

    Objects whose names are drawn, or are digests, are numbered in the order of what they have.
    """
    same: dict[str, list[Json]] = {}
    for one in _listed(api, namespace, kinds):
        same.setdefault(_shown_name(one, namespace), []).append(_comparable(one, namespace))
    return {
        name if number == 1 else f"{name}#{number}": one
        for name, ones in same.items()
        for number, one in enumerate(sorted(ones, key=_content), 1)
    }


def _shown_name(found: Json, namespace: str) -> str:
    return f"{found['kind']}/{_named(found['metadata']['name'], namespace)}"


def _content(found: Json) -> str:
    return json.dumps(found, sort_keys=True)


def identities(api: Api, namespace: str, kinds: Iterable[str]) -> dict[str, str]:
    """Return the uids of all objects whose names are not drawn."""
    return {
        f"{one['kind']}/{one['metadata']['name']}": one["metadata"]["uid"]
        for one in _listed(api, namespace, kinds)
        if not _POD.search(one["metadata"]["name"])
    }


def _listed(api: Api, namespace: str, kinds: Iterable[str]) -> list[Json]:
    """Return the objects in a namespace, and those without one that name it."""
    return [
        one
        for one in api.listed(",".join(kinds), namespace)
        if one["metadata"]["name"] not in _OF_SYSTEM
        and ("namespace" in one["metadata"] or namespace in str(one))
    ]


def release(api: Api, namespace: str, kinds: Iterable[str]) -> None:
    """Remove what has no namespace and belongs to one, though nobody removes its finalizers."""
    for one in _listed(api, namespace, kinds):
        kind, name = one["kind"].lower(), one["metadata"]["name"]
        if "namespace" not in one["metadata"]:
            with suppress(ApiError):  # it may be gone since it was listed
                api.merge(kind, "", name, {"metadata": {"finalizers": None}})
                api.request("DELETE", api.path(kind, "", name))


def replaced(before: Mapping[str, str], after: Mapping[str, str]) -> frozenset[str]:
    """Return the objects that are others under the same names."""
    return frozenset(name for name in before if after.get(name, before[name]) != before[name])


def _comparable(found: Json, namespace: str) -> Json:
    metadata = {name: one for name, one in found["metadata"].items() if name not in _OWN}
    annotations = {
        name: one for name, one in metadata.pop("annotations", {}).items() if name != _REVISION
    }
    result: Json = {**found, "metadata": metadata}
    labels = metadata.get("labels", {})
    metadata["labels"] = {name: one for name, one in labels.items() if name != _DRAWN_LABEL}
    if annotations:
        metadata["annotations"] = annotations
    kind = found["kind"]
    if kind == "Secret":
        # Passwords are drawn, and their version is that of the Secret.
        result.pop("data", None)
        metadata.pop("annotations", None)
    if kind in _BOOKKEEPING:
        result.pop("status", None)
    if kind == "Pod":
        result = _of_pod(found)
    if kind == "Service":
        result["spec"] = {
            name: one
            for name, one in found["spec"].items()
            if name not in {"clusterIP", "clusterIPs", "healthCheckNodePort"}
        }
    if kind == "PersistentVolumeClaim":
        result["spec"] = {k: v for k, v in found["spec"].items() if k != "volumeName"}
        metadata.pop("annotations", None)
    return without_times(result, _TIMES, lambda text: _named(text, namespace))


def _of_pod(found: Json) -> Json:
    """Return what the operator decides of a Pod; the rest is Kubernetes' affair."""
    return {
        "images": [one["image"] for one in found["spec"]["containers"]],
        "phase": found.get("status", {}).get("phase"),
        "ends": "deletionTimestamp" in found["metadata"],
    }


def _named(text: str, namespace: str) -> str:
    text = text.replace(namespace, "<namespace>")
    for pattern, shown in (
        (_UID, "<uid>"), (_TIME, "<time>"), (_POD, "-<pod>"), (_REVISION_OF_POOL, "<revision>"),
        (_DIGEST, "<digest>"),
    ):  # fmt: skip
        text = pattern.sub(shown, text)
    return text


def compared(expected: State, found: State) -> str:
    """Return how a state differs from the expected one, in a few lines; nothing if it does not."""
    lines = differences(expected, found)
    more = f"\n  and {len(lines) - 8} more" if len(lines) > 8 else ""
    return "\n  ".join(lines[:8]) + more
