# SPDX-License-Identifier: Apache-2.0
"""The Secrets that tell applications how to connect: which there are, what they hold, what is said."""

import base64
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
import yaml
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api import names
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.cluster.connection import (
    Connection,
    Target,
    connection_secret,
    login_in,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.cluster.root_credential import (
    Login,
)
from hypothesis import given
from hypothesis import strategies as st

from tests.support import resources as r
from tests.support.builders import NOW, serving, states
from tests.support.passes import plan_of, report_on

Json = dict[str, Any]
GOLDEN = Path(__file__).parent / "golden"
TLS = {"secretRef": {"name": "mo-tls"}}
PROXY = {"replicas": 1}


def cluster(*, uid: str = "u-1", recorded: tuple[str, ...] = (), **spec: Any) -> Json:
    made: Json = r.cluster(**{"connectionSecret": {}, **spec})
    if uid:
        made["metadata"] |= {"uid": uid, "generation": 2}
    if recorded:
        made["status"] = {"connectionSecrets": list(recorded)}
    return made


def live(kind: str, name: str, **spec: Any) -> Json:
    found: Json = serving(kind, name)
    found["metadata"]["namespace"] = "prod"
    found["spec"] = spec
    return found


def decided(resource: Json, **observed: Any) -> Connection:
    return Connection.read(plan_of(resource, observed)["connection"])


def leads(resource: Json, **observed: Any) -> dict[str, str]:
    """Return the host of each Secret, with ``+`` before it where it has TLS."""
    targets = decided(resource, **observed).targets
    return {one.name: ("+" if one.tls else "") + one.host for one in targets}


GROUP = {"mo-connection.tp": "mo-tp-cn.prod.svc"}


@pytest.mark.parametrize(
    ("resource", "observed", "expected"),
    [
        (cluster(), {}, {"mo-connection": "mo-tp-cn.prod.svc", **GROUP}),
        (cluster(proxy=PROXY), {}, {"mo-connection": "mo-proxy.prod.svc", **GROUP}),
        (
            cluster(clusterDomain="example"),
            {},
            dict.fromkeys(("mo-connection", "mo-connection.tp"), "mo-tp-cn.prod.svc.example"),
        ),
        (
            cluster(proxy=PROXY, tls=TLS),
            {},
            {"mo-connection": "+mo-proxy.prod.svc", **GROUP},
        ),
        (
            cluster(tls=TLS),
            {},
            dict.fromkeys(("mo-connection", "mo-connection.tp"), "+mo-tp-cn.prod.svc"),
        ),
        (
            cluster(proxy=PROXY),
            {"cnSets": [live("CNSet", "mo-tp")], "proxySet": None},
            {"mo-connection": "mo-tp-cn.prod.svc", **GROUP},
        ),
        (
            cluster(proxy=PROXY, tls=TLS),
            {"cnSets": [live("CNSet", "mo-tp")], "proxySet": live("ProxySet", "mo")},
            {"mo-connection": "mo-proxy.prod.svc", **GROUP},
        ),
        (cluster(connectionSecret=r.DELETE), {}, {}),
    ],
    ids=[
        *("the first group", "the proxy", "a domain", "TLS of the proxy", "TLS of the group"),
        *("a proxy that waits", "TLS that waits", "none asked for"),
    ],
)
def test_what_each_leads_to(resource, observed, expected):
    assert leads(resource, **observed) == expected


def test_each_group_has_one():
    groups = [{"name": "tp", "replicas": 1}, {"name": "ap", "replicas": 1}]
    found = leads(cluster(cnGroups=groups))
    assert found == {
        "mo-connection": "mo-tp-cn.prod.svc",
        **GROUP,
        "mo-connection.ap": "mo-ap-cn.prod.svc",
    }


BOTH = ("mo-connection", "mo-connection.tp")


@pytest.mark.parametrize(
    ("resource", "expected"),
    [
        (cluster(recorded=BOTH), []),
        (cluster(recorded=(*BOTH, "mo-connection.old")), ["mo-connection.old"]),
        (cluster(connectionSecret=r.DELETE, recorded=BOTH), list(BOTH)),
        (cluster(connectionSecret=r.DELETE), []),
        (cluster(uid=""), []),
        (cluster(uid="", connectionSecret=r.DELETE), list(BOTH)),
    ],
    ids=[
        *("all desired", "a group that is gone", "the field is gone", "never asked for"),
        *("a playbook", "a playbook without the field"),
    ],
)
def test_what_is_given_up(resource, expected):
    assert list(decided(resource).obsolete) == expected


def test_a_paused_cluster_keeps_what_it_has():
    resource = cluster(recorded=BOTH)
    resource["metadata"]["annotations"] = {"matrixorigin.io/paused": "true"}
    plan = plan_of(resource, {})
    assert plan["connection"] == {}
    told = report_on(resource, plan, {"logSet": None}, {}, "", NOW)["status"]
    assert told["connectionSecrets"] == list(BOTH)
    assert told["binding"] == {"name": "mo-connection"}


NAME = st.from_regex(r"[a-z]([-a-z0-9]{0,8}[a-z0-9])?", fullmatch=True)
OWNER = st.tuples(NAME, st.just("") | NAME)


@given(OWNER, OWNER)
def test_no_two_have_one_name(one, other):
    assert (names.connection_name(*one) == names.connection_name(*other)) == (one == other)


def entries(login: Login, database: str = "", tls: str = "") -> dict[str, str]:
    """Return what a Secret holds, as text."""
    asked = {"database": database} if database else {}
    target = Target(name="mo-connection", host="mo-proxy.prod.svc", holder="mo-log", tls=tls)
    authority = "PEM\n" if tls else ""
    made = connection_secret(cluster(connectionSecret=asked), target, login, authority, None)
    return {key: base64.b64decode(value).decode() for key, value in made["data"].items()}


@pytest.mark.parametrize(
    ("name", "login", "database", "tls"),
    [
        ("plain", Login("dump", "secret"), "", ""),
        ("tls", Login("shop:app", "p@ss/w:rd? #%&'\"+"), "orders", "mo-tls"),
    ],
)
def test_what_one_holds(request, name, login, database, tls):
    asked = {"database": database} if database else {}
    target = Target(name="mo-connection", host="mo-proxy.prod.svc", holder="mo-log", tls=tls)
    made = connection_secret(
        cluster(connectionSecret=asked), target, login, "PEM\n" if tls else "", None
    )
    readable = {**made, "data": entries(login, database, tls)}
    text = yaml.safe_dump(readable, sort_keys=True, width=200)
    golden = GOLDEN / f"connection-{name}.yaml"
    if request.config.getoption("--regenerate-golden", default=False):
        golden.write_text(text)
    assert golden.read_text() == text


PRINTABLE = st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1, max_size=40)
DATABASE = st.just("") | st.from_regex(r"[A-Za-z0-9_$-]{1,20}", fullmatch=True)
LOGIN = st.builds(Login, PRINTABLE, PRINTABLE)


