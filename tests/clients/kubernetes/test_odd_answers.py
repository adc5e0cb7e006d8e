# SPDX-License-Identifier: Apache-2.0
"""What is no answer of an API server is an error: not an object without fields, nor an empty list."""

from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.kubernetes.applying import (
    Writer,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.kubernetes.errors import (
    ApiError,
    KubeError,
    NotFound,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.kubernetes.selecting import (
    Selection,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.kubernetes.session import (
    Session,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support import hostile

POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "prod"}}
FUZZ = settings(
    deadline=None, derandomize=True, max_examples=150, suppress_health_check=[HealthCheck.too_slow]
)


def session(body: bytes, status: int = 200, headers: dict[str, str] | None = None) -> Session:
    """A session whose server always answers the same."""

    def request(*_given: Any, **_how: Any) -> Any:
        return SimpleNamespace(status=status, data=body, headers=headers or {})

    pool: Any = SimpleNamespace(request=request, clear=lambda: None)
    configuration = SimpleNamespace(host="http://api", api_key={}, get_api_key_with_prefix=None)
    return Session(pool, configuration, {})


@pytest.fixture(autouse=True)
def _no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    where = "ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.kubernetes"
    monkeypatch.setattr(f"{where}.session.request_headers", lambda *_given: {})
    monkeypatch.setattr(f"{where}.session.time", SimpleNamespace(sleep=lambda _seconds: None))


def pods(given: Session) -> list[dict[str, Any]]:
    return Selection(api_version="v1", kind="Pod", namespace="prod", labels={"a": "b"}).list(given)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b'"text"',
        b"{}",
        b'{"metadata":{}}',
        b'{"items":{},"metadata":{}}',
        b'{"items":"","metadata":{}}',
        b'{"items":false}',
        b'{"items":[null]}',
        b'{"items":[{}]}',
        b'{"items":[{"metadata":{"name":1}}]}',
        b'{"kind":"Status","status":"Success"}',
        b"<html><body>200</body></html>",
        b'{"items":[{"metadata":{"name":"a"',
    ],
)
def test_what_is_no_list_is_not_an_empty_one(body: bytes) -> None:
    with pytest.raises(ApiError, match=r"^list Pods: "):
        pods(session(body))


def test_a_list_that_goes_on_with_what_it_began_with_ends() -> None:
    body = b'{"items":[{"metadata":{"name":"a"}}],"metadata":{"continue":"again"}}'
    with pytest.raises(ApiError, match="does not end"):
        pods(session(body))


def test_a_list_of_nothing_is_empty() -> None:
    """Go writes a slice that was never made as null."""
    assert pods(session(b'{"items":null,"metadata":{}}')) == []
    assert pods(session(b'{"items":[],"metadata":{}}')) == []


@pytest.mark.parametrize("body", [b"", b"null", b"[]", b"{}", b'{"metadata":[]}', b"<html>"])
def test_what_is_no_object_is_not_one(body: bytes) -> None:
    with pytest.raises(ApiError, match=r"^get Pod prod/a: "):
        Writer(session(body), field_manager="one").get(POD)


@pytest.mark.parametrize(
    ("body", "is_missing"),
    [
        (b'{"kind":"Status","reason":"NotFound"}', True),
        (b"404 page not found\n", True),
        (b"", True),
        (b"<html><body>404 Not Found</body></html>", False),
        (b"no such host", False),
    ],
)
def test_what_something_else_does_not_find_may_exist(body: bytes, *, is_missing: bool) -> None:
    """A load balancer without its backend knows nothing about objects."""
    given = Writer(session(body, 404), field_manager="one")
    if is_missing:
        assert given.get(POD) is None
        return
    with pytest.raises(ApiError) as caught:
        given.get(POD)
    assert not isinstance(caught.value, NotFound)


@pytest.mark.parametrize(
    "body", [b"", b"{}", b"null", b'{"resources":{}}', b'{"resources":[{"kind":"A"}]}', b"<html>"]
)
def test_what_names_no_kinds_does_not_say_that_one_is_not_served(body: bytes) -> None:
    of_others = {**POD, "apiVersion": "example.com/v1", "kind": "A"}
    with pytest.raises(ApiError, match=r"^discover example.com/v1: ") as caught:
        Writer(session(body), field_manager="one").get(of_others)
    assert not isinstance(caught.value, NotFound)


@FUZZ
@given(hostile.answers(), st.booleans())
def test_every_answer_is_an_object_or_an_error(answer: hostile.Answer, is_list: bool) -> None:
    given = session(b"".join(answer.body), answer.status, answer.headers)
    try:
        if is_list:
            assert all(one["metadata"]["name"] for one in pods(given))
        else:
            found = Writer(given, field_manager="one").get(POD)
            assert found is None or isinstance(found["metadata"], dict)
    except KubeError as error:
        assert len(str(error)) < 5000  # noqa: PT017
