# SPDX-License-Identifier: Apache-2.0
"""Whose the files in an object store are."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose something is, for all time.

    Attributes:
        kind: BackupJob, RestoreJob, Backup, BucketClaim, or `PLAYBOOK`.
        namespace: empty for what has none.
        name: for people; it may be used again.
        uid: no other owner ever has it.
    """

    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""

    def __str__(self) -> str:
        """Return how messages name it."""
        place = "/".join(filter(None, (self.namespace, self.name)))
        return " ".join(filter(None, (self.kind, place))) or self.uid


PLAYBOOK = "Playbook"
"""Kind of an owner that no Kubernetes cluster has: a play on a controller."""
