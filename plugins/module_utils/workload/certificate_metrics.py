# SPDX-License-Identifier: Apache-2.0
"""When the certificate of a set expires, as metrics; the operator exposes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..api.fields import as_table
from ..api.timestamps import unix_time
from ..api.types import Resource

METRICS: Final = {
    "matrixone_certificate_expiry_timestamp_seconds": (
        "notAfter",
        "When the certificate that a set of Pods serves expires.",
    ),
    "matrixone_certificate_renew_before_timestamp_seconds": (
        "renewBefore",
        "When the certificate that a set of Pods serves should have been renewed.",
    ),
}
"""By name, the field of ``status.tls`` and the description. Their labels are ``set_namespace``,
``set_kind`` and ``set``: Prometheus has its own ``namespace``, that of the operator."""


def certificate_metrics(resource: Resource, status: Mapping[str, Any] | None) -> list[Any]:
    """Return the requests to the metrics API that show a certificate, or take it away.

    Args:
        resource: the set.
        status: as its pass reports it; None if the set is being deleted.
    """
    told, metadata = as_table((status or {}).get("tls")), resource["metadata"]
    labels = {
        "set_namespace": metadata["namespace"],
        "set_kind": resource["kind"],
        "set": metadata["name"],
    }
    return [
        {
            "name": name,
            "description": description,
            "labels": labels,
            "gauge": {"set": unix_time(told[field])} if told.get(field) else {"remove": True},
        }
        for name, (field, description) in METRICS.items()
    ]
