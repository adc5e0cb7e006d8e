# SPDX-License-Identifier: Apache-2.0
"""A server of S3 that answers as it likes: an error of the store, in bounded time and memory.

Whoever is named as the endpoint of a backup chooses every byte of its answers. What is no listing
is not an empty one: nothing may count as gone because a gateway has answered.
"""

from __future__ import annotations

import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.objectstore import (
    errors,
    s3,
    s3_connection,
)
from hypothesis import given, settings
from hypothesis import strategies as st

SECRET = "only-the-store-knows-this"
MIB = 1 << 20
XMLNS = 'xmlns="http://s3.amazonaws.com/doc/2006-03-01/"'


@dataclass(frozen=True)
class Says:
    """One answer.

    Attributes:
        length: announced, if another than that of the body.
    """

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    length: int | None = None


Script = Callable[[str, str], Says]


@contextmanager
def serving(script: Script) -> Iterator[tuple[str, list[str]]]:
    """Serve answers to method and path on the loopback interface; gives the URL, and what came."""
    heard: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_given: object) -> None:
            pass

        def answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            self.rfile.read(length)
            heard.append(f"{self.command} {self.path}")
            says = script(self.command, self.path)
            with suppress(ConnectionError):
                self.send_response(says.status)
                for name, value in says.headers.items():
                    self.send_header(name, value)
                self.send_header(
                    "Content-Length", str(len(says.body) if says.length is None else says.length)
                )
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(says.body)
            if says.length is not None:
                self.close_connection = True

        do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = answer  # noqa: N815

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", heard
    finally:
        server.shutdown()
        server.server_close()


def store_at(url: str) -> s3.S3Store:
    server = s3_connection.Server(
        url=url,
        region="us-east-1",
        by_path=True,
        keys=lambda: s3_connection.Keys("id", SECRET, f"{SECRET}-token"),
        attempts=1,
    )
    return s3.S3Store(s3_connection.Connection(server), "bucket", "data/mo")


