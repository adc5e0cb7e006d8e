# SPDX-License-Identifier: Apache-2.0
"""What the steps of a pass over a MatrixOneCluster came to that have to do with its logins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..reporting.health import Health
from .fencing import FenceResult


@dataclass(frozen=True, slots=True)
class LoginResult:
    """What the action ``root_credential`` did; the default is that it was not needed or reached.

    Attributes:
        secret: name of the Secret with the credential.
        problem: why the database does not have that credential; empty if it has.
        rotated: whether the database has got another one.
        retry: after which time it is tried again, such as ``60s``; empty if that is as usual.
    """

    secret: str = ""
    problem: str = ""
    rotated: bool = False
    retry: str = ""

    @classmethod
    def read(cls, result: Mapping[str, Any]) -> LoginResult:
        """Return it from a task's result: ``credential``; empty when it did not run."""
        return cls(
            secret=str(result.get("secret") or ""),
            problem=str(result.get("problem") or ""),
            rotated=bool(result.get("rotated")),
            retry=str(result.get("retry") or ""),
        )


@dataclass(frozen=True, slots=True)
class ConnectionResult:
    """What the action ``connection_secrets`` did.

    Attributes:
        secrets: names of the Secrets that exist; None when it was not needed or reached.
        problem: why one of them is not as it should be; empty if all are.
    """

    secrets: Sequence[str] | None = None
    problem: str = ""

    @classmethod
    def read(cls, result: Mapping[str, Any]) -> ConnectionResult:
        """Return it from a task's result: ``connection``; empty when it did not run."""
        return cls(result.get("secrets"), str(result.get("problem") or ""))


@dataclass(frozen=True, slots=True)
class DatabaseResults:
    """What all of them did.

    Attributes:
        login: what became of the root credential.
        connection: what became of the Secrets for applications.
        metrics: ``status.clusterMetrics`` as the action ``metric_user`` returned it; empty when it
            was not needed or reached.
        metric_user_created: whether it has created the user, or changed its password.
        metric_user_retry: after which time it tries again, such as ``15s``; empty if it need not.
        unanswered: what the database lacks although all its components serve; empty if nothing.
        fence: what became of the fence.
    """

    login: LoginResult = field(default_factory=LoginResult)
    connection: ConnectionResult = field(default_factory=ConnectionResult)
    metrics: Mapping[str, Any] = field(default_factory=dict)
    metric_user_created: bool = False
    metric_user_retry: str = ""
    unanswered: str = ""
    fence: FenceResult = field(default_factory=FenceResult)

    @classmethod
    def read(cls, results: Mapping[str, Any]) -> DatabaseResults:
        """Return them from the result of ``metric_user``, with those of others in it.

        These are ``login``, ``connection``, ``fence`` and ``health``.
        """
        return cls(
            login=LoginResult.read(results.get("login") or {}),
            connection=ConnectionResult.read(results.get("connection") or {}),
            metrics=results.get("metrics") or {},
            metric_user_created=bool(results.get("made")),
            metric_user_retry=str(results.get("retry") or ""),
            unanswered=Health.read(results.get("health") or {}).lacking,
            fence=FenceResult.read(results.get("fence") or {}),
        )
