# SPDX-License-Identifier: Apache-2.0
"""An operator under test has the rights that it has when it is deployed, and no others."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from deploy.generate.rights import Scope, read
from deploy.generate.roles import NAME, granted
from testbed.bed import TestBed


def account(
    bed: TestBed, namespace: str, path: Path, *, everywhere: bool = False, shards: bool = False
) -> Path:
    """Make the operator's ServiceAccount in a namespace and write a kubeconfig for it.

    Args:
        bed: the test bed.
        namespace: where the operator is said to live.
        path: the kubeconfig.
        everywhere: whether it looks after all namespaces, instead of this one.
        shards: whether it shares the objects with others of its kind.
    """
    rights = read()
    kind = "ClusterRole" if everywhere else "Role"
    manifests = [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": NAME}},
        *granted("Role", rights, Scope.OWN, suffix="-own"),
        *granted(kind, rights, Scope.WATCHED),
    ]
    if shards:
        manifests += granted("Role", rights, Scope.OWN, "shards")
    if everywhere:
        for part in dict.fromkeys(right.part for right in rights):
            manifests += granted("ClusterRole", rights, Scope.CLUSTER, part)
        manifests += granted("Role", rights, Scope.OWN, "admission")
    listed = {"apiVersion": "v1", "kind": "List", "items": list(_placed(manifests, namespace))}
    bed.kubectl("-n", namespace, "apply", "--server-side", "-f", "-", input=json.dumps(listed))
    return bed.account(namespace, NAME, path)


def _placed(manifests: Iterable[dict[str, Any]], namespace: str) -> Iterable[dict[str, Any]]:
    for manifest in manifests:
        metadata = dict(manifest["metadata"])
        if manifest["kind"] == "ClusterRoleBinding":  # another test's operator may be at work
            metadata["name"] += f"-{namespace}"
        subjects = [{**one, "namespace": namespace} for one in manifest.get("subjects", [])]
        yield {**manifest, "metadata": metadata, **({"subjects": subjects} if subjects else {})}


def refusals(log: Path) -> list[str]:
    """Lines of an operator's log that tell of a missing right."""
    # Quotas and admission say "forbidden", too, but name no user.
    return [line for line in log.read_text().splitlines() if "orbidden: User" in line]
