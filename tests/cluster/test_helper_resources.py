# SPDX-License-Identifier: Apache-2.0
"""Containers that the operator adds fit a quota that counts every request and limit."""

from collections.abc import Iterator
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils import kinds
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api import quantities

from tests.support import resources as r

Json = dict[str, Any]

CLAIM = {"fileSystem": {"path": "/shared", "claim": {"size": "1Gi"}}}
OWN = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}}
"""What each container of the database asks for here."""
ASKED = {"requests": {"cpu": "60m"}, "limits": {"cpu": "70m", "memory": "80Mi"}}
SCRIPTS = dict.fromkeys(("logset", "dnset", "cnset", "proxyset"), "#!/bin/sh\n")
HELPERS = {"mo-log-storage-check/main", "mo-webui/write-config", "mo-webui/mo-frontend"}


def containers(**spec: Any) -> Iterator[tuple[str, Json]]:
    """Yield the containers of a cluster of every part, as ``<workload>/<container>``."""
    part = {"resources": OWN}
    log_service = {**part, "sharedStorage": {**CLAIM, "s3": r.DELETE}}
    cluster = r.cluster(
        logService=log_service,
        tn=part,
        cnGroups=[{"name": "tp", "replicas": 1, **part}],
        proxy={"replicas": 1, **part},
        webui={"replicas": 1, **part},
        **spec,
    )
    for one in kinds.render_everything(cluster, start_scripts=SCRIPTS):
        if one["kind"] in ("StatefulSet", "Deployment"):
            pod = one["spec"]["template"]["spec"]
            for container in [*pod.get("initContainers", []), *pod["containers"]]:
                yield f"{one['metadata']['name']}/{container['name']}", container


def test_every_container_has_every_request_and_limit_from_1_4_on() -> None:
    found = dict(containers(operatorVersion="1.4.0"))

    assert found.keys() >= HELPERS
    for name, container in found.items():
        resources = container["resources"]
        for amount in ("cpu", "memory"):
            request, limit = (resources[kind][amount] for kind in ("requests", "limits"))
            assert quantities.parse(request) <= quantities.parse(limit), name


@pytest.mark.parametrize("version", ["1.2.0", "1.3.0"])
def test_what_earlier_versions_have_stays(version: str) -> None:
    found = dict(containers(operatorVersion=version))

    assert [name for name in sorted(HELPERS) if "resources" in found[name]] == [
        "mo-log-storage-check/main"
    ]
    assert "cpu" not in found["mo-log-storage-check/main"]["resources"]["limits"]


@pytest.mark.parametrize("version", ["1.3.0", "1.4.0"])
def test_a_field_sets_them_whatever_the_version(version: str) -> None:
    found = dict(containers(operatorVersion=version, helperResources=ASKED))

    for name, container in found.items():
        assert container["resources"] == (ASKED if name in HELPERS else OWN), name
