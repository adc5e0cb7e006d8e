# SPDX-License-Identifier: Apache-2.0
"""The pure parts of the Kubernetes client: options, errors, comparisons, plain values."""

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.comparing import (
    differing_paths,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.plain import plain
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.kubernetes import (
    connection,
    differences,
    errors,
    owning,
)


@pytest.mark.parametrize(
    ("arguments", "environment", "expected"),
    [
        ({}, {}, {}),
        ({"host": "https://a"}, {"K8S_AUTH_HOST": "https://b"}, {"host": "https://a"}),
        ({"host": None}, {"K8S_AUTH_HOST": "https://b"}, {"host": "https://b"}),
        ({}, {"K8S_AUTH_VERIFY_SSL": "no"}, {"validate_certs": False}),
        ({}, {"K8S_AUTH_VALIDATE_CERTS": "true"}, {"validate_certs": True}),
        ({"validate_certs": False}, {"K8S_AUTH_VERIFY_SSL": "yes"}, {"validate_certs": False}),
        ({}, {"K8S_AUTH_SSL_CA_CERT": "/ca"}, {"ca_cert": "/ca"}),
        (
            {},
            {"K8S_AUTH_CERT_FILE": "/c", "K8S_AUTH_KEY_FILE": "/k"},
            {"client_cert": "/c", "client_key": "/k"},
        ),
        ({}, {"K8S_AUTH_IMPERSONATE_GROUPS": "a,b"}, {"impersonate_groups": ["a", "b"]}),
        ({}, {"K8S_AUTH_PROXY_HEADERS_USER_AGENT": "me"}, {"proxy_headers": {"user_agent": "me"}}),
        ({}, {"KUBECONFIG": "/a:/b"}, {"default_config": "/a:/b"}),
        (
            {},
            {"K8S_AUTH_KUBECONFIG": "/a", "KUBECONFIG": "/b"},
            {"kubeconfig": "/a", "default_config": "/b"},
        ),
    ],
)
def test_options_and_variables(arguments, environment, expected):
    """Options of the task win over K8S_AUTH_* variables, under the names kubernetes.core knows."""
    assert connection.resolve_options(arguments, environment) == expected


def headers_of(options):
    return dict(connection.request_headers(connection.load_configuration(options), options))


def test_credentials_in_options_need_no_kubeconfig():
    """Host and token, or user and password, are enough; a kubeconfig is not even looked at."""
    direct = {"host": "https://a/", "default_config": "/nowhere"}

    assert headers_of({**direct, "api_key": "t"}) == {"authorization": "Bearer t"}
    basic = headers_of({**direct, "username": "u", "password": "p"})
    assert basic == {"authorization": "Basic dTpw"}
    assert connection.load_configuration({**direct, "api_key": "t"}).host == "https://a"


def test_impersonation():
    """User and every group are sent."""
    options = {
        "host": "https://a",
        "api_key": "t",
        "impersonate_user": "u",
        "impersonate_groups": ["a", "b"],
    }

    headers = connection.request_headers(connection.load_configuration(options), options)

    assert headers["Impersonate-User"] == "u"
    assert headers.getlist("Impersonate-Group") == ["a", "b"]


def test_unreadable_kubeconfig_is_named():
    """The message names the file."""
    with pytest.raises(errors.BadConnection, match="/nowhere/config"):
        connection.load_configuration({"kubeconfig": "/nowhere/config"})


def status_body(message="", causes=(), reason="Invalid"):
    details = {"causes": list(causes)} if causes else {}
    return {"kind": "Status", "message": message, "reason": reason, "details": details}


@pytest.mark.parametrize(
    ("status", "body", "kind", "text"),
    [
        (
            422,
            status_body("long text", [{"field": "spec.replicas", "message": "must be positive"}]),
            errors.Refused,
            "apply X: spec.replicas: must be positive",
        ),
        (
            409,
            status_body("c", [{"field": ".spec.a", "message": 'conflict with "x"'}], "Conflict"),
            errors.Conflict,
            'apply X: spec.a: conflict with "x"',
        ),
        (404, status_body("no such thing", reason="NotFound"), errors.NotFound, "no such thing"),
        (
            403,
            status_body('pods is forbidden: cannot "list"', reason="Forbidden"),
            errors.Refused,
            "lacks this right",
        ),
        (503, None, errors.Unavailable, "apply X: HTTP status 503"),
        (500, {"kind": "Other", "message": "secret"}, errors.Unavailable, "HTTP status 500"),
        (418, "teapot secret", errors.ApiError, "apply X: HTTP status 418"),
    ],
)
def test_errors_of_the_server(status, body, kind, text):
    """The class tells what can be done, the text what was tried and which field is to blame."""
    error = errors.error_from_answer("apply X", status, body)

    assert type(error) is kind
    assert text in str(error)
    assert "secret" not in str(error)


@pytest.mark.parametrize(
    ("live", "wanted", "paths"),
    [
        ({"a": 1, "b": 2}, {"a": 1}, []),
        ({"a": 1}, {"a": 2}, ["a"]),
        ({"a": {"b": [1, 2]}}, {"a": {"b": [1, 3]}}, ["a.b[1]"]),
        ({"a": [1]}, {"a": [1, 2]}, ["a"]),
        ({"c": [{"name": "x", "v": 1}]}, {"c": [{"name": "x", "v": 2}]}, ["c[x].v"]),
        ({}, {"a": {}, "b": [], "c": ""}, []),
        ({}, {"a": False}, ["a"]),
        (None, {"a": 1}, [""]),
    ],
)
def test_differing_paths(live, wanted, paths):
    """What is wanted and not there is named; what is only there is somebody else's."""
    assert list(differing_paths(live, wanted)) == paths


def test_meaningful_part_of_an_object():
    """Status and bookkeeping are not an author's."""
    live = {
        "kind": "ConfigMap",
        "metadata": {
            "name": "a",
            "uid": "u",
            "resourceVersion": "1",
            "managedFields": [],
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"},
        },
        "data": {"a": "1"},
        "status": {},
    }

    assert differences.meaningful(live) == {
        "kind": "ConfigMap",
        "metadata": {"name": "a"},
        "data": {"a": "1"},
    }
    assert differences.meaningful(None) == {}


LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
COPIES = {
    LAST_APPLIED: '{"data":{"password":"aGlkZGVu"}}',
    "kapp.k14s.io/original": '{"data":{"password":"aGlkZGVu"}}',
    "objectset.rio.cattle.io/applied": "aGlkZGVu",
    "notmatrixorigin.io/copy": "aGlkZGVu",
}


@pytest.mark.parametrize("kind", ["Secret", "ConfigMap", "Deployment"])
def test_copies_of_the_content_are_no_result(kind):
    """What kubectl has applied is in an annotation, too; of a Secret only our annotations stay."""
    annotations = {**COPIES, "matrixorigin.io/keep": "true"}
    metadata = {"name": "a", "managedFields": [{}], "annotations": annotations}
    live = {"kind": kind, "metadata": metadata, "data": {"password": "aGlkZGVu"}}

    kept = differences.without_payload(live)

    assert LAST_APPLIED not in kept["metadata"]["annotations"]
    assert "managedFields" not in kept["metadata"]
    assert kept["metadata"]["annotations"]["matrixorigin.io/keep"] == "true"
    if kind == "Secret":
        assert "aGlkZGVu" not in str(kept)
    assert annotations[LAST_APPLIED]  # the object itself is not changed
    assert differences.without_payload({"kind": kind, "metadata": {"name": "a"}})


def test_the_difference_of_a_secret_has_no_copies():
    """Annotations of others may hold the values that the data no longer shows."""
    before = {"kind": "Secret", "metadata": {"name": "a", "annotations": dict(COPIES)}}
    after = {"kind": "Secret", "metadata": {"name": "a"}, "data": {"password": "aGlkZGVu"}}

    shown = differences.shown_difference("Secret a", before, after)

    assert "aGlkZGVu" not in str(shown)
    assert differences.shown_difference("Secret a", None, after)["before"] == {}


@pytest.mark.parametrize(
    ("metadata", "namespace", "owned"),
    [
        ({"name": "o", "uid": "u", "namespace": "a"}, "a", True),
        ({"name": "o", "uid": "u", "namespace": "a"}, "b", False),
        ({"name": "o", "uid": "u", "namespace": "a"}, None, False),
        ({"name": "o", "uid": "u"}, "a", True),
        ({"name": "o", "namespace": "a"}, "a", False),
    ],
)
def test_owner_reference(metadata, namespace, owned):
    """Only an owner in the cluster, in the same namespace or cluster-wide, can own."""
    owner = {"apiVersion": "v1", "kind": "Thing", "metadata": metadata}

    assert (owning.owner_reference(owner, namespace) is not None) == owned


class Text(str):
    """A string with extras, as Ansible's tagged ones."""


class Number(int):
    """A number with extras."""


def test_plain_values_are_exact_types():
    """Whatever subclass comes in, exact JSON types go out, deeply."""
    made = plain({Text("a"): (Number(1), Text("b"), None, True, 1.5)})

    assert made == {"a": [1, "b", None, True, 1.5]}
    assert [type(value) for value in made["a"]] == [int, str, type(None), bool, float]
    assert type(next(iter(made))) is str
    with pytest.raises(TypeError, match="set is not JSON"):
        plain({"a": set()})