@pytest.fixture(autouse=True, scope="module")
def _no_configuration(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    absent = str(tmp_path_factory.mktemp("aws") / "absent")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_CONFIG_FILE", absent)
        patch.setenv("AWS_SHARED_CREDENTIALS_FILE", absent)
        yield


CALLS: dict[str, Callable[[s3.S3Store], object]] = {
    "require": lambda store: store.require(),
    "entries": lambda store: list(store.entries()),
    "folders": lambda store: list(store.folders()),
    "beginning": lambda store: store.beginning("a"),
    "erasable": lambda store: list(store.erasable()),
    "size": lambda store: store.size("a"),
    "read": lambda store: b"".join(store.read("a")),
    "write": lambda store: store.write("a", [b"x"], 1),
    "write parts": lambda store: store.write("a", [bytes(s3.SINGLE + 1)], s3.SINGLE + 1),
    "copy": lambda store: store.copy(store, "a", "b", 1),
    "copy parts": lambda store: store.copy(store, "a", "b", s3.LARGEST_COPY + 1),
    "create": lambda store: store.create("a", b"x"),
    "erase": lambda store: store.erase([s3.Erasable("a"), s3.Erasable("b", upload="u")]),
}


def called(name: str, script: Script) -> object:
    """Return what a call returns, or its error, which keeps what it promises."""
    with serving(script) as (url, _heard):
        store = store_at(url)
        try:
            return CALLS[name](store)
        except errors.StoreError as error:
            text = str(error)
            assert SECRET not in text
            assert len(text) < 5000
            return error


LISTINGS = frozenset({"require", "entries", "folders", "beginning", "erasable"})


def listing(inside: str, root: str = "ListBucketResult") -> bytes:
    return f'<?xml version="1.0"?><{root} {XMLNS}>{inside}</{root}>'.encode()


ODD_BODIES = {
    "nothing": b"",
    "space": b" ",
    "html": b"<html><body>Welcome</body></html>",
    "broken html": b"<!doctype html><p>502<br>",
    "json": b'{"a": 1}',
    "another answer": b"<LocationConstraint/>",
    "empty listing": listing(""),
    "cut": listing("<IsTruncated>false</IsTruncated><Contents><Key>a</Ke")[:-20],
    "not utf-8": b"<a>\xff\xfe</a>",
}


@pytest.mark.parametrize("body", ODD_BODIES.values(), ids=ODD_BODIES)
@pytest.mark.parametrize("name", sorted(LISTINGS))
def test_what_is_no_listing_is_not_an_empty_one(name: str, body: bytes) -> None:
    found = called(name, lambda _method, _path: Says(body))
    assert isinstance(found, errors.StoreError), found


@pytest.mark.parametrize("code", ["InternalError", "SlowDown", "AccessDenied", "NoSuchKey"])
@pytest.mark.parametrize("name", sorted({*CALLS} - {"read", "size"}))
def test_an_error_with_status_200_is_an_error(name: str, code: str) -> None:
    body = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>m</Message></Error>".encode()
    found = called(name, lambda _method, _path: Says(body))
    assert isinstance(found, errors.StoreError), found


PARTS = {
    "no key": "<Contents><Size>1</Size></Contents>",
    "no size": "<Contents><Key>data/mo/a</Key></Contents>",
    "size is a word": "<Contents><Key>data/mo/a</Key><Size>many</Size></Contents>",
    "negative size": "<Contents><Key>data/mo/a</Key><Size>-5</Size></Contents>",
    "huge size": f"<Contents><Key>data/mo/a</Key><Size>{'9' * 5000}</Size></Contents>",
    "odd time": (
        "<Contents><Key>data/mo/a</Key><Size>1</Size><LastModified>soon</LastModified></Contents>"
    ),
    "elsewhere": "<Contents><Key>other/a</Key><Size>1</Size></Contents>",
}


@pytest.mark.parametrize("inside", PARTS.values(), ids=PARTS)
def test_what_is_no_entry_is_an_error(inside: str) -> None:
    body = listing(f"<IsTruncated>false</IsTruncated>{inside}")
    found = called("entries", lambda _method, _path: Says(body))
    assert isinstance(found, errors.StoreError), found


@pytest.mark.parametrize("name", ["entries", "beginning", "erasable"])
def test_a_key_outside_of_the_prefix_is_an_error(name: str) -> None:
    """What is listed is read, copied and erased below the prefix: another name is not ours."""
    inside = "<IsTruncated>false</IsTruncated><Contents><Key>other/a</Key><Size>1</Size></Contents>"
    found = called(name, lambda _method, _path: Says(listing(inside)))
    assert isinstance(found, errors.StoreError), found


@pytest.mark.parametrize(
    ("root", "inside"),
    [
        ("ListMultipartUploadsResult", "<Upload><Key>data/mo/a</Key></Upload>"),
        ("ListMultipartUploadsResult", "<Upload><UploadId>u</UploadId></Upload>"),
        ("ListVersionsResult", "<Version><Key>data/mo/a</Key></Version>"),
        ("ListVersionsResult", "<DeleteMarker><VersionId>1</VersionId></DeleteMarker>"),
    ],
)
def test_what_cannot_be_erased_is_an_error(root: str, inside: str) -> None:
    body = listing(f"<IsTruncated>false</IsTruncated>{inside}", root)
    empty = listing("<IsTruncated>false</IsTruncated>")
    part = "uploads" if "Multipart" in root else "versions"
    found = called("erasable", lambda _method, path: Says(body if part in path else empty))
    assert isinstance(found, errors.StoreError), found


TOKENS: dict[str, Callable[[int], str]] = {
    "the same": lambda _number: "t",
    "two in turn": lambda number: f"t{number % 2}",
    "none": lambda _number: "",
}


@pytest.mark.parametrize("token", TOKENS.values(), ids=TOKENS)
@pytest.mark.parametrize("name", ["entries", "folders", "beginning"])
def test_a_listing_that_goes_in_circles_ends(name: str, token: Callable[[int], str]) -> None:
    numbers = count()

    def script(_method: str, _path: str) -> Says:
        more = f"<NextContinuationToken>{token(next(numbers))}</NextContinuationToken>"
        return Says(listing(f"<IsTruncated>true</IsTruncated>{more}"))

    assert isinstance(called(name, script), errors.Refused)
    assert next(numbers) < 20


def test_a_listing_that_has_nothing_and_goes_on_ends() -> None:
    numbers = count()

    def script(_method: str, _path: str) -> Says:
        token = f"<NextContinuationToken>t{next(numbers)}</NextContinuationToken>"
        return Says(listing(f"<IsTruncated>true</IsTruncated>{token}"))

    assert isinstance(called("entries", script), errors.Refused)
    assert next(numbers) < 300


def test_a_listing_that_repeats_its_keys_ends() -> None:
    numbers = count()

    def script(_method: str, _path: str) -> Says:
        token = f"<NextContinuationToken>t{next(numbers)}</NextContinuationToken>"
        keys = "<Contents><Key>data/mo/a</Key><Size>1</Size></Contents>"
        return Says(listing(f"<IsTruncated>true</IsTruncated>{token}{keys}"))

    assert isinstance(called("entries", script), errors.Refused)
    assert next(numbers) < 20


def bomb(levels: int) -> bytes:
    entities = "".join(
        f'<!ENTITY e{level} "{f"&e{level - 1};" * 10}">' for level in range(1, levels)
    )
    return (
        f'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e0 "aaaaaaaaaa">{entities}]>'
        f"<ListBucketResult><IsTruncated>false</IsTruncated><Name>&e{levels - 1};</Name>"
        "</ListBucketResult>"
    ).encode()


LARGE = {
    "bomb": bomb(10),
    "external": (
        b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/hostname">]>'
        b"<ListBucketResult><IsTruncated>false</IsTruncated><Name>&e;</Name></ListBucketResult>"
    ),
    "deep": listing("<a>" * 200_000 + "</a>" * 200_000),
    "huge": listing("<a>" + "x" * (64 * MIB) + "</a>"),
}


@pytest.mark.parametrize("body", LARGE.values(), ids=LARGE)
def test_large_answers_cost_little(body: bytes) -> None:
    began = time.monotonic()
    with serving(lambda _method, _path: Says(body)) as (url, _heard):
        store = store_at(url)
        tracemalloc.start()
        try:
            with pytest.raises(errors.StoreError):
                list(store.entries())
            most = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert most < 64 * MIB
    assert time.monotonic() - began < 20


def test_an_answer_that_comes_too_slowly_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(s3_connection, "ANSWER_SECONDS", 0.5)

    with slow_server() as url:
        began = time.monotonic()
        with pytest.raises(errors.Unreachable):
            list(store_at(url).entries())
        assert time.monotonic() - began < 5


@contextmanager
def slow_server() -> Iterator[str]:
    """Serve one byte after the other, each well within any time-out."""
    stopped = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_given: object) -> None:
            pass

        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "100000")
            self.end_headers()
            with suppress(ConnectionError):
                while not stopped.wait(0.02):
                    self.wfile.write(b" ")

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        stopped.set()
        server.shutdown()
        server.server_close()


