# SPDX-License-Identifier: Apache-2.0
"""Request paths are read as the API server reads them."""

import pytest

from ansible_operator.serve.proxy.request_info import UnreadableRequestError, parse_request

# method, path, query -> verb, prefix, group, version, namespace, resource, subresource, name, parts
RESOURCE_REQUESTS = [
    ("GET", "/api/v1/namespaces", {}, "list|api||v1||namespaces|||namespaces"),
    (
        "GET",
        "/api/v1/namespaces/other",
        {},
        "get|api||v1|other|namespaces||other|namespaces,other",
    ),
    (
        "PUT",
        "/api/v1/namespaces/other/finalize",
        {},
        "update|api||v1|other|namespaces|finalize|other|namespaces,other,finalize",
    ),
    (
        "PATCH",
        "/api/v1/namespaces/other/status",
        {},
        "patch|api||v1|other|namespaces|status|other|namespaces,other,status",
    ),
    ("GET", "/api/v1/namespaces/other/pods", {}, "list|api||v1|other|pods|||pods"),
    ("HEAD", "/api/v1/namespaces/other/pods/a", {}, "get|api||v1|other|pods||a|pods,a"),
    ("GET", "/api/v1/pods", {}, "list|api||v1||pods|||pods"),
    ("GET", "/api/v1/pods", {"watch": "true"}, "watch|api||v1||pods|||pods"),
    ("GET", "/api/v1/pods", {"watch": "1"}, "watch|api||v1||pods|||pods"),
    ("GET", "/api/v1/pods", {"watch": "false"}, "list|api||v1||pods|||pods"),
    ("GET", "/api/v1/pods", {"watch": "0"}, "list|api||v1||pods|||pods"),
    (
        "GET",
        "/api/v1/namespaces/n/pods",
        {"watch": "true", "fieldSelector": "metadata.name=a"},
        "watch|api||v1|n|pods||a|pods",
    ),
    (
        "GET",
        "/api/v1/namespaces/n/pods",
        {"fieldSelector": "status.phase=Running,metadata.name==b"},
        "list|api||v1|n|pods||b|pods",
    ),
    (
        "GET",
        "/api/v1/namespaces/n/pods/a/log",
        {"follow": "true"},
        "get|api||v1|n|pods|log|a|pods,a,log",
    ),
    ("POST", "/api/v1/namespaces/n/pods/a/exec", {}, "create|api||v1|n|pods|exec|a|pods,a,exec"),
    ("GET", "/api/v1/watch/pods", {}, "watch|api||v1||pods|||pods"),
    ("GET", "/api/v1/watch/namespaces/n/pods", {}, "watch|api||v1|n|pods|||pods"),
    (
        "GET",
        "/api/v1/proxy/namespaces/n/pods/a/x",
        {},
        "proxy|api||v1|n|pods||a|pods,a,x",
    ),
    ("POST", "/apis/apps/v1/namespaces/n/deployments", {}, "create|apis|apps|v1|n|deployments|||deployments"),
    ("PUT", "/apis/apps/v1/namespaces/n/deployments/d", {}, "update|apis|apps|v1|n|deployments||d|deployments,d"),
    (
        "PATCH",
        "/apis/apps/v1/namespaces/n/deployments/d/scale",
        {},
        "patch|apis|apps|v1|n|deployments|scale|d|deployments,d,scale",
    ),
    ("DELETE", "/apis/apps/v1/namespaces/n/deployments/d", {}, "delete|apis|apps|v1|n|deployments||d|deployments,d"),
    ("DELETE", "/apis/apps/v1/namespaces/n/deployments", {}, "deletecollection|apis|apps|v1|n|deployments|||deployments"),
    (
        "GET",
        "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode",
        {},
        "get|apis|rbac.authorization.k8s.io|v1||clusterroles||system:node|clusterroles,system:node",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path", "query", "expected"), RESOURCE_REQUESTS)
def test_resource_requests(method, path, query, expected):
    info = parse_request(method, path, query)
    assert info.is_resource
    assert (
        "|".join(
            [
                info.verb,
                info.prefix,
                info.group,
                info.version,
                info.namespace,
                info.resource,
                info.subresource,
                info.name,
                ",".join(info.parts),
            ]
        )
        == expected
    )


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/version",
        "/healthz",
        "/api",
        "/api/v1",
        "/apis",
        "/apis/apps",
        "/apis/apps/v1",
        "/openapi/v2",
        "/openapi/v3/apis/apps/v1",
        "/other/v1/pods",
    ],
)
def test_other_requests(path):
    info = parse_request("GET", path, {})
    assert not info.is_resource
    assert info.verb == "get"
    assert info.path == path


@pytest.mark.parametrize("path", ["/api/v1/watch", "/api/v1/proxy", "/apis/apps/v1/watch"])
def test_a_special_verb_without_an_object_is_refused(path):
    with pytest.raises(UnreadableRequestError, match="unable to determine kind and namespace"):
        parse_request("GET", path, {})


def test_the_record_has_the_known_fields_in_the_known_order():
    record = parse_request("GET", "/apis/apps/v1/namespaces/n/deployments/d/scale", {}).record()
    assert record == {
        "IsResourceRequest": True,
        "Path": "/apis/apps/v1/namespaces/n/deployments/d/scale",
        "Verb": "get",
        "APIPrefix": "apis",
        "APIGroup": "apps",
        "APIVersion": "v1",
        "Namespace": "n",
        "Resource": "deployments",
        "Subresource": "scale",
        "Name": "d",
        "Parts": ["deployments", "d", "scale"],
    }
    assert list(record) == [
        "IsResourceRequest", "Path", "Verb", "APIPrefix", "APIGroup", "APIVersion", "Namespace",
        "Resource", "Subresource", "Name", "Parts",
    ]  # fmt: skip
