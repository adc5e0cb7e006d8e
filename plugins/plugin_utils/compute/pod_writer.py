# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What passes over compute nodes change of Pods."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from ...module_utils.api.timestamps import timestamp_now
from ...module_utils.clients.kubernetes.editing import FIELD_MANAGER
from ...module_utils.clients.kubernetes.errors import NotFound
from ...module_utils.clients.kubernetes.statuses import write_status
from ...module_utils.compute.pods import gate_opened
from ...module_utils.passes.pod_writer import PodWriter


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
