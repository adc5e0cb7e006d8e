# SPDX-License-Identifier: Apache-2.0
"""The engine: plays roles and playbooks and reports what happened (design D10)."""

from ansible_operator.engine.extra_vars import ExtraVars
from ansible_operator.engine.factory import KINDS, make_engine
from ansible_operator.engine.interface import (
    RUNS_PER_PROCESS,
    CheckRequest,
    Engine,
    EventHandler,
    JobEvent,
    PlaybookTarget,
    RoleTarget,
    RunRequest,
    RunResult,
    RunStatus,
)

__all__ = [
    "KINDS",
    "RUNS_PER_PROCESS",
    "CheckRequest",
    "Engine",
    "EventHandler",
    "ExtraVars",
    "JobEvent",
    "PlaybookTarget",
    "RoleTarget",
    "RunRequest",
    "RunResult",
    "RunStatus",
    "make_engine",
]
