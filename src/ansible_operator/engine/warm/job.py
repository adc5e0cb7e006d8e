# SPDX-License-Identifier: Apache-2.0
"""What a fork is asked to play, and which requests a fork cannot serve.

Standard library only: both the runner and the template import this.
"""

import json
import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ansible_operator.engine.extra_vars import as_json
from ansible_operator.engine.interface import RunRequest

_SERVED_LONG = {
    "--become",
    "--become-method",
    "--become-user",
    "--check",
    "--connection",
    "--diff",
    "--extra-vars",
    "--flush-cache",
    "--force-handlers",
    "--forks",
    "--inventory",
    "--limit",
    "--private-key",
    "--skip-tags",
    "--start-at-task",
    "--tags",
    "--timeout",
    "--user",
    "--vault-id",
    "--vault-pass-file",
    "--vault-password-file",
    "--verbose",
}
_SERVED_SHORT = re.compile(r"-(?:[vbCD]+|[etlfuciT].*)")
_FIXED_VARIABLE = re.compile(
    r"ANSIBLE_(?:CONFIG|HOME|LIBRARY|LOCAL_TEMP|COLLECTIONS_\w+|\w+_PLUGINS|MODULE_UTILS|STRATEGY)"
    r"|PYTHON\w*|LC_\w+|LANG"
)
"""Variables that Ansible reads once, when it is loaded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What the runner asks a fork to play.

    Attributes:
        ident: job id.
        root: private data directory.
        playbook: absolute path of the playbook.
        is_generated: whether the playbook was made for a role, and names nothing but that.
        environment: variables on top of those of the template.
        verbosity: number of ``v``.
        command_line: extra arguments of ansible-playbook.
        data: extra variables in which no text is a template.
        templates: extra variables in whose texts templates are evaluated.
        has_own_hosts: whether the inventory is the generated hosts file and nothing else.
        is_shared: whether the process shall wait for another job after this one.
    """

    ident: str
    root: str
    playbook: str
    is_generated: bool
    environment: dict[str, str]
    verbosity: int
    command_line: str
    data: Mapping[str, Any]
    templates: Mapping[str, Any]
    has_own_hosts: bool
    is_shared: bool

    def encoded(self) -> bytes:
        """The body of a frame.

        Raises:
            EngineError: a variable has no JSON.
        """
        return as_json({name: getattr(self, name) for name in self.__slots__}).encode()


def decoded(body: bytes) -> Job:
    """The job of a frame.

    Raises:
        ValueError: it is none.
        RecursionError: a variable is nested too deeply.
    """
    return Job(**json.loads(body))


def why_not_served(request: RunRequest) -> str:
    """Why a fork cannot play this request; ``""`` when it can."""
    for name, value in request.environment.items():
        if _FIXED_VARIABLE.fullmatch(name) and os.environ.get(name) != value:
            return f"the run has its own {name}"
    try:
        arguments = shlex.split(request.command_line)
    except ValueError as error:
        return f"the arguments of ansible-playbook cannot be split: {error}"
    for argument in arguments:
        if argument.startswith("--"):
            if argument.partition("=")[0] not in _SERVED_LONG:
                return f"the argument {argument.partition('=')[0]} of ansible-playbook"
        elif argument.startswith("-") and not _SERVED_SHORT.fullmatch(argument):
            return f"the argument {argument[:2]} of ansible-playbook"
    return ""