CONTENT = bytes(range(256)) * 40


def resumed(second: Says) -> object:
    """Return what is read of an object whose first answer breaks off in its middle."""
    numbers = count()

    def script(_method: str, _path: str) -> Says:
        first = Says(CONTENT[:5000], headers={"ETag": '"e"'}, length=len(CONTENT))
        return first if next(numbers) == 0 else second

    return called("read", script)


def test_reading_goes_on_where_it_broke_off() -> None:
    span = f"bytes 5000-{len(CONTENT) - 1}/{len(CONTENT)}"
    rest = Says(CONTENT[5000:], 206, {"ETag": '"e"', "Content-Range": span})
    assert resumed(rest) == CONTENT


@pytest.mark.parametrize(
    "second",
    [
        Says(CONTENT, 200, {"ETag": '"e"'}),
        Says(CONTENT[5000:], 200, {"ETag": '"e"'}),
        Says(CONTENT[5000:], 206, {"ETag": '"other"', "Content-Range": "bytes 5000-10239/10240"}),
        Says(CONTENT[4000:], 206, {"ETag": '"e"', "Content-Range": "bytes 4000-10239/10240"}),
        Says(CONTENT[5000:], 206, {"ETag": '"e"', "Content-Range": "x"}),
        Says(CONTENT[5000:] + b"more", 206, {"ETag": '"e"', "Content-Range": "bytes 5000-"}),
        Says(CONTENT[5000:], 206, {"Content-Range": "bytes 5000-10239/10240"}),
    ],
    ids=["from the start", "no range", "changed", "elsewhere", "odd range", "more", "no tag"],
)
def test_reading_does_not_go_on_with_something_else(second: Says) -> None:
    assert isinstance(resumed(second), errors.StoreError)