@given(LOGIN, DATABASE, st.sampled_from(["", "mo-tls"]))
def test_a_uri_says_what_it_was_made_of(login, database, tls):
    found = urlsplit(entries(login, database, tls)["uri"])
    user, password = (unquote(one or "") for one in (found.username, found.password))
    assert (found.scheme, found.hostname, found.port) == ("mysql", "mo-proxy.prod.svc", 6001)
    assert (user, password, unquote(found.path)) == (login.user, login.password, f"/{database}")
    assert parse_qs(found.query) == ({"ssl-mode": ["VERIFY_IDENTITY"]} if tls else {})


@given(LOGIN, DATABASE, st.sampled_from(["", "mo-tls"]))
def test_a_jdbc_uri_says_what_it_was_made_of(login, database, tls):
    """Connector/J splits at ``?``, ``&`` and ``=``, and decodes what is between (its
    ConnectionUrlParser), where a plus sign is a space.
    """
    text = entries(login, database, tls)["jdbc-uri"]
    found = urlsplit(text.removeprefix("jdbc:"))
    assert text.startswith("jdbc:mysql://mo-proxy.prod.svc:6001/")
    assert unquote(found.path) == f"/{database}"
    options = {"user": [login.user], "password": [login.password]}
    verified = {"sslMode": ["VERIFY_IDENTITY"]} if tls else {}
    assert parse_qs(found.query, strict_parsing=True) == {**options, **verified}


