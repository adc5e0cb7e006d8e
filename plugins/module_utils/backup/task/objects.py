# SPDX-License-Identifier: Apache-2.0
"""Where the objects of a resource's tasks are: what to observe, and what to delete at its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ...api.types import Resource
from ...workload.component import Reference
from ...workload.plans import Kind
from ...workload.references import POD_PROBLEMS, by_name, pod_problems
from ...workload.removal import Chosen, Removal
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


def secret_references(namespace: str, secrets: Mapping[str, str]) -> dict[str, Reference]:
    """Return the references to the Secrets that a task needs.

    Args:
        namespace: of the Secrets.
        secrets: their names by the labels of the references.
    """
    return {
        label: by_name("v1", "Secret", {"namespace": namespace, "name": name})
        for label, name in secrets.items()
    }


_JOB: Final[Kind] = {"api_version": "batch/v1", "kind": "Job"}
_CONFIG_MAP: Final[Kind] = {"api_version": "v1", "kind": "ConfigMap"}


def removal_of_task(
    resource: Resource, namespace: str, kinds: Sequence[Kind] = (_JOB, _CONFIG_MAP)
) -> Removal:
    """Return the step that deletes what belongs to a resource's tasks, and waits for the Pods.

    Args:
        resource: whose tasks they are.
        namespace: of the objects.
        kinds: which of them.
    """
    labels = jobs.selector(resource, namespace)
    owner = resource["metadata"].get("uid") or ""
    return Removal(
        title=f"the Job of {resource['metadata']['name']}",
        prune=Chosen(
            kinds=kinds,
            namespace=namespace,
            labels=labels,
            owner_uid=owner,
            unowned=not owner,
        ),
        gone=Chosen(
            kinds=[{"api_version": "v1", "kind": "Pod"}], namespace=namespace, labels=labels
        ),
    )


def removals_with_result(resource: Resource, namespace: str) -> list[Removal]:
    """Return the step that ends the Job of a resource, and the one that deletes what it reported.

    Between the two is the last chance to read that.
    """
    return [removal_of_task(resource, namespace, [kind]) for kind in (_JOB, _CONFIG_MAP)]
