# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The members of MatrixOne clusters as hosts."""

from __future__ import annotations

DOCUMENTATION = r"""
name: members
short_description: List the members of MatrixOne clusters by component
version_added: 0.1.0
author: MatrixOne maintainers (@matrixorigin)
description:
  - Each Pod of a log set, transaction node, compute node, proxy or web UI is a host, named
    C(<pod>.<namespace>), reached with P(kubernetes.core.kubectl#connection).
  - Groups are C(matrixone) (all), C(logset), C(dnset), C(cnset), C(proxyset), C(webui), a group
    C(cluster_<namespace>_<cluster>) for each cluster and C(set_<namespace>_<component>_<name>) for
    each set.
  - It reads Pods and nothing else; with O(namespaces) a right to list Pods there is enough.
  - The file of the inventory ends in C(matrixone.yml) or C(matrixone.yaml).
  - Pods of a database have no Python; use M(ansible.builtin.raw) with them.
extends_documentation_fragment:
  - matrixorigin.matrixone.connection
  - ansible.builtin.constructed
  - ansible.builtin.inventory_cache
options:
  plugin:
    description: Says that the file is for this plugin.
    type: str
    required: true
    choices: [matrixorigin.matrixone.members]
  namespaces:
    description: Namespaces to search; all if empty.
    type: list
    elements: str
    default: []
  clusters:
    description: Names of the clusters to list; all when it is empty.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
# all clusters of all namespaces: ansible-inventory -i matrixone.yml --graph
plugin: matrixorigin.matrixone.members
---
# one cluster, with compute nodes that do not serve in a group of their own, and groups by node
plugin: matrixorigin.matrixone.members
namespaces: [prod]
clusters: [mo]
groups:
  lame: matrixone_component == 'CNSet' and not matrixone_ready
keyed_groups:
  - key: matrixone_node
    prefix: node
"""

import os
from collections.abc import Mapping
from typing import Any

from ansible.errors import AnsibleParserError
from ansible.plugins.inventory import BaseInventoryPlugin, Cacheable, Constructable
from ansible.utils.unsafe_proxy import wrap_var

from ..module_utils.api import names
from ..module_utils.api.plain import plain
from ..module_utils.clients.kubernetes.connection import OPTIONS, resolve_options
from ..module_utils.clients.kubernetes.errors import KubeError
from ..module_utils.clients.kubernetes.selecting import Selection
from ..module_utils.clients.kubernetes.session import open_session
from ..module_utils.cluster.members import Member, members

_FILES = ("matrixone.yml", "matrixone.yaml")
_KEPT = ("name", "namespace", "labels", "deletionTimestamp")


class InventoryModule(BaseInventoryPlugin, Constructable, Cacheable):
    """Fill the inventory from the Pods of an API server."""

    NAME = "matrixorigin.matrixone.members"

    def verify_file(self, path: str) -> bool:
        """Tell whether the file is meant for this plugin."""
        return super().verify_file(path) and path.endswith(_FILES)

    def parse(self, inventory: Any, loader: Any, path: str, cache: bool = True) -> None:
        """Read the file, then the Pods (or the cache), and add hosts and groups."""
        super().parse(inventory, loader, path)
        self._read_config_data(path)
        try:
            for member in members(self._pods(path, cache)):
                self._add(member)
        except KubeError as error:
            raise AnsibleParserError(f"{path}: {error}") from error

    def _pods(self, path: str, cache: bool) -> list[dict[str, Any]]:
        if not self.get_option("cache"):
            return self._fetch()
        key = self.get_cache_key(path)
        if not cache or key not in self._cache:
            self._cache[key] = self._fetch()
        kept: list[dict[str, Any]] = self._cache[key]
        return kept

    def _fetch(self) -> list[dict[str, Any]]:
        given = plain({name: self.get_option(name) for name in OPTIONS})
        session = open_session(resolve_options(given, os.environ))
        clusters = set(plain(self.get_option("clusters")))
        pods = [
            pod
            for namespace in plain(self.get_option("namespaces")) or [None]
            for pod in Selection(
                "v1", "Pod", namespace, labels={}, having=[names.LABEL_COMPONENT]
            ).list(session)
        ]
        return [
            _shown(pod)
            for pod in pods
            if not clusters or pod["metadata"]["labels"].get(names.LABEL_CLUSTER) in clusters
        ]

    def _add(self, member: Member) -> None:
        self.inventory.add_host(member.host)
        for name, value in member.variables.items():
            # An image may be any text; it stays data where inventories are templated (2.18).
            self.inventory.set_variable(member.host, name, wrap_var(value))
        kubeconfig = self.get_option("kubeconfig")
        for name, value in (("kubeconfig", kubeconfig), ("context", self.get_option("context"))):
            if isinstance(value, str):
                self.inventory.set_variable(member.host, f"ansible_kubectl_{name}", value)
        for group in member.groups:
            safe = self._sanitize_group_name(group)
            self.inventory.add_group(safe)
            self.inventory.add_child(safe, member.host)
        strict = self.get_option("strict")
        variables = dict(member.variables)
        self._set_composite_vars(self.get_option("compose"), variables, member.host, strict)
        self._add_host_to_composed_groups(self.get_option("groups"), variables, member.host, strict)
        self._add_host_to_keyed_groups(
            self.get_option("keyed_groups"), variables, member.host, strict
        )


def _shown(pod: Mapping[str, Any]) -> dict[str, Any]:
    """Keep what a member is made of: the cache may be a file, so no environment goes there."""
    return {
        "metadata": {key: value for key, value in pod["metadata"].items() if key in _KEPT},
        "spec": {
            "nodeName": pod["spec"].get("nodeName", ""),
            "containers": [
                {"name": each["name"], "image": each.get("image", "")}
                for each in pod["spec"]["containers"]
            ],
        },
        "status": {
            key: value
            for key, value in (pod.get("status") or {}).items()
            if key in ("phase", "podIP", "conditions")
        },
    }
