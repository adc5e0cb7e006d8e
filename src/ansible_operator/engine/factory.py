# SPDX-License-Identifier: Apache-2.0
"""Choosing an engine by name (``--engine``)."""

from collections.abc import Sequence
from pathlib import Path

from ansible_operator.engine.interface import Engine
from ansible_operator.engine.runner_package import RunnerPackageEngine
from ansible_operator.engine.warm.engine import WarmEngine
from ansible_operator.errors import ConfigError

KINDS = ("warm", "ansible-runner")
"""Names of the engines, the default first."""


def make_engine(kind: str, *, preload: Sequence[Path] = (), max_runs: int | None = None) -> Engine:
    """Make an engine; ``start`` it before use.

    Args:
        kind: ``warm`` (forks of a warm process) or ``ansible-runner`` (the package itself).
        preload: directories of roles whose collections the warm process loads ahead.
        max_runs: runs at a time; None for no limit.

    Raises:
        ConfigError: there is no such engine.
    """
    if kind == "ansible-runner":
        return RunnerPackageEngine(max_runs=max_runs)
    if kind == "warm":
        return WarmEngine(preload=preload, max_runs=max_runs)
    raise ConfigError(f"unknown engine {kind!r}: one of {', '.join(KINDS)}")
