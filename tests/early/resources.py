# SPDX-License-Identifier: Apache-2.0
"""A small MatrixoneCluster for tests, to be changed field by field."""

import copy
from typing import Any

import yaml

from tests.support.places import ROOT

Json = dict[str, Any]

SAMPLE = ROOT / "examples" / "early" / "tiny-cluster.yaml"
OLD_IMAGE = "matrixorigin/matrixone:0.4.0"
KIND = "matrixoneclusters.matrixone.matrixorigin.cn"
ANNOTATION = "matrixone.matrixorigin.cn"
DELETE = object()


def early(
    name: str = "mo", namespace: str = "prod", annotations: Json | None = None, **spec: Any
) -> Json:
    """Return the sample with changes to its spec; DELETE takes a field away."""
    resource: Json = copy.deepcopy(yaml.safe_load(SAMPLE.read_text()))
    resource["metadata"] = {"name": name, "namespace": namespace}
    if annotations:
        prefixed = {f"{ANNOTATION}/{key}": value for key, value in annotations.items()}
        resource["metadata"]["annotations"] = prefixed
    for field, value in spec.items():
        if value is DELETE:
            resource["spec"].pop(field, None)
        else:
            resource["spec"][field] = value
    return resource
