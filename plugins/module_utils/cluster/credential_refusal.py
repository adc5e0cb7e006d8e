# SPDX-License-Identifier: Apache-2.0
"""The record of a root credential that the database refused: when it is tried again.

Failed logins can lock a user (``connection_control_failed_connections_threshold``), but neither
``dump`` nor ``root``. So what the database itself refuses is tried again after one minute, then
after two, and so on up to 15; a change of the Secret is tried at once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from ..api import names
from ..api.types import Manifest

_FIRST_SECONDS: Final = 60.0
_LONGEST_SECONDS: Final = 900.0
_MOST_ATTEMPTS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Refusal:
    """What a database refused last.

    Attributes:
        version: of the Secret whose credential it was.
        attempts: how often it was tried.
        at: of the last attempt, Unix time.
        problem: what the database said, without any password.
    """

    version: str = ""
    attempts: int = 0
    at: float = 0.0
    problem: str = ""

    @classmethod
    def of(cls, record: Mapping[str, Any] | None, version: str) -> Refusal:
        """Return what is on record for a version of the Secret; nothing if that is another."""
        annotations = ((record or {}).get("metadata") or {}).get("annotations") or {}
        try:
            found = json.loads(annotations.get(names.ANNOTATION_CREDENTIAL_REFUSAL) or "{}")
            known = cls(
                str(found["version"]),
                max(1, min(int(found["attempts"]), _MOST_ATTEMPTS)),
                float(found["at"]),
                str(found["problem"]),
            )
        except (ValueError, TypeError, KeyError, OverflowError):
            return cls(version)
        return known if known.version == version else cls(version)

    def following(self, problem: str, now: float) -> Refusal:
        """Return what is on record after another attempt."""
        return Refusal(self.version, self.attempts + 1, now, problem)

    def remaining(self, now: float) -> float:
        """Return the seconds until the next attempt; zero if it is due.

        A time in the future is that of a clock that was wrong.
        """
        if not self.attempts or self.at > now:
            return 0.0
        doubled = min(self.attempts - 1, 10)
        pause = min(_FIRST_SECONDS * (1 << doubled), _LONGEST_SECONDS)
        return max(0.0, self.at + pause - now)

    def annotation(self) -> dict[str, str]:
        """Return the annotation that records it."""
        return {names.ANNOTATION_CREDENTIAL_REFUSAL: json.dumps(asdict(self), sort_keys=True)}


def without_refusal(manifest: Manifest, record: Mapping[str, Any]) -> Manifest:
    """Return the patch of a record that also removes what it has of a refusal.

    Args:
        manifest: what the record is to have.
        record: as it is.
    """
    annotations = record["metadata"].get("annotations") or {}
    if names.ANNOTATION_CREDENTIAL_REFUSAL not in annotations:
        return manifest
    metadata = manifest["metadata"]
    changed = {**metadata["annotations"], names.ANNOTATION_CREDENTIAL_REFUSAL: None}
    return {**manifest, "metadata": {**metadata, "annotations": changed}}
