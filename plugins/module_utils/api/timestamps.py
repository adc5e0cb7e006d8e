# SPDX-License-Identifier: Apache-2.0
"""Moments as Kubernetes writes them in objects: RFC 3339, UTC, whole seconds (metav1.Time)."""

from __future__ import annotations

from datetime import datetime, timezone


def timestamp(unix_time: float) -> str:
    """Return a Unix time in seconds as Kubernetes writes it, ``2026-01-31T23:59:59Z``."""
    return datetime.fromtimestamp(unix_time, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def unix_time(text: str | None) -> float:
    """Return the Unix time of what Kubernetes has written; 0 where it has written nothing.

    Raises:
        ValueError: it is no time.
    """
    return datetime.fromisoformat(text).timestamp() if text else 0.0


def timestamp_now() -> str:
    """Return the present as Kubernetes writes it."""
    return timestamp(datetime.now(timezone.utc).timestamp())
