# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the actions about snapshots and recovery ranges share: a login, and one statement each."""

from __future__ import annotations

import time
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from ...module_utils.api.errors import InvalidSpec
from ...module_utils.clients import sql
from ...module_utils.clients.login_options import LOGIN, entrance_of
from ...module_utils.clients.sql import Entrance, Statement
from ...module_utils.snapshot import lookups
from ...module_utils.snapshot.scopes import Scope, account_of
from ..controller_action import ControllerAction

Json = dict[str, Any]

STATES = ("present", "absent", "restored")
OPTIONS: Json = {
    "name": {"type": "str", "required": True},
    "state": {"type": "str", "choices": list(STATES), "default": "present"},
    "account": {"type": "str"},
    "cluster": {"type": "bool", "default": False},
    "database": {"type": "str"},
    "table": {"type": "str"},
    **LOGIN,
    "timeout": {"type": "int", "default": 3600},
}
"""Options of both; ``documentation`` is in ``doc_fragments/versions.py``."""


class Refused(Exception):
    """Something is not as the task requires.

    Attributes:
        reason: for programs, in one word.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Database:
    """A database that statements without secrets are put to.

    Attributes:
        entrance: where and as whom.
        account: of the login.
        deadline: of ``time.monotonic()``, for all of the task.
    """

    entrance: Entrance
    account: str
    deadline: float

    def ask(self, statement: Statement, *first: Statement) -> list[tuple[Any, ...]]:
        """Run a statement and return its rows.

        Args:
            statement: to run.
            first: settings of its session.

        Raises:
            Refused: LoginFailed, Unreachable, or StatementFailed with the database's own words.
        """
        try:
            left = max(0.0, self.deadline - time.monotonic())
            return sql.ask(self.entrance, statement, left, first=first)
        except sql.LoginRefused as error:
            raise Refused("LoginFailed", str(error)) from error
        except sql.SqlError as error:
            reason = "StatementFailed" if error.refused else "Unreachable"
            raise Refused(reason, error.said()) from error


class VersionsAction(ControllerAction):
    """An action about versions of rows that the database keeps.

    Attributes:
        SPEC: its argument spec.
        RULES: further rules of it, such as ``required_if``.
    """

    SPEC: ClassVar[Json] = {}
    RULES: ClassVar[Json] = {}

    def run(self, tmp: None = None, task_vars: Json | None = None) -> Json:
        """Validate the arguments, act, and turn errors into a failed result."""
        result: Json = super().run(tmp, task_vars)
        arguments = self.validated(self.SPEC, **self.RULES)
        entrance, deadline = entrance_of(arguments), time.monotonic() + arguments["timeout"]
        database = Database(entrance, account_of(entrance.user), deadline)
        try:
            result.update(self.act(database, arguments))
        except InvalidSpec as error:
            result.update(failed=True, msg=str(error), reason="InvalidTask")
        except Refused as error:
            result.update(failed=True, msg=f"{error.reason}: {error}", reason=error.reason)
        return result

    @abstractmethod
    def act(self, database: Database, arguments: Json) -> Json:
        """Do what the action is for.

        Args:
            database: that the user logs in to.
            arguments: validated, as plain types.

        Returns:
            The task's result; ``changed`` is always in it.

        Raises:
            InvalidSpec: an argument cannot be used.
            Refused: it could not be done.
        """


def scope_of(arguments: Json, login: str) -> Scope:
    """Return what the options name.

    Args:
        arguments: validated.
        login: account of the user, which is meant where none is named.

    Raises:
        InvalidSpec: a name cannot be used.
    """
    if arguments["cluster"]:
        return Scope()
    narrower = (arguments[option] or "" for option in ("database", "table"))
    return Scope(arguments["account"] or login, *narrower)


def require_restorable(database: Database, scope: Scope, at: Statement, when: str) -> None:
    """Check that a restore of a database or table would do what it says.

    Args:
        database: that is asked.
        scope: what is restored; nothing is asked about an account or cluster.
        at: the moment, for statements.
        when: the moment, for people.

    Raises:
        InvalidSpec: a part of another account, whose tables cannot be seen.
        Refused: NotThere, Referenced or ReferenceMissing, or the database cannot be asked.
    """
    if not scope.database:
        return
    if scope.account.lower() != database.account.lower():
        raise InvalidSpec("database", f"log in to account {scope.account} to restore a part of it")
    if not _is_there(database, scope, at):
        raise Refused("NotThere", f"{scope} did not exist {when}")
    if scope.table and (others := database.ask(lookups.referring(scope))):
        first = ".".join(map(str, others[0]))
        raise Refused(
            "Referenced",
            f"a foreign key of {first} refers to {scope}, and MatrixOne would leave the table as "
            "it is; restore the database",
        )
    for other in lookups.outside(database.ask(lookups.referred(scope, at)), scope):
        if not _is_there(database, other):
            raise Refused(
                "ReferenceMissing",
                f"a foreign key in {scope} refers to {other}, which does not exist now, so that "
                "MatrixOne would leave its table out; restore that one first",
            )


def _is_there(database: Database, scope: Scope, at: Statement = ("", ())) -> bool:
    [(count,)] = database.ask(lookups.counting(scope, at))
    return bool(int(count))
