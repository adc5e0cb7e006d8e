# SPDX-License-Identifier: Apache-2.0
"""The one error hierarchy of the runner.

Every message names what was attempted, on what, and what to do next.
"""

from collections.abc import Mapping
from typing import Any


class OperatorError(Exception):
    """Base of all errors that the runner raises on purpose."""


class ConfigError(OperatorError):
    """Flags, environment or watches file cannot be used; the process exits with 1."""


class KubeError(OperatorError):
    """An answer of the API server with a status of 400 or more, or no answer at all.

    Attributes:
        status: HTTP status code; 0 when the server could not be reached.
        reason: ``reason`` of the Kubernetes Status object, or ``""``.
        details: ``details`` of the Status object, or an empty mapping.
        retry_after: seconds that the server asks to wait, or ``None``.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int = 0,
        reason: str = "",
        details: Mapping[str, Any] | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.details = details or {}
        self.retry_after = retry_after

    @property
    def is_not_found(self) -> bool:
        """Whether the object (or its kind) does not exist."""
        return self.status == 404

    @property
    def is_conflict(self) -> bool:
        """Whether another writer was faster."""
        return self.status == 409

    @property
    def is_gone(self) -> bool:
        """Whether a resource version or continue token is too old."""
        return self.status == 410


class EngineError(OperatorError):
    """A run could not be started, or its engine died."""


class LeadershipLostError(OperatorError):
    """Another process is the leader now; this one must end."""
