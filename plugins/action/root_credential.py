# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action behind M(matrixorigin.matrixone.root_credential)."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import Any, ClassVar

from ..module_utils.api import names
from ..module_utils.clients.kubernetes.applying import Writer
from ..module_utils.clients.kubernetes.errors import KubeError
from ..module_utils.clients.kubernetes.session import Session
from ..module_utils.clients.sql import Entrance, SqlError, accepts, run
from ..module_utils.cluster import root_credential
from ..module_utils.cluster.credential_refusal import Refusal, without_refusal
from ..module_utils.cluster.credentials import is_ours
from ..module_utils.cluster.logins import entrance, find_secret
from ..module_utils.cluster.passwords import broken_rule, login_problem
from ..module_utils.cluster.planning import retains_data
from ..module_utils.cluster.rendering import credential_secret
from ..module_utils.cluster.restoring import has_other_credential
from ..module_utils.cluster.root_credential import Login, login_of, version_of
from ..plugin_utils.kubernetes.action import KubeAction

Json = dict[str, Any]
_NEITHER = (
    "the database accepts neither it nor the one of before; put the one that it accepts into the "
    "Secret, or give the user the new one by ALTER USER"
)

_NO_RECORD = (
    "the database does not accept it, and the Secret with the one that it accepts is gone; put that"
    " into the Secret, or give the user the new one by ALTER USER"
)
_NOT_YET = "the database does not answer yet"
_OF_SOURCE = (
    "the database was restored and has the root credential of the one that was backed up; put that "
    "into the Secret, and change it there afterwards"
)


class ActionModule(KubeAction):
    """Set the password of a database's root user to that of its Secret."""

    SPEC: ClassVar[dict[str, Any]] = {
        "resource": {"type": "dict", "required": True},
        "service": {"type": "str", "default": ""},
        "dashboard": {"type": "str", "default": ""},
        "timeout": {"type": "float", "default": 10.0},
        "required": {"type": "bool", "default": False},
    }

    def act(self, session: Session, arguments: Json) -> Json:
        """Record what the database has; if the Secret has another password, change it there."""
        resource = arguments["resource"]
        writer = Writer(session, dry_run=self.dry_run, owner=resource)
        name = credential_secret(resource)
        result = {"secret": name, "problem": "", "rotated": False, "retry": ""}
        secret = find_secret(writer, resource, name)
        if secret is None:
            return {"changed": False, "credential": result}
        try:
            result["rotated"] = _bring(writer, arguments, secret)
        except DatabaseRefused as error:
            result["problem"] = str(error)
            result["retry"] = f"{max(1, math.ceil(error.seconds))}s"
        except (KubeError, SqlError, ValueError) as error:
            result["problem"] = str(error)
        if result["problem"]:
            return {"changed": False, "credential": result, **_failure(arguments, result)}
        return {"changed": True, "credential": result}


class DatabaseRefused(ValueError):
    """The database itself does not take a credential.

    Attributes:
        seconds: until the next attempt.
    """

    def __init__(self, problem: str, seconds: float = 0.0) -> None:
        super().__init__(problem)
        self.seconds = seconds


def _failure(arguments: Json, result: Json) -> Json:
    """Return what makes the task fail: a play has no status to report a problem in."""
    if not arguments["required"]:
        return {}
    message = f"The credential of Secret {result['secret']} is not in effect: {result['problem']}"
    return {"failed": True, "msg": message}


def _bring(writer: Writer, arguments: Json, secret: Json) -> bool:
    """Bring database and record to what the Secret has; return whether that was changed.

    Raises:
        DatabaseRefused: the database does not take the credential, or did not a moment ago.
        KubeError: the API server refuses.
        SqlError: the database does not answer.
        ValueError: the Secret cannot be used, or the database cannot be asked yet.
    """
    resource = arguments["resource"]
    desired, version = login_of(secret), version_of(secret)
    record = find_secret(writer, resource, names.accepted_name(resource["metadata"]["name"]))
    manifest = root_credential.accepted(resource, desired, version, kept=retains_data(resource))
    if record is None and desired.password:
        if has_other_credential(resource):
            _require_accepted(writer, arguments, desired)
        elif arguments["service"]:
            _require_not_refused(writer, arguments, desired)
        writer.create_once(manifest)
        return False
    if problem := root_credential.mistake_in(desired):
        raise ValueError(problem)
    if record is None or not is_ours(record):
        raise ValueError(f"Secret {manifest['metadata']['name']} is somebody else's")
    known = login_of(record)
    rotates = desired != known
    if rotates and not writer.dry_run:
        _change_in_time(writer, arguments, Refusal.of(record, version), known, desired)
        _restart(writer, arguments, version)
    writer.patch(without_refusal(manifest, record))
    return rotates


