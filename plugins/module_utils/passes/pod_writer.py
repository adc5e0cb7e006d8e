# SPDX-License-Identifier: Apache-2.0
"""What passes change of the Pods of a set."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from ..clients.kubernetes.applying import Writer
from ..clients.kubernetes.errors import NotFound

Json = dict[str, Any]


class PodWriter:
    """Changes Pods; one that is gone needs no change."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def annotate(self, pod: Mapping[str, Any], annotations: Mapping[str, str | None]) -> None:
        """Set annotations; None removes one."""
        with suppress(NotFound):
            self._writer.patch(_identity(pod, annotations=dict(annotations)))

    def delete(self, pod: Mapping[str, Any]) -> None:
        """Delete this very Pod, not a later one of the same name."""
        self._writer.delete(_identity(pod, uid=pod["metadata"]["uid"]))


def _identity(pod: Mapping[str, Any], **more: Any) -> Json:
    place = {key: pod["metadata"][key] for key in ("name", "namespace")}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {**place, **more}}
