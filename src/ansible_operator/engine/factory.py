# SPDX-License-Identifier: Apache-2.0
"""Choosing an engine by name (``--engine``)."""

from collections.abc import Collection, Sequence
from pathlib import Path

from ansible_operator.engine.interface import RUNS_PER_PROCESS, Engine
from ansible_operator.engine.runner_package import RunnerPackageEngine
from ansible_operator.engine.warm.engine import WarmEngine
from ansible_operator.errors import ConfigError
from ansible_operator.watches.model import Isolation

KINDS = ("warm", "ansible-runner")
"""Names of the engines, the default first."""


def make_engine(
    kind: str,
    *,
    preload: Sequence[Path] = (),
    checks: Sequence[str] = (),
    isolations: Collection[Isolation] = (Isolation.RUN,),
    max_runs: int | None = None,
    runs_per_process: int = RUNS_PER_PROCESS,
) -> Engine:
    """Make an engine; ``start`` it before use.

    Args:
        kind: ``warm`` (forks of a warm process) or ``ansible-runner`` (the package itself).
        preload: directories of roles whose collections the warm process loads ahead.
        checks: full names of the test plugins that may be asked whether a run is needed; those
            the engine ansible-runner asks none.
        isolations: of the runs that a process is kept ready for.
        max_runs: runs at a time; None for no limit.
        runs_per_process: how many runs a process serves, one after the other, that watches share;
            how many checks one answers.

    Raises:
        ConfigError: there is no such engine.
    """
    if kind == "ansible-runner":
        return RunnerPackageEngine(max_runs=max_runs)
    if kind == "warm":
        return WarmEngine(
            preload=preload,
            checks=checks,
            isolations=isolations,
            max_runs=max_runs,
            runs_per_process=runs_per_process,
        )
    raise ConfigError(f"unknown engine {kind!r}: one of {', '.join(KINDS)}")