def _require_accepted(writer: Writer, arguments: Json, login: Login) -> None:
    """Log in to a restored database, which does not take the password of a Secret at its start.

    Raises:
        SqlError: it does not answer.
        ValueError: it does not accept the login, or cannot be asked yet.
    """
    if not arguments["service"]:
        raise ValueError(_NOT_YET)
    place = entrance(writer, arguments["resource"], arguments["service"], login)
    if not accepts(place, arguments["timeout"]):
        raise ValueError(_OF_SOURCE)


def _require_not_refused(writer: Writer, arguments: Json, login: Login) -> None:
    """Log in to a database that serves while there is no record: both Secrets may be new.

    Raises:
        ValueError: it refuses the login. If it does not answer, that proves nothing.
    """
    place = entrance(writer, arguments["resource"], arguments["service"], login)
    try:
        is_accepted = accepts(place, arguments["timeout"])
    except SqlError:
        return
    if not is_accepted:
        raise ValueError(_NO_RECORD)


def _change_in_time(
    writer: Writer, arguments: Json, refusal: Refusal, known: Login, desired: Login
) -> None:
    """Change the login, unless the database refused just that a moment ago.

    A play is not held up: whoever starts it has a reason to try.

    Args:
        writer: of the record.
        arguments: of the action.
        refusal: what is on record of this version of the Secret.
        known: the login that the database accepted last.
        desired: the one that it is to accept.

    Raises:
        DatabaseRefused: it refuses, or did.
        SqlError: it does not answer.
        ValueError: it cannot be asked yet.
    """
    if not arguments["service"]:
        raise ValueError(_NOT_YET)
    if not arguments["required"] and (seconds := refusal.remaining(time.time())):
        raise DatabaseRefused(refusal.problem, seconds)
    if problem := _refusal_of_change(writer, arguments, known, desired):
        now = time.time()
        refusal = refusal.following(problem, now)
        _record(writer, arguments["resource"], refusal)
        raise DatabaseRefused(problem, refusal.remaining(now))


def _refusal_of_change(writer: Writer, arguments: Json, known: Login, desired: Login) -> str:
    """Change the login; return why the database does not take it, empty if it does.

    Raises:
        SqlError: it does not answer, or refuses for another reason.
    """
    try:
        _change(writer, arguments, known, desired)
    except DatabaseRefused as error:
        return str(error)
    except SqlError as error:
        why = broken_rule(error.words) or login_problem(error.words)
        if not why:
            raise
        return f"{error}: {why}"
    return ""


def _record(writer: Writer, resource: Json, refusal: Refusal) -> None:
    metadata = resource["metadata"]
    place = {
        "namespace": metadata["namespace"],
        "name": names.accepted_name(metadata["name"]),
    }
    annotations = refusal.annotation()
    writer.patch(
        {"apiVersion": "v1", "kind": "Secret", "metadata": {**place, "annotations": annotations}}
    )


def _change(writer: Writer, arguments: Json, known: Login, desired: Login) -> None:
    """Make the database accept a login; what an earlier try has done is not done again.

    The login that should work comes first: failed ones may lock a user.

    Raises:
        SqlError: it does not answer, or refuses.
        DatabaseRefused: neither login is accepted.
    """
    seconds = arguments["timeout"]
    present = entrance(writer, arguments["resource"], arguments["service"], desired)
    before = _as(present, known)
    if not accepts(before, seconds, login_problem):
        if accepts(present, seconds, login_problem):
            return
        raise DatabaseRefused(_NEITHER)
    if known.user != desired.user and accepts(present, seconds, login_problem):
        return
    others = root_credential.siblings(known, desired)
    following = [
        Login(other.user, desired.password)
        for other in others
        if accepts(_as(present, other), seconds)
    ]
    # The user that logs in comes last: until then the previous login works for another try.
    order = sorted((*following, desired), key=lambda login: login.user == known.user)
    statements = [root_credential.alter(login) for login in order]
    run(before, statements, seconds, is_final=broken_rule)
    if not accepts(present, seconds, login_problem):
        raise DatabaseRefused(_NEITHER)


def _as(entrance_: Entrance, login: Login) -> Entrance:
    return replace(entrance_, user=login.user, password=login.password)


def _restart(writer: Writer, arguments: Json, version: str) -> None:
    """Restart the dashboard, which reads its credential at its start."""
    namespace = arguments["resource"]["metadata"]["namespace"]
    patch = root_credential.restarted(arguments["dashboard"], namespace, version)
    if arguments["dashboard"] and writer.get(patch) is not None:
        writer.patch(patch)
