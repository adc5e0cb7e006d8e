# SPDX-License-Identifier: Apache-2.0
"""The root credential of a running cluster: when it is looked at, and how it is changed."""

import base64
import json
from collections.abc import Mapping
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.action import root_credential as action
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.sql import SqlError
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.cluster.credential_refusal import (
    Refusal,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.cluster.root_credential import (
    Login,
    accepted,
    login_of,
    mistake_in,
)
from hypothesis import given
from hypothesis import strategies as st

from tests.support import resources as r
from tests.support.builders import NOW, serving, states
from tests.support.passes import (
    plan_of,
    report_on,
)

Json = dict[str, Any]
ADDRESS = "10.0.0.1"


def cluster(**spec: Any) -> Json:
    made: Json = r.cluster(**spec)
    made["metadata"] |= {"uid": "u-1", "generation": 2, "namespace": "prod"}
    return made


def secret(password: str, username: str = "dump", version: str = "7") -> Json:
    pairs = {"username": username, "password": password}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "mo-credential", "namespace": "prod", "resourceVersion": version},
        "data": {key: base64.b64encode(value.encode()).decode() for key, value in pairs.items()},
    }


def record(password: str, username: str = "dump", version: str = "7") -> Json:
    return accepted(cluster(), Login(username, password), version, kept=False)


def merged(live: Any, patch: Any) -> Any:
    """Apply a JSON merge patch, as the API server does."""
    if not isinstance(patch, dict):
        return patch
    kept = {**live} if isinstance(live, dict) else {}
    for key, value in patch.items():
        kept.pop(key, None) if value is None else kept.update({key: merged(kept.get(key), value)})
    return kept


class Crash(Exception):
    """The operator ends here."""


class World:
    """A database with its users, and the Secrets beside it; it can end the operator at a step."""

    def __init__(self, *objects: Json, users: Mapping[str, str], steps: int = 1000) -> None:
        self.objects = {(one["kind"], one["metadata"]["name"]): one for one in objects}
        self.users = dict(users)
        self.steps, self.logins = steps, 0
        self.policy = ""
        self.dry_run = False

    def step(self) -> None:
        self.steps -= 1
        if self.steps < 0:
            raise Crash

    def get(self, manifest: Mapping[str, Any]) -> Json | None:
        if manifest["kind"] == "Service":
            return {"spec": {"clusterIP": ADDRESS}}
        return self.objects.get((manifest["kind"], manifest["metadata"]["name"]))

    def create_once(self, manifest: Json) -> None:
        self.step()
        self.objects.setdefault((manifest["kind"], manifest["metadata"]["name"]), manifest)

    def patch(self, manifest: Json) -> None:
        self.step()
        key = manifest["kind"], manifest["metadata"]["name"]
        self.objects[key] = merged(self.objects.get(key) or {}, manifest)

    def accepts(self, entrance: Any, _seconds: float, _is_final: Any = None) -> bool:
        self.step()
        self.logins += 1
        return self.users.get(entrance.user) == entrance.password

    def run(
        self, entrance: Any, statements: list[tuple[str, tuple[str, str]]], _s: float, **_how: Any
    ) -> None:
        assert self.accepts(entrance, 0)
        for text, (user, password) in statements:
            assert text == "alter user %s identified by %s"
            self.step()
            if self.policy:
                error = SqlError("SQL at 10.0.0.1:6001 refused (error 20301)")
                error.words = self.policy.format(password)
                raise error
            if user not in self.users:
                raise SqlError("SQL at 10.0.0.1:6001 refused (error 20101)")
            self.users[user] = password

    def bring(self, monkeypatch: pytest.MonkeyPatch, **arguments: Any) -> bool:
        monkeypatch.setattr(action, "accepts", self.accepts)
        monkeypatch.setattr(action, "run", self.run)
        given = {
            "resource": cluster(),
            "service": "mo-tp-cn",
            "dashboard": "",
            "timeout": 1.0,
            "required": False,
            **arguments,
        }
        return action._bring(self, given, self.objects["Secret", "mo-credential"])

    @property
    def known(self) -> tuple[Login, str]:
        """What is on record, and of which version of the Secret."""
        live = self.objects["Secret", "mo-credential-accepted"]
        note = live["metadata"]["annotations"]["matrixorigin.io/credential-version"]
        return login_of(live), note


