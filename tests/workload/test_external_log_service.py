# SPDX-License-Identifier: Apache-2.0
"""Where sets find a log service that no LogSet describes."""

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.errors import InvalidSpec
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.kinds import render_everything


@pytest.mark.parametrize("endpoint", [",", " , ", ", ,"])
def test_an_endpoint_without_an_address_is_refused(endpoint: str) -> None:
    log_service = {
        "haKeeperEndpoint": endpoint,
        "sharedStorage": {"s3": {"path": "data/mo", "endpoint": "http://minio:9000"}},
    }
    resource = {
        "apiVersion": "core.matrixorigin.io/v1alpha1",
        "kind": "CNSet",
        "metadata": {"name": "mo-tp", "namespace": "prod"},
        "spec": {"image": "matrixorigin/matrixone:2.0.1", "replicas": 2},
        "deps": {"externalLogSet": log_service},
    }
    with pytest.raises(InvalidSpec, match=r"haKeeperEndpoint: must be <host>:<port>"):
        render_everything(resource, start_scripts={"CNSet": "exec\n"})
