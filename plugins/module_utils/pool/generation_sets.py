# SPDX-License-Identifier: Apache-2.0
"""The CNSet of a pool's template.

It renders what the Pods of a generation need: configuration, Services, network policy, and a
Deployment without replicas whose template the Pods are created from. Its name has a digest of
whatever changes them, so that another template is another CNSet and a former one the same.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

from ..api import names
from ..api.types import Manifest, Resource

LABEL_MANAGED_BY: Final = "matrixorigin.io/managed-by"
LABEL_OWNER_UID: Final = "matrixorigin.io/owner-uid"
LABEL_REVISION: Final = "controller-revision-hash"

SET_BY_POOL: Final = frozenset(
    {
        "replicas",
        "cnLabels",
        "serviceType",
        "serviceAnnotations",
        "nodePort",
        "externalTrafficPolicy",
        "loadBalancerClass",
        "loadBalancerSourceRanges",
        "updateStrategy",
        "minReadySeconds",
        "podsToDelete",
        "pauseUpdate",
        "terminationPolicy",
    }
)
"""Fields of a CNSet that mean nothing to Pods that a pool creates and deletes."""
DEFAULTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "template": {
        "exportToPrometheus": False,
        "promDiscoveryScheme": "Service",
        "networkPolicy": {"enabled": True},
        "scalingConfig": {"minDelaySeconds": 15},
        "pythonUdfSidecar": {
            "enabled": False,
            "port": 50051,
            "image": "composer000/mo-python-udf-server:latest",
        },
        "reusePVC": False,
    },
    "deps": {"externalLogSet": {"sharedStorage": {"s3": {"type": "aws"}}}},
}
"""Defaults of the CRD, which are no part of the digest.

The API server adds a default of a newer CRD to pools that are there already. If it changed their
digest, an upgrade of the operator would replace all idle Pods and outdate all claims.
"""
_DIGEST_LENGTH: Final = 9
# Letters that spell no words, as in the names of ReplicaSets.
_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"


def generation_set(pool: Resource) -> Manifest:
    """Return the CNSet of a pool's present template."""
    metadata, spec = pool["metadata"], pool["spec"]
    rendered = generation_spec(spec.get("template") or {})
    deps = spec.get("deps") or {}
    told = {
        "spec": without_defaults(rendered, DEFAULTS["template"]),
        "deps": without_defaults(deps, DEFAULTS["deps"]),
        "labels": spec.get("podLabels") or {},
    }
    revision = _digest(told)
    labels = {
        LABEL_MANAGED_BY: f"CNPool-{metadata['name']}",
        LABEL_OWNER_UID: str(metadata.get("uid") or ""),
        LABEL_REVISION: revision,
    }
    place = {"name": f"{metadata['name']}-{revision}", "namespace": metadata["namespace"]}
    return {
        "apiVersion": names.API_VERSION,
        "kind": names.CN_SET,
        "metadata": {**place, "labels": labels},
        "spec": {**rendered, "replicas": 0},
        "deps": dict(deps),
    }


def without_defaults(found: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return what differs from defaults."""
    kept: dict[str, Any] = {}
    for key, value in found.items():
        default = defaults.get(key)
        if isinstance(value, Mapping) and isinstance(default, Mapping):
            kept[key] = without_defaults(value, default)
        elif key not in defaults or value != default:
            kept[key] = value
    return kept


def generation_spec(template: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of a template changes its Pods, with what pools need.

    Pods have no common budget: it counts replicas of a workload, and they have none.
    """
    kept = {key: value for key, value in template.items() if key not in SET_BY_POOL}
    return {
        **kept,
        "podManagementPolicy": "Pooling",
        "podDisruptionBudget": {"enabled": False},
        "scalingConfig": {**(template.get("scalingConfig") or {}), "storeDrainEnabled": True},
    }


def _digest(value: Mapping[str, Any]) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    number = int.from_bytes(hashlib.sha256(text.encode()).digest(), "big")
    letters = []
    for _position in range(_DIGEST_LENGTH):
        number, rest = divmod(number, len(_LETTERS))
        letters.append(_LETTERS[rest])
    return "".join(letters)
