# SPDX-License-Identifier: Apache-2.0
"""Who may own what, and how objects say so."""

import pytest

from ansible_operator.kube.interface import GroupVersionKind, ResourceType
from ansible_operator.serve.interface import Owner
from ansible_operator.serve.proxy.ownership import (
    MalformedObjectError,
    OwnershipStyle,
    is_owned,
    namespace_of,
    style_for,
    style_of,
    with_owner,
)

MEMCACHED = GroupVersionKind("cache.example.com", "v1alpha1", "Memcached")
NAMESPACED = Owner(MEMCACHED, "sample", "default", "u-1")
CLUSTER = Owner(MEMCACHED, "sample", "", "u-1", namespaced=False)
DEPLOYMENT = ResourceType(GroupVersionKind("apps", "v1", "Deployment"), "deployments", True)
ROLE = ResourceType(
    GroupVersionKind("rbac.authorization.k8s.io", "v1", "ClusterRole"), "clusterroles", False
)
REFERENCE = {
    "apiVersion": "cache.example.com/v1alpha1",
    "kind": "Memcached",
    "name": "sample",
    "uid": "u-1",
}
ANNOTATIONS = {
    "operator-sdk/primary-resource": "default/sample",
    "operator-sdk/primary-resource-type": "Memcached.cache.example.com",
}


@pytest.mark.parametrize(
    ("owner", "dependent", "namespace", "style"),
    [
        (CLUSTER, ROLE, "", OwnershipStyle.REFERENCE),
        (CLUSTER, DEPLOYMENT, "default", OwnershipStyle.REFERENCE),
        (NAMESPACED, DEPLOYMENT, "default", OwnershipStyle.REFERENCE),
        (NAMESPACED, DEPLOYMENT, "other", OwnershipStyle.ANNOTATION),
        (NAMESPACED, DEPLOYMENT, "", OwnershipStyle.ANNOTATION),
        (NAMESPACED, ROLE, "", OwnershipStyle.ANNOTATION),
        (NAMESPACED, ROLE, "default", OwnershipStyle.ANNOTATION),
    ],
)
def test_owner_reference_support(owner, dependent, namespace, style):
    assert style_for(owner, dependent, namespace) is style


def test_the_namespace_of_the_url_comes_before_that_of_the_body():
    body = {"metadata": {"namespace": "body"}}
    assert namespace_of("url", body) == "url"
    assert namespace_of("", body) == "body"
    assert namespace_of("", {"metadata": None}) == ""


def test_a_reference_has_four_fields_and_keeps_the_others():
    other = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u-2", "controller": True}
    body = {"kind": "Deployment", "metadata": {"name": "d", "ownerReferences": [other]}}
    owned = with_owner(body, NAMESPACED, OwnershipStyle.REFERENCE)
    assert owned["metadata"]["ownerReferences"] == [other, REFERENCE]
    assert body["metadata"]["ownerReferences"] == [other]


def test_a_reference_is_not_added_twice():
    owned = with_owner({"metadata": {"name": "d"}}, NAMESPACED, OwnershipStyle.REFERENCE)
    assert with_owner(owned, NAMESPACED, OwnershipStyle.REFERENCE) == owned


def test_annotations_are_overwritten_and_others_stay():
    body = {"metadata": {"annotations": {"a": "b", "operator-sdk/primary-resource": "x/y"}}}
    owned = with_owner(body, NAMESPACED, OwnershipStyle.ANNOTATION)
    assert owned == {"metadata": {"annotations": {"a": "b", **ANNOTATIONS}}}
    assert is_owned(owned, NAMESPACED, OwnershipStyle.ANNOTATION)
    assert not is_owned(owned, NAMESPACED, OwnershipStyle.REFERENCE)


def test_an_owner_of_the_core_group_has_no_dot_in_its_type():
    owner = Owner(GroupVersionKind("", "v1", "ConfigMap"), "c", "n", "u")
    owned = with_owner({}, owner, OwnershipStyle.ANNOTATION)
    assert owned["metadata"]["annotations"] == {
        "operator-sdk/primary-resource": "n/c",
        "operator-sdk/primary-resource-type": "ConfigMap",
    }


@pytest.mark.parametrize(
    "metadata",
    [
        "text",
        {"ownerReferences": {"uid": "u"}},
        {"ownerReferences": ["u"]},
        {"annotations": ["a"]},
    ],
)
def test_malformed_metadata_is_refused(metadata):
    with pytest.raises(MalformedObjectError):
        with_owner({"metadata": metadata}, NAMESPACED, OwnershipStyle.REFERENCE)


@pytest.mark.parametrize(
    ("metadata", "style"),
    [
        ({"ownerReferences": [REFERENCE]}, OwnershipStyle.REFERENCE),
        (
            {"ownerReferences": [{**REFERENCE, "uid": "another", "name": "o"}]},
            OwnershipStyle.REFERENCE,
        ),
        ({"ownerReferences": [{**REFERENCE, "kind": "Redis"}]}, None),
        ({"ownerReferences": [{**REFERENCE, "apiVersion": "cache.example.com/v1"}]}, None),
        ({"annotations": ANNOTATIONS}, OwnershipStyle.ANNOTATION),
        ({"annotations": {"operator-sdk/primary-resource-type": "Redis.x"}}, None),
        ({"annotations": {"operator-sdk/primary-resource-type": ""}}, None),
        ({"annotations": None, "ownerReferences": None}, None),
        ({}, None),
    ],
)
def test_dependents_are_recognised_by_the_kind_of_their_owner(metadata, style):
    assert style_of(metadata, NAMESPACED) is style


@pytest.mark.parametrize("text", ["ConfigMap", "ConfigMap."])
def test_owners_of_the_core_group_are_recognised_in_both_spellings(text):
    owner = Owner(GroupVersionKind("", "v1", "ConfigMap"), "c", "n", "u")
    metadata = {"annotations": {"operator-sdk/primary-resource-type": text}}
    assert style_of(metadata, owner) is OwnershipStyle.ANNOTATION
