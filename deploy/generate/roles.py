# SPDX-License-Identifier: Apache-2.0
"""Roles and bindings for kustomize, and the chart's rules, out of the rights."""

from collections.abc import Iterable, Mapping

import yaml

from deploy.generate.rights import OPERATOR, Json, Right, Scope, chosen

NAME = "matrixone-operator"
_GROUP = "rbac.authorization.k8s.io"
_API = f"{_GROUP}/v1"
_HEADER = """\
# SPDX-License-Identifier: Apache-2.0
# Made by `make rbac` from deploy/rights.yaml; do not edit.
"""
_LABELS = {"app.kubernetes.io/name": NAME}
_KINDS_GROUP = "core.matrixorigin.io"
_READ = ("get", "list", "watch")
_WRITE = ("create", "delete", "deletecollection", "patch", "update")


def files(rights: list[Right]) -> dict[str, str]:
    """Every file that follows from the rights: path from the repository root, and its text."""
    everywhere = [
        manifest
        for part in dict.fromkeys(right.part for right in rights)
        for scope in (Scope.WATCHED, Scope.CLUSTER)
        if part != "admission"
        for manifest in granted("ClusterRole", rights, scope, part)
    ]
    admission = [
        *granted("Role", rights, Scope.OWN, "admission"),
        *granted("ClusterRole", rights, Scope.CLUSTER, "admission"),
    ]
    made = {
        "deploy/base/rbac.yaml": granted("Role", rights, Scope.OWN, suffix="-own"),
        "deploy/cluster/rbac.yaml": everywhere,
        "deploy/cluster/users.yaml": for_users(rights),
        "deploy/namespaced/rbac.yaml": granted("Role", rights, Scope.WATCHED),
        "deploy/admission/rbac.yaml": admission,
    }
    texts = {path: _text(manifests) for path, manifests in made.items() if manifests}
    return {**texts, "charts/matrixone-operator/templates/_rules.tpl": chart_rules(rights)}


def granted(
    kind: str, rights: Iterable[Right], scope: Scope, part: str = OPERATOR, suffix: str = ""
) -> list[Json]:
    """A Role or ClusterRole with the rules of a scope and part, and its binding; or nothing."""
    rules = chosen(rights, scope, part)
    if not rules:
        return []
    suffix = suffix or ("" if part == OPERATOR else f"-{part}")
    metadata = {"name": NAME + suffix, "labels": _LABELS}
    role = {"apiVersion": _API, "kind": kind, "metadata": metadata, "rules": rules}
    binding = {
        "apiVersion": _API,
        "kind": f"{kind}Binding",
        "metadata": metadata,
        "roleRef": {"apiGroup": _GROUP, "kind": kind, "name": NAME + suffix},
        # Kustomize puts the namespace of the deployment here.
        "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": NAME}],
    }
    return [role, binding]


def for_users(rights: Iterable[Right]) -> list[Json]:
    """What the cluster's roles admin, edit and view mean for the kinds of MatrixOne."""
    kinds = sorted(
        {
            resource
            for right in rights
            if right.groups == (_KINDS_GROUP,)
            for resource in right.resources
            if "/" not in resource
        }
    )
    return [
        _aggregated("view", ("view", "edit", "admin"), kinds, _READ),
        _aggregated("edit", ("edit", "admin"), kinds, _WRITE),
    ]


def _aggregated(name: str, into: Iterable[str], kinds: list[str], verbs: Iterable[str]) -> Json:
    labels = {f"{_GROUP}/aggregate-to-{role}": "true" for role in into}
    return {
        "apiVersion": _API,
        "kind": "ClusterRole",
        "metadata": {"name": f"matrixone-{name}", "labels": {**_LABELS, **labels}},
        "rules": [{"apiGroups": [_KINDS_GROUP], "resources": kinds, "verbs": list(verbs)}],
    }


def chart_rules(rights: Iterable[Right]) -> str:
    """Named templates with the rules of each scope and part, for the chart's roles."""
    rights = list(rights)
    text = "{{- /*\n" + _HEADER + "*/ -}}\n"
    for part in dict.fromkeys(right.part for right in rights):
        for scope in Scope:
            rules = chosen(rights, scope, part)
            if rules:
                text += f'{{{{- define "{NAME}.rules.{part}.{scope}" -}}}}\n'
                text += _dumped(rules) + "{{- end }}\n"
    return text


def _text(manifests: Iterable[Mapping[str, object]]) -> str:
    return _HEADER + "".join("---\n" + _dumped(manifest) for manifest in manifests)


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, _data: object) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002
        super().increase_indent(flow, indentless=False)


def _dumped(value: object) -> str:
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, width=110)
