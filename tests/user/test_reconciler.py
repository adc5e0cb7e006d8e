# SPDX-License-Identifier: Apache-2.0
"""How often a database is asked, and that no password gets out. The database is a table here."""

import base64
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api import names
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.timestamps import (
    timestamp_now,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.kubernetes.applying import (
    Writer,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.sql import (
    Entrance,
    LoginRefused,
    SqlError,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.cluster.connection import (
    Target,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.cluster.connection_writer import (
    Written,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.database_objects import (
    root_session,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.user import reconciler
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.user.results import UserResults

from tests.support import resources as r
from tests.support.answers import Answers

from .worlds import Database, user

Json = dict[str, Any]
SECRET = "Very-secret-1"
ROLE = "matrixorigin_user_shop"
MADE = {"app.kubernetes.io/managed-by": names.MANAGED_BY}


class Server:
    """Sessions with a database, as the reconciler opens them.

    Attributes:
        sessions: the user of each, in order.
        password: that the user shop logs in with.
        failure: what ends a session of root after its statements.
    """

    def __init__(self, database: Database, password: str = "") -> None:
        self.database, self.password = database, password
        self.sessions: list[str] = []
        self.failure: SqlError | None = None

    def converse(self, entrance: Entrance, spoken: Any, _seconds: float) -> Any:
        self.sessions.append(entrance.user)
        before = len(self.database.passwords)
        found = self.database.talk(spoken)
        given = self.database.passwords[before:]
        if given and self.failure is not None:
            raise self.failure
        self.password = given[-1] if given else self.password
        return found

    def accepts(self, entrance: Entrance, _seconds: float, **_how: Any) -> bool:
        self.sessions.append(entrance.user)
        return entrance.password == self.password


def encoded(**pairs: str) -> Json:
    return {key: base64.b64encode(value.encode()).decode() for key, value in pairs.items()}


@pytest.fixture
def database() -> Database:
    return Database()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, database: Database) -> Iterator[Server]:
    made = Server(database)
    monkeypatch.setattr(reconciler, "converse", made.converse)
    monkeypatch.setattr(reconciler, "accepts", made.accepts)
    monkeypatch.setattr(root_session, "entrance", lambda *_: Entrance("h", 6001, "root", "r"))
    monkeypatch.setattr(root_session, "root_login", lambda *_: None)
    return made


def ours(database: Database) -> None:
    """Let the user be there as it was created."""
    database.user, database.default = "shop", ROLE
    database.roles.add(ROLE)
    database.members |= {"public", ROLE}


def keep(monkeypatch: pytest.MonkeyPatch, resource: Json, secret: Json | None) -> UserResults:
    monkeypatch.setattr(reconciler, "find_secret", lambda *_: secret)
    writer = Writer(Answers(), owner=resource)
    made = reconciler.Reconciler(writer, resource, r.cluster(), "mo-proxy", 5.0)
    found = made.keep()
    assert SECRET not in json.dumps(found.as_variable())
    return found


def secret(password: str = SECRET, version: str = "7") -> Json:
    data = encoded(username="shop", password=password)
    return {"metadata": {"name": "shop-user", "resourceVersion": version}, "data": data}


def before(version: str, *, generation: int = 2, checked: str = "") -> Json:
    """Return a user that was as desired, with the Secret of a version."""
    resource = user()
    conditions = [
        {"type": one, "status": "True", "observedGeneration": generation}
        for one in ("Ready", "Synced")
    ]
    resource["status"] = {
        "conditions": conditions,
        "secretVersion": version,
        "lastChecked": checked or timestamp_now(),
    }
    return resource


def test_a_new_user_takes_one_session_of_root_and_one_login(monkeypatch, server, database):
    found = keep(monkeypatch, user(), secret())
    assert server.sessions == ["root", "shop"]
    assert (found.reason, found.created, found.version) == ("", True, "7")
    assert database.passwords == [SECRET]


LATER = "2026-01-01T00:00:00Z"
DUE: dict[str, tuple[Callable[[], Json], list[str]]] = {
    "nothing": (lambda: before("7"), []),
    "the Secret": (lambda: before("6"), ["root", "shop"]),
    "the spec": (lambda: before("7", generation=1), ["shop", "root"]),
    "the period": (lambda: before("7", checked=LATER), ["shop", "root"]),
}
"""The user as the test begins: one that was checked when the tests were collected may be due."""


@pytest.mark.parametrize(("resource", "sessions"), DUE.values(), ids=DUE)
def test_the_database_is_asked_when_something_has_changed(
    monkeypatch: pytest.MonkeyPatch,
    server: Server,
    database: Database,
    resource: Callable[[], Json],
    sessions: list[str],
) -> None:
    ours(database)
    server.password = SECRET
    found = keep(monkeypatch, resource(), secret())
    assert server.sessions == sessions
    assert found.unchanged is not bool(sessions)


def test_a_password_that_somebody_has_changed_is_set_again(monkeypatch, server, database):
    ours(database)
    server.password = "Other"
    found = keep(monkeypatch, before("7", checked=LATER), secret())
    assert server.sessions == ["shop", "root", "shop"]
    assert (found.reason, server.password) == ("", SECRET)


def refusal(words: str) -> SqlError:
    failure = SqlError("SQL at h:6001 refused (error 20101)")
    failure.refused, failure.words = True, words
    return failure


USED = "The password has been used before, please change another one"
REFUSED = {
    "history, and it fits": (USED, SECRET, ""),
    "history, and it does not": (USED, "Other", "PasswordRefused"),
    "a rule": (f"Password '{SECRET}' is too short, require at least 20 characters", "Other",
               "PasswordRefused"),
    "something else": (f"near '{SECRET}'", "Other", "StatementRefused"),
}  # fmt: skip


@pytest.mark.parametrize(("words", "has", "reason"), REFUSED.values(), ids=REFUSED)
def test_a_refused_password_is_not_shown(monkeypatch, server, database, words, has, reason):
    ours(database)
    server.password, server.failure = has, refusal(words)
    found = keep(monkeypatch, before("6"), secret())
    assert found.reason == reason
    assert bool(found.version) is not bool(reason)


def test_a_connection_that_is_recorded_and_not_asked_for_is_given_up(monkeypatch, server, database):
    ours(database)
    server.password = SECRET
    resource = before("7")
    resource["status"]["binding"] = {"name": "shop-user-connection"}
    found = keep(monkeypatch, resource, secret())
    assert (found.unchanged, found.binding, found.reason) == (False, "", "")


class Bound:
    """Writes Secrets for applications, or does not."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, problem: str = "") -> None:
        self.problem, self.logins, self.there = problem, list[Any](), False
        monkeypatch.setattr(reconciler, "write_one", self.write)
        monkeypatch.setattr(reconciler, "is_written", lambda *_: self.there)

    def write(self, _writer: Any, _settings: Json, target: Target, login: Any) -> Written:
        self.logins.append((target.name, target.host, login.user, login.password))
        return Written(target.name, exists=not self.problem, problem=self.problem)


def asking(**of: Any) -> Json:
    resource = before("7", **of)
    resource["spec"]["connectionSecret"] = {"database": "shop"}
    return resource


def test_applications_are_told_how_to_connect_after_the_login(monkeypatch, server, database):
    bound = Bound(monkeypatch)
    found = keep(monkeypatch, user(connectionSecret={}), secret())
    told = ("shop-user-connection", "mo-tp-cn.prod.svc", "shop", SECRET)
    assert (bound.logins, found.binding, found.reason) == ([told], told[0], "")


def test_a_connection_that_was_changed_is_written_again_at_once(monkeypatch, server, database):
    ours(database)
    server.password = SECRET
    bound = Bound(monkeypatch)
    assert keep(monkeypatch, asking(), secret()).binding == "shop-user-connection"
    bound.there = True
    assert keep(monkeypatch, asking(), secret()).unchanged
    assert len(bound.logins) == 1


def test_nobody_is_told_of_a_login_that_fails(monkeypatch, server, database):
    database.user = "shop"
    bound = Bound(monkeypatch)
    found = keep(monkeypatch, user(connectionSecret={}), secret())
    assert (found.reason, bound.logins, found.binding) == ("UserExists", [], "")


def test_a_connection_that_cannot_be_written_is_said(monkeypatch, server, database):
    Bound(monkeypatch, problem="an object of this name exists")
    found = keep(monkeypatch, user(connectionSecret={}), secret())
    assert found.reason == "ConnectionSecretNotApplied"
    assert (found.message, found.binding) == ("an object of this name exists", "")
    assert found.checked


BROKEN = {
    "empty": secret(""),
    "a line break": secret(f"{SECRET}\n"),
    "no text": {"metadata": {"name": "shop-user"}, "data": {"password": "/w=="}},
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_a_secret_without_a_password_is_said_and_nobody_is_asked(monkeypatch, server, broken):
    found = keep(monkeypatch, user(), broken)
    assert found.reason == "SecretMissing"
    assert server.sessions == []


def test_a_named_secret_that_is_missing_is_not_created(monkeypatch, server):
    found = keep(monkeypatch, user(passwordSecretRef={"name": "mine"}), None)
    assert found.reason == "SecretMissing"
    assert "Secret mine" in found.message
    assert server.sessions == []


def test_a_user_of_somebody_else_is_never_logged_in_as(monkeypatch, server, database):
    database.user = "shop"
    found = keep(monkeypatch, user(), secret())
    assert found.reason == "UserExists"
    assert server.sessions == ["root"]
    assert database.said == []


def test_a_login_of_root_that_is_refused_is_waited_for(monkeypatch, server):
    def refused(*_given: Any) -> Any:
        raise LoginRefused("SQL at h:6001 refused (error 1045)")

    monkeypatch.setattr(reconciler, "converse", refused)
    found = keep(monkeypatch, user(), secret())
    assert found.reason == "DependencyNotReady"
    assert found.message.startswith("as root")
    assert found == replace(found, checked="", version="")


@pytest.mark.parametrize("labels", [MADE, {}], ids=["ours", "somebody else's"])
def test_the_secret_of_a_dropped_user_goes_with_it_if_it_is_ours(server, database, labels):
    """Also one without an owner, which an earlier resource of that name left behind."""
    ours(database)
    resource = {**user(), "spec": {**user()["spec"], "deletionPolicy": "Delete"}}
    resource["metadata"] = {**resource["metadata"], "deletionTimestamp": timestamp_now()}
    left = {"apiVersion": "v1", "kind": "Secret", **secret()}
    left["metadata"] |= {"namespace": resource["metadata"]["namespace"], "labels": labels}
    answers = Answers(left, resource)
    made = reconciler.Reconciler(
        Writer(answers, owner=resource), resource, r.cluster(), "mo-proxy", 5.0
    )
    assert (made.drop().changes, database.said[0]) == (1, "drop user if exists `shop`")
    written = [body["metadata"] for _method, _path, body in answers.written]
    assert [one["name"] for one in written] == (["shop-user"] if labels else [])
    owners = [owner["uid"] for one in written for owner in one["ownerReferences"]]
    assert resource["metadata"]["uid"] not in owners
