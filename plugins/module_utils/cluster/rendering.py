# SPDX-License-Identifier: Apache-2.0
"""A MatrixOneCluster's children: complete custom resources of their own."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from typing import Any, Final

from ..api import names, toml, versions
from ..api.errors import InvalidSpec
from ..api.fields import Fields
from ..api.types import Manifest, Resource
from ..workload import configmaps as configmap
from ..workload import overlay
from ..workload.sets import namespace_of

Json = dict[str, Any]

_INHERITED: Final = (
    "nodeSelector",
    "topologySpread",
    "semanticVersion",
    "operatorVersion",
    "memoryFsSize",
    "clusterDomain",
)
_TLS: Final = ("tls",)
"""Of the parts that clients of SQL connect to: proxies or, without any, compute nodes."""
_INHERITED_BY_WEB_UI: Final = ("clusterDomain",)
_FOLLOWED_BY_WEB_UI: Final = (
    "nodeSelector",
    "topologySpread",
    "imagePullPolicy",
    "operatorVersion",
)
_WEB_UI_BEFORE_IT_FOLLOWED: Final = "1.3.0"
"""What a dashboard has whose cluster is older than 1.4.0: the default of that time."""
_HELPER_RESOURCES: Final = ("helperResources",)
"""Of the parts to which the operator adds containers: the log service and the dashboard."""
_PASSED_ON: Final = {
    names.LOG_SET: names.ANNOTATION_UNCLAIMED,
    names.DN_SET: names.ANNOTATION_DATA_VERSION,
}
"""Annotations of a cluster that are those of a child, too."""
_LEGACY_GROUPS: Final = ("tp", "ap")
_RESTORED_STATE: Final = "hk_data"
_MAX_NAME: Final = 46


def render_matrixonecluster(resource: Resource) -> list[Manifest]:
    """Return the children of a cluster, in the order in which to apply them.

    Args:
        resource: the MatrixOneCluster.

    Raises:
        InvalidSpec: The cluster cannot be rendered; the path names the component's field.
    """
    cluster = _Cluster(resource)
    children = [cluster.log_set(), cluster.dn_set(), *cluster.cn_sets()]
    if cluster.spec.raw("proxy") is not None:
        children.append(cluster.proxy_set())
    if cluster.spec.raw("webui") is not None:
        children.append(cluster.web_ui())
    return children


def credential_secret(resource: Resource) -> str:
    """Return the name of the Secret with a cluster's root credential: the spec's, or its own."""
    root = Fields("", resource)
    chosen = root.table("spec").table("credentialSecretRef").text("name")
    return chosen or names.credential_name(root.table("metadata").required_text("name"))


class _Cluster:
    """A cluster while its children are rendered."""

    def __init__(self, resource: Resource) -> None:
        root = Fields("", resource)
        self.name = root.table("metadata").required_text("name")
        names.check_owner_name(names.LOG_SET, self.name)
        if len(self.name) > _MAX_NAME:
            raise InvalidSpec("metadata.name", f"must have at most {_MAX_NAME} characters")
        self.namespace = namespace_of(resource)
        self.spec = root.table("spec")
        self.credential = credential_secret(resource)
        annotations = root.table("metadata").table("annotations")
        self.restarted = annotations.text(names.ANNOTATION_RESTARTED)
        self.passed_on = {
            kind: {name: annotations.text(name)}
            for kind, name in _PASSED_ON.items()
            if annotations.text(name)
        }
        repository = self.spec.text("imageRepository") or names.DEFAULT_IMAGE_REPOSITORY
        version = self.spec.required_text("version", "must be set to a tag of the image")
        self.image = f"{repository}:{version}"

    def log_set(self) -> Manifest:
        """Return the LogSet."""
        component = self.spec.table("logService")
        if self.spec.raw("logService") is None:
            raise self.spec.refuse("logService", "must be set")
        spec = self._component(component)
        self._inherit(spec, _HELPER_RESOURCES)
        if self.spec.text("restoreFrom") or self.spec.raw("restoreSource") is not None:
            initial = spec.get("initialConfig") or {}
            spec["initialConfig"] = {**initial, "restoreFrom": _RESTORED_STATE}
        return self._child(names.LOG_SET, self.name, spec)

    def dn_set(self) -> Manifest:
        """Return the DNSet."""
        has_tn, has_dn = self.spec.raw("tn") is not None, self.spec.raw("dn") is not None
        if has_tn == has_dn:
            message = "only one of tn and dn may be set" if has_tn else "must be set"
            raise self.spec.refuse("dn" if has_tn else "tn", message)
        spec = self._component(self.spec.table("tn" if has_tn else "dn"))
        return self._child(names.DN_SET, self.name, spec, logSet=self.name)

    def cn_sets(self) -> Iterator[Manifest]:
        """Yield a CNSet for each group, the legacy ones last."""
        seen: set[str] = set()
        for name, path, group in self._groups():
            if name in seen:
                raise InvalidSpec(path, f"group {name!r} is there twice")
            seen.add(name)
            owner = names.cn_set_name(self.name, name)
            names.check_owner_name(names.CN_SET, owner, path)
            spec = self._cn_spec(group)
            if path == "spec.tp" and group.raw("dnsBasedIdentity") is None:
                spec["dnsBasedIdentity"] = False
            yield self._child(names.CN_SET, owner, spec, logSet=self.name, dnSet=self.name)

    def first_cn_set(self) -> str | None:
        """Return the name of the first CNSet, if there is one."""
        for name, _path, _group in self._groups():
            return names.cn_set_name(self.name, name)
        return None

    def proxy_set(self) -> Manifest:
        """Return the ProxySet."""
        spec = self._component(self.spec.table("proxy"))
        self._inherit(spec, _TLS)
        return self._child(names.PROXY_SET, self.name, spec, logSet=self.name)

    def web_ui(self) -> Manifest:
        """Return the WebUI, which shows the first CN group; its image is not the database's.

        Up to 1.3 it took no more over from the cluster than the pull policy, of one container.
        """
        component = self.spec.table("webui")
        spec: Json = copy.deepcopy(dict(component.data))
        spec.setdefault("credentialSecretRef", {"name": self.credential})
        asked = component.text("operatorVersion") or self.spec.text("operatorVersion")
        follows = versions.operator_does(versions.operator_version(asked), "WebUIFollowsCluster")
        spec["overlay"] = self._overlay(component, pulls=not follows)
        self._inherit(spec, (*_INHERITED_BY_WEB_UI, *_HELPER_RESOURCES))
        if follows:
            self._inherit(spec, _FOLLOWED_BY_WEB_UI)
        else:
            spec.setdefault("operatorVersion", _WEB_UI_BEFORE_IT_FOLLOWED)
        first = self.first_cn_set()
        return self._child(names.WEB_UI, self.name, spec, **({"cnset": first} if first else {}))

    def _groups(self) -> Iterator[tuple[str, str, Fields]]:
        """Yield name, path of the name, and fields of each CN group."""
        for group in self.spec.tables("cnGroups"):
            yield group.required_text("name"), group.at("name"), group
        for name in _LEGACY_GROUPS:
            if self.spec.raw(name) is not None:
                yield name, self.spec.at(name), self.spec.table(name)

    def _cn_spec(self, group: Fields) -> Json:
        spec = self._component(group)
        spec.pop("name", None)
        secret = {"name": self.credential, "key": "password"}
        env = {"name": "DEFAULT_PASSWORD", "valueFrom": {"secretKeyRef": secret}}
        existing = list(group.table("overlay").items("env"))
        spec["overlay"]["env"] = overlay.upsert(existing, [env])
        if self.spec.raw("proxy") is not None:
            config = toml.parse(group.raw("config"), group.at("config"))
            toml.put(config, ("cn", "frontend", "proxy-enabled"), value=True)
            spec["config"] = configmap.config_text(group, {}, config)
        else:
            # Where there are proxies, clients connect to them, and a renewed certificate replaces
            # no compute node.
            self._inherit(spec, _TLS)
        return spec

    def _component(self, component: Fields) -> Json:
        """Return a component's spec with what it takes over from the cluster."""
        spec: Json = copy.deepcopy(dict(component.data))
        if not component.text("image"):
            spec["image"] = self.image
        self._inherit(spec, _INHERITED)
        if not spec.get("operatorVersion"):
            spec["operatorVersion"] = names.DEFAULT_OPERATOR_VERSION
        spec["overlay"] = self._overlay(component)
        return spec

    def _inherit(self, spec: Json, fields: Iterable[str]) -> None:
        """Take over what a component does not specify itself, in place."""
        for name in fields:
            if spec.get(name) is None and self.spec.raw(name) is not None:
                spec[name] = copy.deepcopy(self.spec.raw(name))

    def _overlay(self, component: Fields, *, pulls: bool = True) -> Json:
        """Return a component's overlay with the cluster's label and, if so, its pull policy."""
        own = component.table("overlay")
        over: Json = copy.deepcopy(dict(own.data))
        pull_policy = self.spec.text("imagePullPolicy")
        if pulls and pull_policy and not own.text("imagePullPolicy"):
            over["imagePullPolicy"] = pull_policy
        over["podLabels"] = {**own.texts_by_key("podLabels"), names.LABEL_CLUSTER: self.name}
        if self.restarted:
            # A change of the spec, so that the parts follow each other as with any other change.
            annotations = own.texts_by_key("podAnnotations")
            annotations = {**annotations, names.ANNOTATION_CLUSTER_RESTARTED: self.restarted}
            over["podAnnotations"] = annotations
        return over

    def _child(self, kind: str, owner: str, spec: Json, **dependencies: str) -> Manifest:
        labels = {
            names.LABEL_CLUSTER: self.name,
            "app.kubernetes.io/name": names.PART_OF,
            "app.kubernetes.io/instance": self.name,
            "app.kubernetes.io/component": names.SUFFIXES[kind].lstrip("-"),
            "app.kubernetes.io/part-of": names.PART_OF,
            "app.kubernetes.io/managed-by": names.MANAGED_BY,
        }
        child: Manifest = {
            "apiVersion": names.API_VERSION,
            "kind": kind,
            "metadata": {"name": owner, "namespace": self.namespace, "labels": labels},
            "spec": spec,
        }
        if kind in self.passed_on:
            child["metadata"]["annotations"] = dict(self.passed_on[kind])
        if dependencies:
            child["deps"] = {
                field: {"metadata": {"name": name, "namespace": self.namespace}}
                for field, name in dependencies.items()
            }
        return child
