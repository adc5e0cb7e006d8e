# SPDX-License-Identifier: Apache-2.0
"""The kinds that files of a role name, and the rights for them."""

import pytest

from ansible_operator.authoring.rights import Handled, handled_in, rules_of

DEPLOYMENT = Handled("apps", "Deployment")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("apiVersion: apps/v1\nkind: Deployment\n", {DEPLOYMENT}),
        ("kind: Deployment\napiVersion: apps/v1\n", {DEPLOYMENT}),
        ("- k8s:\n    api_version: 'apps/v1'\n    name: x\n    kind: \"Deployment\"\n", {DEPLOYMENT}),
        ("apiVersion: v1\nkind: Secret\n---\napiVersion: apps/v1\nkind: Deployment\n",
         {Handled("", "Secret"), DEPLOYMENT}),
        ("apiVersion: v1\nmetadata:\n  labels: {a: b}\nkind: Secret\n", {Handled("", "Secret")}),
        ("apiVersion: '{{ version }}'\nkind: Deployment\n", set()),
        ("apiVersion: v1\nkind: '{{ kind }}'\n", set()),
        ("apiVersion: v1\nspec:\n  kind: Secret\n", set()),
        ("a:\n  apiVersion: v1\nb:\n  kind: Secret\n", set()),
        ("kind: Secret\n", set()),
        ("", set()),
    ],
)  # fmt: skip
def test_kinds_in_a_text(text: str, found: set[Handled]) -> None:
    assert set(handled_in(text)) == found


def test_rules_are_one_per_group() -> None:
    first = "apiVersion: v1\nkind: Secret\n---\napiVersion: v1\nkind: Endpoints\n"
    second = "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\n"
    verbs = ["get", "list", "watch", "create", "patch"]
    assert rules_of([first, second]) == [
        {"apiGroups": [""], "resources": ["endpoints", "secrets"], "verbs": verbs},
        {"apiGroups": ["networking.k8s.io"], "resources": ["networkpolicies"], "verbs": verbs},
    ]


def test_a_role_that_deletes_may_delete() -> None:
    text = "apiVersion: v1\nkind: Secret\nstate: absent\n"
    assert rules_of([text])[0]["verbs"][-1] == "delete"
    assert rules_of([]) == []
