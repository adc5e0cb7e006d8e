# SPDX-License-Identifier: Apache-2.0
"""What an API server notes of the time at which the keys in a Secret changed."""

import time
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice.credential import (
    changed_at,
)

from testbed.api import ApiClient
from testbed.bed import TestBed

pytestmark = pytest.mark.api
MERGE = "application/merge-patch+json"


def test_a_change_of_the_keys_is_told_from_one_of_a_label(installed_testbed: TestBed) -> None:
    client = ApiClient(installed_testbed.kubeconfig)
    with installed_testbed.namespace("rotated") as namespace:
        place = f"/api/v1/namespaces/{namespace}/secrets"

        def patched(manager: str, body: dict[str, Any]) -> float:
            time.sleep(1.1)  # times are whole seconds
            query = f"?fieldManager={manager}"
            return changed_at(client.request("PATCH", f"{place}/keys{query}", body, MERGE))

        secret = {"metadata": {"name": "keys"}, "stringData": {"AWS_ACCESS_KEY_ID": "a"}}
        made = changed_at(client.request("POST", f"{place}?fieldManager=keys", secret))
        assert made > 0
        assert patched("labels", {"metadata": {"labels": {"a": "b"}}}) == made
        assert patched("keys", {"stringData": {"AWS_ACCESS_KEY_ID": "a"}}) == made
        assert patched("other", {"stringData": {"AWS_ACCESS_KEY_ID": "b"}}) > made
