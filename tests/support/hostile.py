# SPDX-License-Identifier: Apache-2.0
"""What a tenant may write into an object, and what a peer may answer, at its worst.

Hypothesis strategies for objects, for answers of an API server and for watches files, and a server
that gives such answers. Documents may be nested deeper than Python's recursion allows, so that they
are written as text: :func:`encode` takes :class:`Deep` for such a part.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from hypothesis import strategies as st

DEPTHS = (90, 150, 500, 980, 2000, 9000)
"""Levels around every limit: ours, those of Python's recursion, and the API server's 10,000."""
_MARK = "\u241fdeep:"


@dataclass(frozen=True)
class Deep:
    """A value that is nested this deep: mappings, or lists."""

    levels: int
    is_list: bool = False

    @property
    def text(self) -> str:
        """As JSON."""
        begin, end = ("[", "]") if self.is_list else ('{"a":', "}")
        return f"{begin * self.levels}1{end * self.levels}"


def encode(document: Any) -> bytes:
    """The document as JSON; lone surrogates become escapes, as Python and JavaScript write them."""
    deep: list[Deep] = []

    def default(value: Any) -> str:
        if not isinstance(value, Deep):
            raise TypeError(f"{type(value).__name__} is no part of a document")
        deep.append(value)
        return f"{_MARK}{len(deep) - 1}"

    text = json.dumps(document, default=default)
    for number, value in enumerate(deep):
        text = text.replace(json.dumps(f"{_MARK}{number}"), value.text)
    return text.encode()


STRINGS = (
    "",
    "{{ lookup('pipe', 'id') }}",
    "{% raw %}",
    "{{",
    "!unsafe x",
    "!vault |\n  $ANSIBLE_VAULT;1.1;AES256\n  00",
    "$ANSIBLE_VAULT;1.1;AES256\n3030",
    "*anchor",
    "---",
    "<<",
    "yes",
    "null",
    "0x1f",
    "1e999",
    "NaN",
    "../../../../livez",
    "..",
    ".",
    "a/b",
    "a%2fb",
    "a?b#c",
    "a\x00b",
    "a\r\nb: c",
    "\ufeff",
    "\u2028",
    "\u202eabc",
    "e\u0301",
    "\U0001f40d",
    "a" * 300,
    "b" * 70_000,
    "'; drop table t; --",
    "$(id)",
    "-rf",
    "~root",
)
"""Texts that mean something to a template, YAML, a path, a URL, a header, a query or a shell."""

SURROGATES = ("\ud800", "a\udfffb")
"""Halves of characters: Python has them in texts, and no encoding has."""

KEYS = (
    "__ansible_unsafe",
    "__ansible_vault",
    "__ansible_type",
    "ansible_connection",
    "_ansible_verbosity",
    "__class__",
    "items",
    "keys",
    "copy",
    "<<",
    "",
    ".",
    "a.b",
    "~0/~1",
    "{{ 1 }}",
    "resourceVersion",
    "vars",
    "hostvars",
    "omit",
    "{}",
    "\u00e9",
    "a" * 300,
)
"""Names of keys with a meaning for Ansible, Jinja, YAML or JSON pointers."""

texts = st.one_of(st.sampled_from(STRINGS), st.text(max_size=20))
"""Texts that can be part of JSON."""

keys = st.one_of(st.sampled_from(KEYS), texts)
"""Names of keys."""

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([2**63, -(2**63) - 1, 10**400, 0, -1]),
    st.floats(allow_nan=False, allow_infinity=False),
    texts,
)
"""Values that are neither lists nor mappings."""

deep = st.builds(Deep, st.sampled_from(DEPTHS), st.booleans())
"""Values that are nested deeper than a program may expect."""

values = st.recursive(
    st.one_of(scalars, deep),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(keys, inner, max_size=4)),
    max_leaves=12,
)
"""Any value of a document; :func:`encode` makes bytes of it."""

flat_values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(keys, inner, max_size=4)),
    max_leaves=12,
)
"""Any value of a document that is not nested deep."""

names = st.one_of(
    st.sampled_from(["a", "artifacts", "a.b", "x" * 253, "0", "..", ".", "a/b", "a%2fb", ""]), texts
)
"""Names, most of which no API server takes: owner references and annotations have such."""


def conditions(inner: st.SearchStrategy[Any] = values) -> st.SearchStrategy[Any]:
    """Return what may stand in ``status.conditions`` of a kind whose schema leaves it open."""
    condition = st.one_of(
        inner,
        st.fixed_dictionaries(
            {},
            optional={
                "type": st.one_of(st.sampled_from(["Running", "Successful", "Failure"]), inner),
                "status": st.one_of(st.sampled_from(["True", "False"]), inner),
                "reason": inner,
                "message": inner,
                "lastTransitionTime": inner,
                "ansibleResult": inner,
            },
        ),
    )
    return st.one_of(inner, st.lists(condition, max_size=4))


def statuses(inner: st.SearchStrategy[Any] = values) -> st.SearchStrategy[Any]:
    """Return what may stand in ``status`` of a kind whose schema leaves it open."""
    return st.one_of(
        inner, st.fixed_dictionaries({}, optional={"conditions": conditions(inner), "phase": inner})
    )


def _annotations() -> st.SearchStrategy[dict[str, str]]:
    known = dict.fromkeys(
        (
            "ansible.sdk.operatorframework.io/reconcile-period",
            "ansible.sdk.operatorframework.io/max-runner-artifacts",
            "ansible.sdk.operatorframework.io/verbosity",
            "operator-sdk/primary-resource",
        ),
        texts,
    )
    return st.fixed_dictionaries({}, optional=known)


@st.composite
def objects(
    draw: st.DrawFn,
    api_version: str = "app.example.com/v1",
    kind: str = "Database",
    name: str = "hostile",
    namespace: str = "default",
    inner: st.SearchStrategy[Any] = values,
) -> dict[str, Any]:
    """Draw an object as an API server may store it: metadata in order, all else as it likes."""
    reference = st.fixed_dictionaries(
        {"apiVersion": st.just(api_version), "kind": st.just(kind), "name": names, "uid": names}
    )
    metadata = {
        "name": name,
        "namespace": namespace,
        "uid": "0e5a-uid",
        "resourceVersion": str(draw(st.integers(1, 10**6))),
        "generation": draw(st.integers(1, 3)),
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "annotations": draw(_annotations()),
        "ownerReferences": draw(st.lists(reference, max_size=2)),
        "managedFields": draw(st.lists(st.fixed_dictionaries({"fieldsV1": inner}), max_size=2)),
    }
    rest = draw(
        st.fixed_dictionaries(
            {}, optional={"spec": inner, "status": statuses(inner), "data": inner}
        )
    )
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **rest}


def odd_objects() -> st.SearchStrategy[Any]:
    """Return what no API server of Kubernetes stores, and another peer may answer."""
    metadata = st.one_of(
        values,
        st.fixed_dictionaries(
            {},
            optional={
                name: st.one_of(values, texts)
                for name in (
                    "name",
                    "namespace",
                    "uid",
                    "resourceVersion",
                    "generation",
                    "labels",
                    "annotations",
                    "finalizers",
                    "ownerReferences",
                    "creationTimestamp",
                    "deletionTimestamp",
                    "continue",
                )
            },
        ),
    )
    return st.one_of(
        values, st.fixed_dictionaries({"metadata": metadata}, optional={"spec": values})
    )


@dataclass(frozen=True)
class Answer:
    """One answer of a server.

    Attributes:
        body: sent in these pieces.
        is_cut: whether the connection breaks before the end that was announced.
    """

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: tuple[bytes, ...] = ()
    is_cut: bool = False


PAYLOADS = (
    b"",
    b" ",
    b"null",
    b"[]",
    b'"text"',
    b"1",
    b"true",
    b"{",
    b'{"metadata":',
    b"<html><body>502 Bad Gateway</body></html>",
    b"\xff\xfe{}",
    b'{"a":"\xff"}',
    b'{"a":"\\ud800"}',
    b'{"metadata":null}',
    b'{"metadata":[]}',
    b'{"metadata":{}}',
    b'{"items":null,"metadata":{}}',
    b'{"items":{},"metadata":{"resourceVersion":"1"}}',
    (
        b'{"items":[null,1,"x",{},{"metadata":null},{"metadata":{"name":1}}],'
        b'"metadata":{"resourceVersion":"1"}}'
    ),
    b'{"items":[],"metadata":{"resourceVersion":1}}',
    b'{"spec":"x","metadata":{"name":"x"}}',
    b'{"spec":{"leaseDurationSeconds":"long","leaseTransitions":"x","holderIdentity":1}}',
    b'{"resources":[{"name":1},{"name":"x"},"y",null,{"name":"z","kind":{},"verbs":"get"}]}',
    b'{"kind":"Status","status":"Failure","message":{"a":1},"reason":[],"details":"x","code":"x"}',
    b'{"a":1}{"a":2}',
    b'{"a":1e999}',
    b"[" * 100_000,
    encode({"metadata": {"resourceVersion": "1"}, "spec": Deep(2000)}),
    encode({"metadata": {"resourceVersion": "1"}, "items": [{"spec": Deep(2000)}]}),
    b"x" * 200_000,
)
"""Bodies that are not what was asked for."""

RETRY_AFTER = ("", "-1", "0", "1e9", "9" * 400, "\u00b2", "soon", "Wed, 21 Oct 2015 07:28:00 GMT")
"""Values of the header."""

_retry_after = st.sampled_from([value for value in RETRY_AFTER if value.isascii()])


def answers(
    payloads: st.SearchStrategy[bytes] | None = None,
) -> st.SearchStrategy[Answer]:
    """Return answers to any request."""
    bodies = payloads or st.one_of(st.sampled_from(PAYLOADS), odd_objects().map(encode))
    statuses_ = st.sampled_from([200, 200, 200, 201, 204, 301, 400, 404, 409, 410, 429, 500, 503])
    headers = st.fixed_dictionaries(
        {},
        optional={
            "Content-Type": st.sampled_from(["application/json", "text/html", "x", "a/b;c="]),
            "Retry-After": _retry_after,
        },
    )
    return st.builds(
        Answer, statuses_, headers, bodies.map(lambda body: (body,)), st.sampled_from([False, True])
    )


LINES = (
    b"",
    b"{",
    b"null",
    b"[]",
    b"{}",
    b'{"type":"ADDED"}',
    b'{"type":1,"object":{}}',
    b'{"type":"NEW","object":{"metadata":{"name":"x","resourceVersion":"5"}}}',
    b'{"type":"ADDED","object":null}',
    b'{"type":"ADDED","object":{"metadata":{"name":null}}}',
    b'{"type":"MODIFIED","object":{"metadata":{"name":"x"}}}',
    b'{"type":"BOOKMARK","object":{}}',
    b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":{}}}}',
    b'{"type":"ERROR"}',
    b'{"type":"ERROR","object":"gone"}',
    b'{"type":"ERROR","object":{"message":"no code"}}',
    b'{"type":"ERROR","object":{"code":"410","reason":{}}}',
    b'{"type":"ERROR","object":{"code":410}}',
    b'\xff{"type":"ADDED"}',
    b'{"type":"ADDED","object":{"metadata":{"name":"\xff"}}}',
    b'{"type":"ADDED","object":{"metadata":{"name":"\\ud800","resourceVersion":"6"}}}',
    b'{"type":' + b"[" * 20_000,
    b"x" * 300_000,
)
"""Lines of a watch that are no events."""


def lines() -> st.SearchStrategy[bytes]:
    """Return lines of a watch, without their ends."""
    event = st.fixed_dictionaries(
        {
            "type": st.sampled_from(["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"]),
            "object": odd_objects(),
        }
    )
    return st.one_of(st.sampled_from(LINES), event.map(encode))


def watch_streams() -> st.SearchStrategy[Answer]:
    """Return watches: some lines, the last of which may be cut."""

    def stream(found: list[bytes], is_cut: bool) -> Answer:
        body = b"".join(line + b"\n" for line in found)
        return Answer(body=(body[:-5] if is_cut else body,), is_cut=is_cut)

    return st.builds(stream, st.lists(lines(), max_size=4), st.booleans())


WATCHES = (
    "",
    "---\n",
    "[]\n---\n",
    "- {}\n",
    "- null\n",
    "- &a [*a]\n",
    "&a [*a]\n",
    "- &a {vars: *a}\n",
    "- {<<: &a {<<: *a}}\n",
    "- !!python/object/apply:os.system [id]\n",
    "- {role: roles/thing, version: v1, group: g, kind: K}\n---\n- {role: other}\n",
    "{a: b}",
    "[" * 5000,
    "- " * 3000,
    "- {vars: {? {a: b} : c}}\n",
    "- {vars: {? [a] : c}}\n",
    "- {version: 0x, kind: 1_, group: 08}\n",
    "- {reconcilePeriod: 99999999999999999999h}\n",
    "\ufeff- {}\n",
    "- \x00\n",
    "- {kind: \u00e9, version: ..%2f, group: ../..}\n",
    "- {kind: K, version: v1, group: g, role: [1]}\n",
    "- {maxRunnerArtifacts: 5.0}\n",
    "%YAML 9.9\n---\n[]\n",
    "- " + "{a: " * 900 + "1" + "}" * 900 + "\n",
)
"""Watches files that are none."""


def watches_documents() -> st.SearchStrategy[str]:
    """Return texts of watches files: JSON is YAML, so that hostile values serve as well."""
    names = [
        "group",
        "version",
        "kind",
        "role",
        "playbook",
        "vars",
        "finalizer",
        "selector",
        "references",
        "members",
        "admission",
        "retry",
        "probe",
        "isolation",
        "reconcilePeriod",
        "maxRunnerArtifacts",
        "manageStatus",
        "blacklist",
        "precheck",
    ]
    entry = st.one_of(
        flat_values,
        st.fixed_dictionaries({}, optional=dict.fromkeys(names, flat_values)),
    )
    written = st.lists(entry, max_size=3).map(json.dumps)
    return st.one_of(st.sampled_from(WATCHES), written, st.text(max_size=80))


Script = Callable[[web.Request], Answer]


class HostileServer:
    """Answers each request as a script says.

    Attributes:
        url: where it listens.
        requests: method and raw path with query of all that came.
    """

    def __init__(self, script: Script) -> None:
        self.url = ""
        self.requests: list[str] = []
        self._script = script

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer one request."""
        self.requests.append(f"{request.method} {request.raw_path}")
        answer = self._script(request)
        response = web.StreamResponse(status=answer.status, headers=answer.headers)
        if answer.is_cut and answer.body:
            response.content_length = sum(map(len, answer.body)) + 10
        await response.prepare(request)
        for part in answer.body:
            with contextlib.suppress(ConnectionError):
                await response.write(part)
        if answer.is_cut and request.transport is not None:
            request.transport.close()
        return response


@contextlib.asynccontextmanager
async def hostile_server(script: Script | Sequence[Answer]) -> AsyncIterator[HostileServer]:
    """Run a server with a script, or with answers that are given one after the other.

    After the last answer of a sequence every request is answered with 503.
    """
    waiting = iter(()) if callable(script) else iter(script)
    chosen = script if callable(script) else lambda _request: next(waiting, Answer(status=503))
    server = HostileServer(chosen)
    app = web.Application(client_max_size=1 << 28)
    app.router.add_route("*", "/{path:.*}", server.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield server
    finally:
        await runner.cleanup()