@pytest.mark.parametrize(
    ("credential", "on_record", "asks"),
    [
        (None, None, True),
        (secret("a"), None, True),
        (secret("a", version="7"), record("a", version="7"), False),
        (secret("a", version="8"), record("a", version="7"), True),
        (None, record("a", version="7"), True),
    ],
)
def test_only_a_change_of_the_secret_leads_to_a_task(credential, on_record, asks):
    observed = {"credential": credential, "accepted": on_record}
    assert plan_of(cluster(), observed)["rotation"] == asks


def test_a_secret_that_is_missing_is_waited_for():
    named = cluster(credentialSecretRef={"name": "mine"})
    assert not plan_of(named, {"credential": None})["rotation"]


@pytest.mark.parametrize(
    ("login", "mistake"),
    [
        (Login("dump", 'it\'s "fine" \\ `%s` -- ; $(id)'), ""),
        (Login("dump", ""), "password is empty"),
        (Login("", "x"), "username is empty"),
        (Login("dump", "typed-by-echo\n"), "printable ASCII"),
        (Login("dump", "naïve"), "printable ASCII"),
        (Login("dump", "a\0b"), "printable ASCII"),
    ],
)
def test_passwords_that_no_client_could_send_are_refused(login, mistake):
    found = mistake_in(login)
    assert mistake in found
    assert bool(mistake) == bool(found)
    assert not login.password or login.password not in found + repr(login)


@pytest.mark.parametrize(
    ("data", "login"),
    [
        (secret("x", "root")["data"], Login("root", "x")),
        ({"password": "eA=="}, Login("dump", "x")),
        (None, Login("dump", "")),
    ],
)
def test_reading_a_secret(data, login):
    assert login_of({"data": data}) == login


@pytest.mark.parametrize("value", ["/w==", "no base64!"])
def test_what_is_no_text_is_refused(value):
    with pytest.raises(ValueError, match="must be UTF-8"):
        login_of({"data": {"password": value}})


def test_the_first_look_records_and_asks_nobody(monkeypatch):
    world = World(secret("first"), users={})

    assert world.bring(monkeypatch, service="") is False

    assert world.known == (Login("dump", "first"), "7")
    assert world.logins == 0


@pytest.mark.parametrize(
    ("users", "problem"),
    [({"dump": "first"}, ""), ({"dump": "lost"}, "does not accept it"), (None, "")],
    ids=["accepted", "refused", "no answer"],
)
def test_a_database_that_serves_is_asked_where_there_is_no_record(monkeypatch, users, problem):
    """Somebody has deleted the record, or both Secrets: a new one has a password of no user."""
    world = World(secret("first"), users=users or {})
    if users is None:
        error = SqlError("cannot be reached")
        monkeypatch.setattr(world, "accepts", lambda *_: (_ for _ in ()).throw(error))

    if problem:
        with pytest.raises(ValueError, match=problem):
            world.bring(monkeypatch)
    else:
        assert world.bring(monkeypatch) is False

    assert (("Secret", "mo-credential-accepted") in world.objects) == (not problem)


def test_a_secret_that_was_only_touched_leads_to_no_login(monkeypatch):
    world = World(secret("same", version="8"), record("same"), users={})

    assert world.bring(monkeypatch, service="") is False

    assert world.known == (Login("dump", "same"), "8")
    assert world.logins == 0


@pytest.mark.parametrize(
    ("wanted", "users", "after"),
    [
        (("dump", "new"), {"dump": "old", "root": "old"}, {"dump": "new", "root": "new"}),
        (("dump", "new"), {"dump": "old", "root": "else"}, {"dump": "new", "root": "else"}),
        (("dump", "new"), {"dump": "old"}, {"dump": "new"}),
        (("dump", "new"), {"dump": "new", "root": "old"}, {"dump": "new", "root": "old"}),
        (("root", "new"), {"dump": "old", "root": "old"}, {"dump": "new", "root": "new"}),
        (
            ("admin", "new"),
            {"admin": "x", "dump": "old", "root": "old"},
            {"admin": "new", "dump": "new", "root": "new"},
        ),
    ],
)
def test_the_database_gets_what_the_secret_says(monkeypatch, wanted, users, after):
    user, password = wanted
    world = World(secret(password, user, "8"), record("old"), users=users)

    assert world.bring(monkeypatch) is True

    assert world.users == after
    assert world.known == (Login(user, password), "8")


