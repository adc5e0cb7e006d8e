# SPDX-License-Identifier: Apache-2.0
"""A namespace with clusters that nobody operates, on an API server."""

import json
from typing import Any

import yaml

from testbed.bed import TestBed
from tests.support.places import ROOT

Json = dict[str, Any]


class Space:
    """A namespace with clusters that nobody operates."""

    def __init__(self, bed: TestBed, namespace: str) -> None:
        self.bed, self.name = bed, namespace

    def kubectl(self, *arguments: str, given: str = "") -> str:
        return self.bed.kubectl("-n", self.name, *arguments, input=given or None)

    def apply(self, one: Json, status: Json | None = None) -> None:
        self.kubectl("apply", "-f", "-", given=json.dumps(one))
        if status is not None:
            kind = f"{one['kind']}.{one['apiVersion'].partition('/')[0]}"
            self.kubectl(
                *("patch", kind, one["metadata"]["name"], "--subresource=status"),
                *("--type=merge", "-p", json.dumps({"status": status})),
            )

    def get(self, kind: str, name: str) -> Json:
        found: Json = json.loads(self.kubectl("get", kind, name, "-o", "json"))
        return found

    def annotations(self, kind: str, name: str) -> Json:
        return self.get(kind, name)["metadata"].get("annotations") or {}


def tiny_cluster(name: str) -> Json:
    resource: Json = yaml.safe_load((ROOT / "examples" / "tiny-cluster.yaml").read_text())
    resource["metadata"] = {"name": name}
    return resource


def tiny_pod(name: str, labels: Json) -> Json:
    container = {"name": "main", "image": "matrixorigin/matrixone:3.0.18"}
    metadata = {"name": name, "labels": labels}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": [container]},
    }
