# SPDX-License-Identifier: Apache-2.0
"""The CRDs, installed on a real API server as `make install` installs them."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from testbed.api import ApiClient, ApiError
from testbed.bed import TestBed
from tests.crds.manifests import API_VERSION, CLUSTER_SCOPED, EARLY, PLURALS, Json


@dataclass(frozen=True, slots=True)
class Server:
    """The API server with the CRDs, and a namespace to write to."""

    client: ApiClient
    namespace: str

    def _collection(self, resource: Json) -> str:
        plural = {**PLURALS, EARLY: "matrixoneclusters"}[resource["kind"]]
        place = "" if resource["kind"] in CLUSTER_SCOPED else f"/namespaces/{self.namespace}"
        return f"/apis/{resource['apiVersion']}{place}/{plural}"

    def create(self, resource: Json, *, dry_run: bool = False) -> Json:
        """Creates an object, strictly: an unknown field is an error."""
        query = "?fieldValidation=Strict" + ("&dryRun=All" if dry_run else "")
        return self.client.request("POST", self._collection(resource) + query, resource)

    def update(self, resource: Json, subresource: str = "") -> Json:
        """Replaces the spec (or status) of an object that exists."""
        path = f"{self._collection(resource)}/{resource['metadata']['name']}{subresource}"
        return self.client.request("PUT", f"{path}?fieldValidation=Strict", resource)

    def refusal(self, resource: Json) -> str:
        """What the server says against creating an object; empty when it accepts it."""
        try:
            self.create(resource, dry_run=True)
        except ApiError as error:
            return str(error)
        return ""


@pytest.fixture(scope="session")
def server(installed_testbed: TestBed) -> Iterator[Server]:
    """The API server and a namespace for this module's tests."""
    with installed_testbed.namespace("crds") as namespace:
        yield Server(ApiClient(installed_testbed.kubeconfig), namespace)


@pytest.fixture(scope="session")
def definitions(installed_testbed: TestBed) -> dict[str, Any]:
    """The CRDs as the server has them, by kind."""
    found = json.loads(installed_testbed.kubectl("get", "crd", "-o", "json"))["items"]
    return {
        item["spec"]["names"]["kind"]: item
        for item in found
        if item["spec"]["group"] == API_VERSION.partition("/")[0]
    }
