# SPDX-License-Identifier: Apache-2.0
"""What a run is, and what an engine does with it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from ansible_operator.engine.extra_vars import ExtraVars
from ansible_operator.watches.model import Isolation

JobEvent: TypeAlias = Mapping[str, Any]
"""One event in ansible-runner's shape: ``uuid, counter, stdout, start_line, end_line, event,
event_data{...}, pid, created``."""

EventHandler: TypeAlias = Callable[[JobEvent], None]

RUNS_PER_PROCESS = 100
"""How many runs a process serves that watches share."""


@dataclass(frozen=True, slots=True)
class PlaybookTarget:
    """Play this playbook (absolute path)."""

    path: Path


@dataclass(frozen=True, slots=True)
class RoleTarget:
    """Play one role on localhost.

    Attributes:
        name: the role's directory name, or the FQCN when it came from a collection.
        path: the directory of the role.
        gather_facts: whether the generated play gathers facts.
    """

    name: str
    path: Path
    gather_facts: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """Everything that one run needs.

    Attributes:
        ident: job id; the name of the artifact folder.
        directory: the private data directory of the object (made if missing, mode 0700).
        extra_vars: variables with extra-vars precedence.
        environment: variables set on top of the process environment (kubeconfig, ...).
        kubeconfig: file that the environment names; readable by the run only.
        verbosity: number of ``v``, 0 for none.
        command_line: extra arguments of ansible-playbook (``--ansible-args``).
        inventory: file or directory that replaces the generated hosts file.
        artifacts_to_keep: number of artifact folders to keep; 0 keeps all.
        timeout: seconds after which the run and all its children are ended; None for no limit.
        isolation: whether the process of the run may serve other runs.
    """

    ident: str
    directory: Path
    target: PlaybookTarget | RoleTarget
    extra_vars: ExtraVars = field(default_factory=ExtraVars)
    environment: Mapping[str, str] = field(default_factory=dict)
    kubeconfig: Path | None = None
    verbosity: int = 0
    command_line: str = ""
    inventory: Path | None = None
    artifacts_to_keep: int = 20
    timeout: float | None = None
    isolation: Isolation = Isolation.RUN


class RunStatus(StrEnum):
    """How a run ended, in ansible-runner's words."""

    SUCCESSFUL = "successful"
    FAILED = "failed"
    TIMEOUT = "timeout"
    CANCELED = "canceled"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """What is left when a run has ended.

    Attributes:
        rc: exit code of the play (0 ok, 2 failed tasks, 4 unreachable, 250 unexpected, 254
            canceled).
        stdout: the complete output of the play.
        error: why there may be no ``playbook_on_stats`` event (missing role, syntax error, dead
            process), a message for the CR's status; ``""`` otherwise.
    """

    status: RunStatus
    rc: int
    stdout: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class CheckRequest:
    """The question whether a run of an object would change anything.

    Attributes:
        function: full name of the test plugin that is asked.
        object: the object; its only argument.
        kubeconfig: file that the environment names while it is asked.
        timeout: seconds in which there must be an answer.
    """

    function: str
    object: Mapping[str, Any]
    kubeconfig: Path
    timeout: float


class Engine(Protocol):
    """Plays roles and playbooks."""

    @property
    def answers_checks(self) -> bool:
        """Whether there are processes that checks can be made in."""
        ...

    @property
    def fallback(self) -> str:
        """Why no run is played as this engine is to play it, but otherwise; ``""`` if it is."""
        ...

    async def start(self) -> None:
        """Become ready for runs (warm up); bounded by a deadline.

        Raises:
            EngineError: the engine cannot work on this machine.
        """
        ...

    async def run(self, request: RunRequest, on_event: EventHandler) -> RunResult:
        """Play to the end. Events are handed over in order, in the event loop's thread.

        Cancelling the awaiting task ends the run with all its children.

        Raises:
            EngineError: the run could not be started at all.
        """
        ...

    async def is_up_to_date(self, check: CheckRequest) -> bool | None:
        """Whether a check finds that a run would change nothing; None if none can be made.

        Raises:
            EngineError: there is no usable answer.
        """
        ...

    async def stop(self) -> None:
        """End all runs and children; bounded by a deadline."""
        ...

    def abandon(self) -> None:
        """Have all runs end although this process is about to end without waiting for them."""
        ...
