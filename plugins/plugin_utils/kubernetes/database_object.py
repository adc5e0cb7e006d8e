# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the actions behind users and databases have in common."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

from ...module_utils.api.errors import InvalidSpec
from ...module_utils.api.types import Resource
from ...module_utils.clients.kubernetes.applying import Writer
from ...module_utils.clients.kubernetes.errors import KubeError
from ...module_utils.clients.kubernetes.session import Session
from .action import KubeAction

Json = dict[str, Any]


class Results(Protocol):
    """What came of asking the database."""

    @property
    def changed(self) -> bool:
        """Whether anything is another in the database now."""

    def as_variable(self) -> Json:
        """Return it as a variable of Ansible."""


class Reconciler(Protocol):
    """Brings what a resource stands for about, or drops it."""

    def __init__(
        self,
        writer: Writer,
        resource: Resource,
        cluster: Resource,
        service: str,
        seconds: float,
    ) -> None:
        """Take what each `Reconciler` of a kind documents."""

    def keep(self) -> Results:
        """Create it, or bring it to what is desired."""

    def drop(self) -> Results:
        """Drop it."""


class DatabaseObjectAction(KubeAction):
    """Ask the database for what a resource stands for.

    Attributes:
        RESULT: the name under which the results are returned.
        RECONCILER: asks the database.
    """

    SPEC: ClassVar[dict[str, Any]] = {
        "resource": {"type": "dict", "required": True},
        "cluster": {"type": "dict", "required": True},
        "service": {"type": "str", "required": True},
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        "timeout": {"type": "float", "default": 10.0},
    }
    RESULT: ClassVar[str]
    RECONCILER: ClassVar[type[Reconciler]]

    def act(self, session: Session, arguments: Json) -> Json:
        """Ask the database; what it refuses, or that it does not answer, is no failure."""
        if self.dry_run:
            return {"changed": False, self.RESULT: {}}
        reconciler = self.RECONCILER(
            writer=Writer(session, owner=arguments["resource"]),
            resource=arguments["resource"],
            cluster=arguments["cluster"],
            service=arguments["service"],
            seconds=arguments["timeout"],
        )
        try:
            is_absent = arguments["state"] == "absent"
            done = reconciler.drop() if is_absent else reconciler.keep()
        except InvalidSpec as error:
            raise KubeError(str(error)) from error
        return {"changed": done.changed, self.RESULT: done.as_variable()}
