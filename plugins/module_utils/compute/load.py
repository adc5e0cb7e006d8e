# SPDX-License-Identifier: Apache-2.0
"""What a compute node is busy with, and how that is recorded on its Pod."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Load:
    """What a compute node is busy with; None is what could not be found out.

    Attributes:
        sessions: sessions of users.
        pipelines: work for queries of other compute nodes.
        replicas: table shards that are placed there.
    """

    sessions: int | None = None
    pipelines: int | None = None
    replicas: int | None = None

    @property
    def idle(self) -> bool:
        """Whether it is known that there is nothing left."""
        return (self.sessions, self.pipelines, self.replicas) == (0, 0, 0)

    def text(self) -> str:
        """Return what is left, or what is not known."""
        counts = (
            (self.sessions, "sessions"),
            (self.pipelines, "pipelines"),
            (self.replicas, "replicas"),
        )
        unknown = [noun for count, noun in counts if count is None]
        if unknown:
            return f"unknown {' and '.join(unknown)}"
        return ", ".join(f"{count} {noun}" for count, noun in counts if count)


def user_sessions(sessions: Iterable[tuple[str, bool]]) -> int:
    """Count the sessions that a drain waits for.

    Those that came through the proxy, which moves them, and those of tenants, which a release that
    does not say where sessions come from lists as well. What is left are the database's own and
    administrators' direct ones, which would never end.

    Args:
        sessions: account, and whether it came through the proxy.
    """
    return sum(proxied or account not in {"", "sys"} for account, proxied in sessions)
