# SPDX-License-Identifier: Apache-2.0
"""Where the objects of a resource's tasks are: what to observe, and what to delete at its end."""

from __future__ import annotations

from typing import Any

from ..api.types import Resource
from ..workload.component import Reference
from ..workload.references import POD_PROBLEMS, by_name, pod_problems
from ..workload.removal import Chosen, Removal
from . import jobs


def task_references(resource: Resource, namespace: str, base: str) -> dict[str, Reference]:
    """Return the references ``job``, ``task``, ``result``, ``pods`` and ``podProblems`` of a task.

    Args:
        resource: whose task it is; objects of others do not count.
        namespace: of the objects.
        base: name of the Job.
    """
    labels = jobs.selector(resource, namespace)
    owner = {"labels": labels, "owner_uid": resource["metadata"].get("uid") or ""}

    def one(api_version: str, kind: str, name: str, **more: Any) -> Reference:
        place = {"namespace": namespace, "name": name}
        return {**by_name(api_version, kind, place), **owner, **more}

    return {
        "job": one("batch/v1", "Job", base),
        "task": one("v1", "ConfigMap", jobs.task_name(base), data=True),
        "result": one("v1", "ConfigMap", jobs.result_name(base), data=True),
        "pods": {"api_version": "v1", "kind": "Pod", "namespace": namespace, "labels": labels},
        POD_PROBLEMS: pod_problems("job"),
    }


def removal_of_task(resource: Resource, namespace: str) -> Removal:
    """Return the step that deletes what belongs to a resource's tasks, and waits for the Pods."""
    labels = jobs.selector(resource, namespace)
    owner = resource["metadata"].get("uid") or ""
    return Removal(
        title=f"the Job of {resource['metadata']['name']}",
        prune=Chosen(
            kinds=[
                {"api_version": "batch/v1", "kind": "Job"},
                {"api_version": "v1", "kind": "ConfigMap"},
            ],
            namespace=namespace,
            labels=labels,
            owner_uid=owner,
            unowned=not owner,
        ),
        gone=Chosen(
            kinds=[{"api_version": "v1", "kind": "Pod"}], namespace=namespace, labels=labels
        ),
    )