@pytest.mark.parametrize("name", ["write parts", "copy parts"])
def test_an_upload_without_an_id_is_an_error(name: str) -> None:
    found = called(name, lambda _method, _path: Says(listing("", "InitiateMultipartUploadResult")))
    assert isinstance(found, errors.StoreError)


_texts = st.sampled_from(
    ["", "true", "false", "1", "-1", "1e9", "x" * 300, "&#0;", "&#x1f40d;", "é"]
)
_tags = st.sampled_from(
    [
        "ListBucketResult", "IsTruncated", "Contents", "Key", "Size", "NextContinuationToken",
        "CommonPrefixes", "Prefix", "LastModified", "Error", "Code", "Message", "UploadId", "ETag",
        "DeleteResult", "Deleted", "Version", "VersionId", "Upload", "CopyObjectResult", "Owner",
    ]
)  # fmt: skip
_trees = st.recursive(
    _texts,
    lambda inner: st.lists(st.tuples(_tags, inner), max_size=4).map(
        lambda parts: "".join(f"<{tag}>{text}</{tag}>" for tag, text in parts)
    ),
    max_leaves=12,
)
_bodies = st.one_of(
    st.binary(max_size=60), st.builds(lambda tag, text: f"<{tag}>{text}</{tag}>".encode(), _tags, _trees)
)  # fmt: skip
_headers = st.fixed_dictionaries(
    {},
    optional={
        "ETag": st.sampled_from(["", '"e"', "e" * 500]),
        "Content-Type": st.sampled_from(["application/xml", "text/html", "a/b;charset=nonsense"]),
        "Retry-After": st.sampled_from(["-1", "99999999", "soon"]),
        "Last-Modified": st.sampled_from(["yesterday", "Wed, 99 Oct 2015 07:28:00 GMT"]),
        "x-amz-restore": st.just("x"),
        "Content-Range": st.sampled_from(["x", "bytes 0-1/2"]),
    },
)
_answers = st.builds(
    Says,
    _bodies,
    st.sampled_from([200, 200, 200, 204, 206, 301, 307, 400, 403, 404, 409, 412, 429, 500, 503]),
    _headers,
    st.sampled_from([None, None, None, 5, 10**9]),
)


@settings(max_examples=150)
@given(name=st.sampled_from(sorted(CALLS)), answers=st.lists(_answers, min_size=1, max_size=4))
def test_every_answer_leads_to_a_value_or_to_an_error_of_the_store(
    name: str, answers: list[Says]
) -> None:
    numbers = count()
    began = time.monotonic()
    called(name, lambda _method, _path: answers[min(next(numbers), len(answers) - 1)])
    assert time.monotonic() - began < 20