def parsed_dsn(dsn: str) -> tuple[str, str, str, str]:
    """Return user, password, address and the rest, as ParseDSN of go-sql-driver/mysql 1.8 does."""
    left, slash, rest = dsn.rpartition("/")
    assert slash
    credentials, at, address = left.rpartition("@")
    assert at
    user, _colon, password = credentials.partition(":")
    return user, password, address, rest


@given(LOGIN, DATABASE, st.sampled_from(["", "mo-tls"]))
def test_a_dsn_of_go_says_what_it_was_made_of(login, database, tls):
    found = entries(login, database, tls)
    if ":" in login.user and "#" in login.user:
        assert "go-dsn" not in found
        return
    user, password, address, rest = parsed_dsn(found["go-dsn"])
    # MatrixOne takes one for the other.
    assert user == login.user.replace(":", "#")
    assert password == login.password
    assert address == "tcp(mo-proxy.prod.svc:6001)"
    assert rest == database + ("?tls=true" if tls else "")


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (None, "Secret app has no username"),
        ({"username": encoded("app")}, "Secret app has no password"),
        ({"password": encoded("x")}, "Secret app has no username"),
        (
            {"username": encoded("app"), "password": encoded("hidden\n")},
            "Secret app: password has a character beyond printable ASCII, such as a line break at its end",
        ),
        ({"username": encoded("app"), "password": "//8="}, "username and password must be UTF-8"),
    ],
)
def test_a_login_that_cannot_be_used_is_told_without_it(data, problem):
    with pytest.raises(ValueError, match=r".") as raised:
        login_in({"data": data}, "app")
    assert str(raised.value) == problem


def test_a_login_of_the_user():
    data = {"username": encoded("app"), "password": encoded("secret")}
    assert login_in({"data": data}, "app") == Login("app", "secret")


@pytest.mark.parametrize(
    ("before", "result", "synced", "secrets", "requeue"),
    [
        ((), {}, "AllSetsSynced", None, ""),
        ((), {"secrets": list(BOTH), "problem": ""}, "AllSetsSynced", BOTH, ""),
        (BOTH, {}, "AllSetsSynced", BOTH, ""),
        (BOTH, {"secrets": [], "problem": ""}, "AllSetsSynced", None, ""),
        (
            BOTH,
            {"secrets": list(BOTH), "problem": "no"},
            "ConnectionSecretNotApplied",
            BOTH,
            "15s",
        ),
    ],
    ids=["none", "written", "not asked", "given up", "problem"],
)
def test_what_is_said(before, result, synced, secrets, requeue):
    observed = {
        "logSet": serving("LogSet", "mo", "3/3"),
        "dnSet": serving("DNSet", "mo"),
        "cnSets": [live("CNSet", "mo-tp")],
        "results": {"connection": result} if result else {},
    }
    resource = cluster(recorded=before)
    told = report_on(resource, plan_of(resource, observed), observed, {}, "", NOW)
    assert states(told["status"])["Synced"][1] == synced
    assert states(told["status"])["Ready"][0] == "True"
    assert told["status"].get("connectionSecrets") == (secrets and list(secrets))
    binding = {"name": "mo-connection"} if secrets else None
    assert told["status"].get("binding") == binding
    assert told["requeue"] == requeue


def test_a_group_alone_is_no_binding_of_the_cluster():
    """The Secret of the cluster may be somebody else's."""
    observed = {
        "logSet": serving("LogSet", "mo", "3/3"),
        "results": {"connection": {"secrets": ["mo-connection.tp"], "problem": "it is not ours"}},
    }
    told = report_on(cluster(), plan_of(cluster(), observed), observed, {}, "", NOW)["status"]
    assert told["connectionSecrets"] == ["mo-connection.tp"]
    assert "binding" not in told
