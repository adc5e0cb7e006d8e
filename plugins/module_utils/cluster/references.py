# SPDX-License-Identifier: Apache-2.0
"""What a pass over a MatrixOneCluster has to observe before it decides."""

from __future__ import annotations

from ..api import names
from ..api.types import Resource
from ..workload.component import Reference
from ..workload.references import by_name
from .data_version import data_references
from .hibernation import pod_references
from .rendering import credential_secret
from .restoring import restore_references
from .upgrading import upgrade_references

_SINGLE = {
    "logSet": names.LOG_SET,
    "dnSet": names.DN_SET,
    "proxySet": names.PROXY_SET,
    "webUI": names.WEB_UI,
}
"""Labels of the children of which there is one at most."""


def cluster_references(resource: Resource) -> dict[str, Reference]:
    """Return what to observe, by label.

    These are ``self``, the children by kind, ``tnPods``, ``credential`` and ``accepted``. While
    the cluster is restored, ``restoreJob``, or ``logStores`` in a playbook; before it is upgraded
    to a newer release, ``backups``; where it may sleep, ``clusterPods``.
    """
    metadata = resource["metadata"]
    secrets = {
        "credential": credential_secret(resource),
        "accepted": names.accepted_name(metadata["name"]),
    }
    return {
        "self": by_name(resource["apiVersion"], resource["kind"], metadata),
        **{
            label: {
                **by_name(names.API_VERSION, kind, metadata),
                "labels": {names.LABEL_CLUSTER: metadata["name"]},
                "owner_uid": metadata.get("uid") or "",
            }
            for label, kind in _SINGLE.items()
        },
        "cnSets": {
            "api_version": names.API_VERSION,
            "kind": names.CN_SET,
            "namespace": metadata["namespace"],
            "labels": {names.LABEL_CLUSTER: metadata["name"]},
        },
        **{
            label: by_name("v1", "Secret", {**metadata, "name": name})
            for label, name in secrets.items()
        },
        **data_references(resource),
        **restore_references(resource),
        **upgrade_references(resource),
        **pod_references(resource),
    }