def test_it_can_end_anywhere_and_begin_again(monkeypatch):
    """Whatever step is the last one, the user of the Secret has its password at the end."""
    for user in ("dump", "root", "admin"):
        for last in range(12):
            users = {"dump": "old", "root": "old", "admin": "x"}
            world = World(secret("new", user, "8"), record("old"), users=users, steps=last)
            with pytest.MonkeyPatch.context() as patch:
                try:
                    world.bring(patch)
                except Crash:
                    world.steps = 1000
                    world.bring(monkeypatch)
            assert world.users[user] == "new"
            assert world.known == (Login(user, "new"), "8")


@pytest.mark.parametrize(
    ("wanted", "users", "service", "told"),
    [
        (secret("new", version="8"), {"dump": "else"}, "mo-tp-cn", "accepts neither"),
        (secret("new", version="8"), {"dump": "old"}, "", "does not answer yet"),
        (secret("new", "nobody", "8"), {"dump": "old"}, "mo-tp-cn", "error 20101"),
        (secret("", version="8"), {"dump": "old"}, "mo-tp-cn", "password is empty"),
        (secret("new\n", version="8"), {"dump": "old"}, "mo-tp-cn", "printable ASCII"),
    ],
)
def test_what_cannot_be_done_leaves_everything_as_it_is(monkeypatch, wanted, users, service, told):
    world = World(wanted, record("old"), users=users)

    with pytest.raises((ValueError, SqlError), match=told):
        world.bring(monkeypatch, service=service)

    assert world.users == users
    assert world.known == (Login("dump", "old"), "7")


def test_a_change_needs_no_failed_login_of_the_user_that_is_known(monkeypatch):
    """Failed logins may lock a user, so the login that should work comes first."""
    users = {"dump": "old", "root": "else"}
    world = World(secret("new", "dump", "8"), record("old"), users=users)
    failed: list[str] = []
    accepts = world.accepts

    def watching(entrance: Any, seconds: float, _is_final: Any = None) -> bool:
        accepted = accepts(entrance, seconds)
        if not accepted:
            failed.append(entrance.user)
        return accepted

    world.accepts = watching  # type: ignore[method-assign]
    world.bring(monkeypatch)
    assert failed == ["root"]


REFUSALS = [
    ("Password '{}' is too short, require at least 40 characters", "validate_password.length"),
    ("The password has been used before, please change another one", "password_history"),
    ("internal error: password has expired, please change the password", "has expired"),
]


@pytest.mark.parametrize(("policy", "told"), REFUSALS)
def test_a_password_that_breaks_a_rule_is_refused_and_the_old_one_stays(monkeypatch, policy, told):
    world = World(secret("gehe1m", version="8"), record("old"), users={"dump": "old"})
    world.policy = policy

    with pytest.raises(action.DatabaseRefused, match=told) as caught:
        world.bring(monkeypatch)

    assert "gehe1m" not in str(caught.value)
    assert "gehe1m" not in str(world.objects["Secret", "mo-credential-accepted"]["metadata"])
    assert world.users == {"dump": "old"}
    assert world.known == (Login("dump", "old"), "7")
    assert 0 < caught.value.seconds <= 60


def test_a_refused_password_is_tried_again_less_and_less_often(monkeypatch):
    world = World(secret("new", version="8"), record("old"), users={"dump": "else"})
    now = 1_800_000_000.0
    monkeypatch.setattr(action.time, "time", lambda: now)
    tried = []
    for second in range(0, 3600, 15):
        now = 1_800_000_000.0 + second
        before = world.logins
        with pytest.raises(action.DatabaseRefused, match="accepts neither"):
            world.bring(monkeypatch)
        if world.logins > before:
            tried.append(second)
    assert tried == [0, 60, 180, 420, 900, 1800, 2700]


