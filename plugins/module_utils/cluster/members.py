# SPDX-License-Identifier: Apache-2.0
"""The Pods of databases as hosts of an Ansible inventory: names, groups, variables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..api import names
from ..api.pods import is_ready

EVERYTHING = "matrixone"
"""The group of all hosts."""


@dataclass(frozen=True, slots=True)
class Member:
    """One Pod of a database.

    Attributes:
        host: ``<pod>.<namespace>``; no two Pods of a Kubernetes cluster share it.
        groups: names of its groups, not yet valid names for Ansible.
        variables: host variables.
    """

    host: str
    groups: tuple[str, ...]
    variables: Mapping[str, Any]


def members(pods: Iterable[Mapping[str, Any]]) -> list[Member]:
    """Return the members among the Pods, in the order of their host names.

    Args:
        pods: Pods that carry the labels of a set; others, and those that are finished, are left
            out.
    """
    found = [_member(pod) for pod in pods if _takes_part(pod)]
    return sorted(found, key=lambda member: member.host)


def _takes_part(pod: Mapping[str, Any]) -> bool:
    labels = pod["metadata"].get("labels") or {}
    finished = (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
    return names.LABEL_COMPONENT in labels and not finished


def _member(pod: Mapping[str, Any]) -> Member:
    metadata = pod["metadata"]
    status = pod.get("status") or {}
    labels = metadata["labels"]
    namespace, component = metadata["namespace"], labels[names.LABEL_COMPONENT]
    owner, cluster = labels.get(names.LABEL_INSTANCE, ""), labels.get(names.LABEL_CLUSTER, "")
    variables = {
        "ansible_connection": "kubernetes.core.kubectl",
        "ansible_kubectl_pod": metadata["name"],
        "ansible_kubectl_namespace": namespace,
        "ansible_kubectl_container": _container(pod),
        "matrixone_namespace": namespace,
        "matrixone_pod": metadata["name"],
        "matrixone_component": component,
        "matrixone_set": owner,
        "matrixone_cluster": cluster,
        "matrixone_ready": is_ready(pod),
        "matrixone_phase": status.get("phase", "Unknown"),
        "matrixone_ip": status.get("podIP", ""),
        "matrixone_node": pod["spec"].get("nodeName", ""),
        "matrixone_image": _image(pod),
        "matrixone_labels": dict(labels),
    }
    groups = [EVERYTHING, component.lower(), f"set_{namespace}_{component.lower()}_{owner}"]
    if cluster:
        groups.append(f"cluster_{namespace}_{cluster}")
    return Member(f"{metadata['name']}.{namespace}", tuple(groups), variables)


def _main(pod: Mapping[str, Any]) -> Mapping[str, Any]:
    containers: list[Mapping[str, Any]] = pod["spec"]["containers"]
    return next(
        (each for each in containers if each["name"] == names.CONTAINER_MAIN), containers[0]
    )


def _container(pod: Mapping[str, Any]) -> str:
    return str(_main(pod)["name"])


def _image(pod: Mapping[str, Any]) -> str:
    return str(_main(pod).get("image", ""))
