# SPDX-License-Identifier: Apache-2.0
"""Endpoints: what is one, what is refused and how, and which of them are one server."""

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.location.endpoints import (
    Endpoint,
    Scope,
    Server,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.location.errors import (
    InvalidLocation,
)
from hypothesis import example, given
from hypothesis import strategies as st

PROD, TEST = Scope("prod"), Scope("test")


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("http://minio.storage:9000", "http://minio.storage:9000"),
        ("http://minio.storage:9000/", "http://minio.storage:9000"),
        ("HTTP://Minio.Storage:80", "http://minio.storage"),
        ("minio:443", "https://minio"),
        ("s3.us-west-2.amazonaws.com", "https://s3.us-west-2.amazonaws.com"),
        ("http://minio_1.example.com.", "http://minio_1.example.com"),
        ("http://10.0.0.1:09000", "http://10.0.0.1:9000"),
        ("http://[FD00:0:0::1]:9000", "http://[fd00::1]:9000"),
        ("https://project.example.co/storage/v1/s3", "https://project.example.co/storage/v1/s3"),
    ],
)
def test_the_normal_form(text: str, normal: str) -> None:
    assert str(Endpoint.parse(text)) == normal


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "has no host"),
        ("http://", "has no host"),
        ("http://minio.storage:9000 ", "write 'http://minio.storage:9000'"),
        (" http://minio.storage", "write 'http://minio.storage'"),
        ("http://minio storage", "must not have blanks"),
        ("http://minio\t:9000", "must not have blanks"),
        ("http://minio:99999", "from 1 to 65535, not '99999'"),
        ("http://minio:0", "from 1 to 65535"),
        ("http://minio:abc", "from 1 to 65535, not 'abc'"),
        ("http://minio:", "from 1 to 65535, not ''"),
        ("http://minio:\u0661", "from 1 to 65535"),
        ("http://[fd00::1:9000", "in brackets"),
        ("http://fd00::1:9000", "in brackets"),
        ("http://[fd00::g]:9000", "no IPv6 address"),
        ("http://[fe80::1%eth0]:9000", "must not have a zone"),
        ("http://10.0.0.256", "no IPv4 address"),
        ("http://127.1", "no IPv4 address"),
        ("http://0x7f000001", "no IPv4 address"),
        ("s3://data/mo", "must begin with http:// or https://, not s3://"),
        ("http://-minio", "has no host"),
        ("http://minio..storage", "has no host"),
        ("http://\N{KELVIN SIGN}8s", "has no host"),
        ("http://müller.example.com", "has no host"),
        ("http:/minio:9000", "from 1 to 65535"),
        ("http://minio/a//b", "empty parts"),
        ("http://minio/../b", "'..'"),
        ("http://minio/a b", "must not have blanks"),
        ("http://minio?x", "must not have a query"),
        ("http://minio#x", "must not have a query or a fragment"),
        ("x" * 1025, "longer than 1024"),
    ],
)
def test_what_is_refused_and_what_to_write(text: str, says: str) -> None:
    with pytest.raises(InvalidLocation) as refusal:
        Endpoint.parse(text)
    assert says in str(refusal.value)


@pytest.mark.parametrize(
    "text", ["http://user:secret@minio:9000", "user:secret@minio", "http://minio:secret@x "]
)
def test_a_password_is_not_repeated(text: str) -> None:
    with pytest.raises(InvalidLocation, match="secretRef") as refusal:
        Endpoint.parse(text)
    assert "secret@" not in str(refusal.value)


@pytest.mark.parametrize(
    "other",
    [
        "minio.storage:9000",
        "http://MINIO.storage:9000/",
        "http://minio.storage.:9000",
        "http://minio.storage.svc:9000",
        "http://minio.storage.svc.cluster.local:9000",
        "https://minio.storage.svc.Cluster.Local.:9000",
        "http://minio.storage.svc.example.internal:9000",
    ],
)
def test_one_service_of_many_names(other: str) -> None:
    scope = Scope("storage", "Example.Internal.")
    assert Endpoint.parse(other).server(scope) == Server("minio.storage", 9000)
    assert Endpoint.parse("http://minio:9000").server(scope) == Server("minio.storage", 9000)


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("http://s3.example.com", "http://s3.example.com:80"),
        ("s3.example.com", "https://S3.example.com:443/"),
        ("http://[::ffff:10.0.0.1]", "http://10.0.0.1"),
        ("http://[fd00::1]", "http://[FD00:0000::0001]"),
        ("http://pod-0.minio.storage", "http://pod-0.minio.storage.svc.cluster.local"),
        ("http://localhost:9000", "http://localhost.:9000"),
    ],
)
def test_one_server_from_everywhere(text: str, other: str) -> None:
    assert Endpoint.parse(text).server(PROD) == Endpoint.parse(other).server(TEST)


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("http://minio:9000", "http://minio:9000"),
        ("http://minio.storage", "http://minio.backups"),
        ("http://minio.storage", "https://minio.storage"),
        ("http://minio.storage:9000", "http://minio.storage:9001"),
        ("http://minio.storage.svc.example.com", "http://minio.storage.svc"),
        ("https://s3.example.com/one", "https://s3.example.com/two"),
    ],
)
def test_different_servers(text: str, other: str) -> None:
    """Where the names are the same, the namespaces of those who look them up are not."""
    assert Endpoint.parse(text).server(PROD) != Endpoint.parse(other).server(TEST)