@pytest.mark.parametrize("how", ["another Secret", "a play"])
def test_a_change_of_the_secret_and_a_play_do_not_wait(monkeypatch, how):
    world = World(secret("new", version="8"), record("old"), users={"dump": "old"})
    world.policy = REFUSALS[0][0]
    with pytest.raises(action.DatabaseRefused):
        world.bring(monkeypatch)
    world.policy = ""
    if how == "another Secret":
        world.objects["Secret", "mo-credential"] = secret("better", version="9")
    assert world.bring(monkeypatch, required=how == "a play") is True
    annotations = world.objects["Secret", "mo-credential-accepted"]["metadata"]["annotations"]
    assert "matrixorigin.io/credential-refusal" not in annotations


@given(
    st.none()
    | st.text(max_size=20)
    | st.dictionaries(
        st.sampled_from(["version", "attempts", "at", "problem"]),
        st.none() | st.integers() | st.floats() | st.text(max_size=5) | st.lists(st.integers()),
    ).map(json.dumps)
)
def test_any_record_of_a_refusal_can_be_read(text):
    live = {"metadata": {"annotations": {"matrixorigin.io/credential-refusal": text}}}
    found = Refusal.of(live, "8")
    assert 0 <= found.remaining(1_800_000_000.0) <= 900
    again = found.following("no", 1_800_000_000.0)
    assert 60 <= again.remaining(1_800_000_000.0) <= 900
    assert Refusal.of({"metadata": {"annotations": again.annotation()}}, "8") == again


@pytest.mark.parametrize("required", [True, False])
def test_a_play_fails_with_what_an_operator_reports(required):
    result = {"secret": "mo-credential", "problem": "no", "rotated": False}

    failure = action._failure({"required": required}, result)

    sentence = "The credential of Secret mo-credential is not in effect: no"
    assert failure == ({"failed": True, "msg": sentence} if required else {})


def test_a_secret_of_somebody_else_is_not_written_to(monkeypatch):
    theirs = record("old")
    theirs["metadata"]["labels"] = {}
    world = World(secret("new", version="8"), theirs, users={"dump": "old"})

    with pytest.raises(ValueError, match="somebody else's"):
        world.bring(monkeypatch)


@pytest.mark.parametrize("there", [True, False])
def test_the_dashboard_reads_it_again(monkeypatch, there):
    deployment = {"kind": "Deployment", "metadata": {"name": "mo-webui", "namespace": "prod"}}
    others = [deployment] if there else []
    world = World(secret("new", version="8"), record("old"), *others, users={"dump": "old"})

    world.bring(monkeypatch, dashboard="mo-webui")

    found = world.objects.get(("Deployment", "mo-webui"))
    note = {"matrixorigin.io/credential-version": "8"}
    assert (found and found["spec"]["template"]["metadata"]["annotations"]) == (
        note if there else None
    )


@pytest.mark.parametrize(
    ("result", "synced", "events", "requeue"),
    [
        ({}, ("True", "AllSetsSynced"), [], ""),
        ({"problem": "", "rotated": False}, ("True", "AllSetsSynced"), [], ""),
        ({"problem": "", "rotated": True}, ("True", "AllSetsSynced"), ["CredentialChanged"], ""),
        ({"problem": "no", "rotated": False}, ("False", "CredentialNotApplied"), [], "60s"),
        ({"problem": "no", "retry": "120s"}, ("False", "CredentialNotApplied"), [], "120s"),
    ],
)
def test_what_is_said_of_it(result, synced, events, requeue):
    observed = {
        "logSet": serving("LogSet", "mo", "3/3"),
        "dnSet": serving("DNSet", "mo"),
        "cnSets": [serving("CNSet", "mo-tp")],
        "credential": secret("new", version="8"),
        "accepted": record("old"),
        "results": {"login": {"secret": "mo-credential", **result}} if result else {},
    }
    plan = plan_of(cluster(), observed)

    told = report_on(cluster(), plan, observed, {}, "", NOW)

    assert states(told["status"])["Synced"] == synced
    assert states(told["status"])["Ready"][0] == "True"
    assert [one["reason"] for one in told["events"]] == events
    assert told["requeue"] == requeue
    if result.get("problem"):
        sentence = "the credential of Secret mo-credential is not in effect: no"
        assert told["status"]["message"] == sentence
