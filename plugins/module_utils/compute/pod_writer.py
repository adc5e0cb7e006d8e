# SPDX-License-Identifier: Apache-2.0
"""What passes over compute nodes change of Pods."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from ..api.timestamps import timestamp_now
from ..clients.kubernetes.editing import FIELD_MANAGER
from ..clients.kubernetes.errors import NotFound
from ..clients.kubernetes.statuses import write_status
from ..passes.pod_writer import PodWriter
from .pods import gate_opened


class ComputePodWriter(PodWriter):
    """Changes Pods of compute nodes."""

    def open_gate(self, pod: Mapping[str, Any]) -> None:
        """Set the condition of the gate; no other condition of the Pod is touched."""
        live = {"apiVersion": "v1", "kind": "Pod", **pod}
        with suppress(NotFound):
            write_status(
                self._writer.session,
                live,
                {"conditions": [gate_opened(timestamp_now())]},
                FIELD_MANAGER,
                dry_run=False,
            )
