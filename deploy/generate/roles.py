# SPDX-License-Identifier: Apache-2.0
"""Roles and bindings for kustomize, and the chart's rules, out of the rights."""

import re
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
_KINDS_GROUP = re.compile(r"\.matrixorigin\.(io|cn)$")
_CLAIMS = {"apiGroups": [""], "resources": ["persistentvolumeclaims"], "verbs": ["list"]}
_DEPLOYMENT = {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get"]}
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
        "deploy/components/cluster-wide/rbac.yaml": everywhere,
        "deploy/components/cluster-wide/users.yaml": for_users(rights),
        "deploy/components/one-namespace/rbac.yaml": granted("Role", rights, Scope.WATCHED),
        "deploy/components/admission/rbac.yaml": admission,
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
    rights = list(rights)
    return [
        _aggregated("view", ("view", "edit", "admin"), _on_kinds(rights, _READ)),
        _aggregated("edit", ("edit", "admin"), _on_kinds(rights, _WRITE)),
    ]


def _on_kinds(rights: Iterable[Right], verbs: Iterable[str]) -> list[Json]:
    """Rules that allow the same for every kind of MatrixOne, one per API group."""
    kinds: dict[str, set[str]] = {}
    for right in rights:
        for group in filter(_KINDS_GROUP.search, right.groups):
            named = {resource for resource in right.resources if "/" not in resource}
            kinds.setdefault(group, set()).update(named)
    return [
        {"apiGroups": [group], "resources": sorted(kinds[group]), "verbs": list(verbs)}
        for group in sorted(kinds)
        if kinds[group]
    ]


def _aggregated(name: str, into: Iterable[str], rules: list[Json]) -> Json:
    labels = {f"{_GROUP}/aggregate-to-{role}": "true" for role in into}
    return {
        "apiVersion": _API,
        "kind": "ClusterRole",
        "metadata": {"name": f"matrixone-{name}", "labels": {**_LABELS, **labels}},
        "rules": rules,
    }


def chart_rules(rights: Iterable[Right]) -> str:
    """Named templates for the chart's roles.

    The rules of each scope and part; what users get with view and edit; what the Job before an
    uninstallation needs to refuse it, or to delete everything.
    """
    rights = list(rights)
    named = {
        f"{part}.{scope}": chosen(rights, scope, part)
        for part in dict.fromkeys(right.part for right in rights)
        for scope in Scope
    }
    named["users.view"] = _on_kinds(rights, _READ)
    named["users.edit"] = _on_kinds(rights, _WRITE)
    named["uninstall.refuse"] = _on_kinds(rights, ("list",))
    named["uninstall.cascade"] = [*_on_kinds(rights, ("list", "patch", "delete")), _CLAIMS]
    named["uninstall.own"] = [_DEPLOYMENT]
    return (
        "{{- /*\n"
        + _HEADER
        + "*/ -}}\n"
        + "".join(
            f'{{{{- define "{NAME}.rules.{name}" -}}}}\n{dumped(rules)}{{{{- end }}}}\n'
            for name, rules in named.items()
            if rules
        )
    )


def _text(manifests: Iterable[Mapping[str, object]]) -> str:
    return _HEADER + "".join("---\n" + dumped(manifest) for manifest in manifests)


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, _data: object) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002
        super().increase_indent(flow, indentless=False)


def dumped(value: object) -> str:
    """A manifest as YAML, lists indented."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, width=110)
