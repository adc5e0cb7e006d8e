# SPDX-License-Identifier: Apache-2.0
"""Objects that were stored before the rules for locations can still be changed, and deleted.

The API server checks a value anew only when it changes, from Kubernetes 1.30 on.
"""

import copy
from typing import Any

import pytest
import yaml

from testbed.api import ApiClient, ApiError
from testbed.bed import TestBed
from tests.crds.manifests import changed, minimal
from tests.support.places import ROOT
from tests.support.waiting import eventually

pytestmark = pytest.mark.api
GROUP = "stored.matrixorigin.test"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
OBJECTS = f"/apis/{GROUP}/v1alpha1/namespaces/default/logsets"
STORED = {
    "spec.sharedStorage.s3.path": "team//mo=1",
    "spec.sharedStorage.s3.endpoint": "http://minio.storage:9000 ",
    "spec.sharedStorage.s3.region": "us west",
    "metadata.finalizers": ["matrixorigin.test/data"],
}


def definition(*, rules: bool) -> Any:
    """Return the CRD of LogSets in another group, with the rules for locations or without."""
    crd = yaml.safe_load((ROOT / "crds" / "core.matrixorigin.io_logsets.yaml").read_text())
    crd["metadata"]["name"] = f"logsets.{GROUP}"
    spec = crd["spec"]
    spec["group"] = GROUP
    spec["names"] = {key: spec["names"][key] for key in ("kind", "plural")}
    properties = spec["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"][
        "properties"
    ]
    if not rules:
        s3 = properties["sharedStorage"]["properties"]["s3"]["properties"]
        for name in ("path", "endpoint", "region"):
            del s3[name]["x-kubernetes-validations"]
    return crd


def test_what_is_stored_can_be_changed_and_deleted(installed_testbed: TestBed) -> None:
    client = ApiClient(installed_testbed.kubeconfig)
    place = f"{CRDS}/logsets.{GROUP}"
    created = client.request("POST", CRDS, definition(rules=False))
    try:
        wanted = changed({**minimal("LogSet", "old"), "apiVersion": f"{GROUP}/v1alpha1"}, STORED)
        stored = eventually(lambda: _create(client, wanted), 30, "the kind is served")
        crd = definition(rules=True)
        crd["metadata"]["resourceVersion"] = client.request("GET", place)["metadata"][
            "resourceVersion"
        ]
        client.request("PUT", place, crd)
        new = changed({**wanted, "metadata": {"name": "new"}}, {})
        eventually(lambda: not _create(client, new, dry_run=True), 30, "the rules are in force")

        path = f"{OBJECTS}/old"
        stored = client.request("PUT", path, changed(stored, {"spec.replicas": 5}))
        status = changed(stored, {"status.phase": "Ready"})
        stored = client.request("PUT", f"{path}/status", status)
        other = changed(copy.deepcopy(stored), {"spec.sharedStorage.s3.path": "team//other"})
        with pytest.raises(ApiError, match="path cannot be changed"):
            client.request("PUT", path, other)
        clean = {"spec.sharedStorage.s3.endpoint": "http://minio.storage:9000"}
        stored = client.request("PUT", path, changed(stored, clean))
        client.request("DELETE", path)
        stored = client.request("GET", path)
        client.request("PUT", path, changed(stored, {"metadata.finalizers": None}))
        with pytest.raises(ApiError, match="not found"):
            client.request("GET", path)
    finally:
        client.request("DELETE", place)
    assert created["metadata"]["name"] == f"logsets.{GROUP}"


def _create(client: ApiClient, resource: dict[str, Any], *, dry_run: bool = False) -> Any:
    """Return the object, or None while it cannot be created."""
    try:
        return client.request("POST", OBJECTS + ("?dryRun=All" if dry_run else ""), resource)
    except ApiError:
        return None