@pytest.mark.parametrize(
    ("text", "is_aws"),
    [
        ("s3.us-west-2.amazonaws.com", True),
        ("https://s3-us-west-2.amazonaws.com:443", True),
        ("https://s3.dualstack.eu-west-1.amazonaws.com", True),
        ("https://bucket.vpce-1a2b.s3.us-east-1.vpce.amazonaws.com", True),
        ("https://minio-1234.us-east-1.elb.amazonaws.com", False),
        ("https://s3-store-1234.us-east-1.elb.amazonaws.com", False),
        ("https://ec2-203-0-113-1.compute-1.amazonaws.com", False),
        ("https://s3.amazonaws.com.example.com", False),
    ],
)
def test_buckets_of_aws_exist_once(text: str, is_aws: bool) -> None:
    aws = Endpoint.parse("s3.eu-central-1.amazonaws.com").server().store
    assert (Endpoint.parse(text).server().store == aws) is is_aws


@pytest.mark.parametrize(
    ("text", "elsewhere"),
    [
        ("http://minio:9000", "http://minio.prod:9000"),
        ("http://minio.storage:9000", "http://minio.storage:9000"),
        ("http://localhost:9000", "http://localhost:9000"),
        ("http://[::1]:9000", "http://[::1]:9000"),
    ],
)
def test_seen_from_another_namespace(text: str, elsewhere: str) -> None:
    assert str(Endpoint.parse(text).seen_from_elsewhere(PROD)) == elsewhere


_PIECES = ["http", "https", "s3", "://", ":", "/", "[", "]", "::1", "fd00", ".", "..", "minio",
           "svc", "cluster.local", "9000", "80", "443", "99999", " ", "\n", "%", "@", "?", "#",
           "amazonaws.com", "\x00", "é", "\u0661"]  # fmt: skip
HOSTILE = st.one_of(
    st.text(max_size=40),
    st.lists(st.sampled_from(_PIECES), max_size=12).map("".join),
    st.text(st.characters(codec="ascii"), max_size=30).map("http://".__add__),
)
SCOPES = st.builds(
    Scope, st.sampled_from(["", "a", "svc"]), st.sampled_from(["", ".", "svc", "x.y"])
)


@given(HOSTILE, SCOPES)
@example("http://minio:9000", Scope("a", ""))
def test_any_text_is_an_endpoint_or_a_mistake(text: str, scope: Scope) -> None:
    try:
        endpoint = Endpoint.parse(text)
    except InvalidLocation:
        return
    assert Endpoint.parse(str(endpoint)) == endpoint
    assert Endpoint.parse(str(endpoint)).server(scope) == endpoint.server(scope)
    general = endpoint.seen_from_elsewhere(scope)
    assert general.seen_from_elsewhere(scope) == general
    if scope.namespace:
        assert general.server(Scope("other", scope.cluster_domain)) == endpoint.server(scope)


_LABELS = st.from_regex(r"[a-z]([a-z0-9-]{0,5}[a-z0-9])?", fullmatch=True)
_PORTS = st.one_of(st.none(), st.integers(1, 65535))


@given(_LABELS, _LABELS, _PORTS, st.booleans())
def test_the_names_of_a_service_are_one(
    service: str, namespace: str, port: int | None, secure: bool
) -> None:
    tail = "" if port is None else f":{port}"
    scheme = "https" if secure else "http"
    hosts = ["", f".{namespace}", f".{namespace}.svc", f".{namespace}.svc.cluster.local"]
    servers = {
        Endpoint.parse(f"{scheme}://{service.upper()}{host}{dot}{tail}").server(Scope(namespace))
        for host in hosts
        for dot in (["", "."] if host else [""])
    }
    assert len(servers) == 1 or service == "localhost"
