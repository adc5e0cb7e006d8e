# SPDX-License-Identifier: Apache-2.0
"""Objects of an API server over one connection per thread: a request costs 1/40 of a kubectl process.

Kinds are named as for kubectl: ``po``, ``pod``, ``pods`` or, where two groups have one name,
``pods.example.com``.
"""

import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from testbed.api import ApiClient, ApiError

Json = dict[str, Any]

_RETRIES = 40
_APPLY = "application/apply-patch+yaml"


class Api:
    """The API server of a kubeconfig."""

    def __init__(self, kubeconfig: Path) -> None:
        self._kubeconfig = kubeconfig
        self._local = threading.local()
        self._kinds: dict[str, Json] = {}

    @property
    def client(self) -> ApiClient:
        """The connection of this thread."""
        if not hasattr(self._local, "client"):
            self._local.client = ApiClient(self._kubeconfig)
        client: ApiClient = self._local.client
        return client

    def request(self, *arguments: Any) -> Json:
        """Send a request, again while the server asks to come back later, as kubectl does."""
        for _ in range(_RETRIES):
            try:
                return self.client.request(*arguments)
            except ApiError as error:
                if error.status != 429:
                    raise
                time.sleep(0.5)
        return self.client.request(*arguments)

    def kind(self, name: str) -> Json:
        """Return group version, plural, singular and scope of a kind.

        Raises:
            KeyError: the server does not serve it.
        """
        if name.lower() not in self._kinds:
            self._kinds = self._discover()
        return self._kinds[name.lower()]

    def _discover(self) -> dict[str, Json]:
        groups = self.request("GET", "/apis")["groups"]
        versions = ["v1", *(one["preferredVersion"]["groupVersion"] for one in groups)]
        found: dict[str, Json] = {}
        for version in versions:
            root = "/api" if version == "v1" else "/apis"
            group = version.rpartition("/")[0]
            for one in self._served(f"{root}/{version}"):
                kind = {**one, "root": f"{root}/{version}", "group": group}
                names = (one["name"], one["singularName"], *one.get("shortNames", ()))
                for name in (*names, one["kind"].lower()):
                    found.setdefault(name, kind)
                    if group:
                        found[f"{name}.{group}"] = kind
        return found

    def _served(self, path: str) -> list[Json]:
        try:
            listed = self.request("GET", path)["resources"]
        except ApiError:  # the CRDs of other tests come and go
            return []
        return [one for one in listed if "/" not in one["name"]]

    def path(self, kind: str, namespace: str, name: str = "") -> str:
        """Return the path of an object, or of a collection."""
        found = self.kind(kind)
        space = f"/namespaces/{namespace}" if found["namespaced"] else ""
        return f"{found['root']}{space}/{found['name']}" + (f"/{name}" if name else "")

    def get(self, kind: str, namespace: str, name: str) -> Json:
        """Return an object; empty if there is none."""
        try:
            return self.request("GET", self.path(kind, namespace, name))
        except ApiError as error:
            if error.status == 404:
                return {}
            raise

    def listed(self, kind: str, namespace: str, labels: str = "") -> list[Json]:
        """Return the objects of a kind, or of several with commas between them."""
        query = f"?{urlencode({'labelSelector': labels})}" if labels else ""
        items = []
        for one in kind.split(","):
            listed = self.request("GET", self.path(one, namespace) + query)
            facts = {
                "apiVersion": listed["apiVersion"],
                "kind": listed["kind"].removesuffix("List"),
            }
            items += [{**facts, **item} for item in listed["items"]]
        return items

    def names(self, kinds: str, namespace: str, labels: str = "") -> set[str]:
        """Return the names as ``kubectl get -o name`` prints them: ``deployment.apps/mo``."""
        found = set()
        for kind in kinds.split(","):
            facts = self.kind(kind)
            group = f".{facts['group']}" if facts["group"] else ""
            for one in self.listed(kind, namespace, labels):
                found.add(f"{facts['singularName']}{group}/{one['metadata']['name']}")
        return found

    def apply(
        self,
        resource: Json,
        namespace: str = "",
        *,
        force: bool = False,
        dry_run: bool = False,
        manager: str = "kubectl",
    ) -> Json:
        """Apply an object server-side, as the field manager that kubectl is unless another is given."""
        group = resource["apiVersion"].rpartition("/")[0]
        kind = f"{resource['kind']}.{group}" if group else resource["kind"]
        metadata = resource["metadata"]
        if namespace and self.kind(kind)["namespaced"]:
            metadata = {"namespace": namespace, **metadata}
        path = self.path(kind, metadata.get("namespace", ""), metadata["name"])
        resource = {**resource, "metadata": metadata}
        options = {"fieldManager": manager, "fieldValidation": "Strict"}
        options |= {"force": "true"} if force else {}
        query = urlencode(options | ({"dryRun": "All"} if dry_run else {}))
        return self.request("PATCH", f"{path}?{query}", resource, _APPLY)

    def merge(self, kind: str, namespace: str, name: str, change: Json) -> Json:
        """Apply a JSON merge patch as kubectl does."""
        path = self.path(kind, namespace, name)
        patch = "application/merge-patch+json"
        return self.request("PATCH", f"{path}?fieldManager=kubectl-patch", change, patch)


def conditions(resource: Json) -> dict[str, Json]:
    """Return the conditions of an object by type."""
    listed = (resource.get("status") or {}).get("conditions") or []
    return {one["type"]: one for one in listed}


def holds(resource: Json, condition: str) -> bool:
    """Whether a condition is True for the present generation, as ``kubectl wait`` decides it."""
    found = conditions(resource).get(condition, {})
    status = resource.get("status") or {}
    observed = found.get("observedGeneration", status.get("observedGeneration"))
    current = observed is None or observed >= resource["metadata"].get("generation", 0)
    return current and found.get("status") == "True"
