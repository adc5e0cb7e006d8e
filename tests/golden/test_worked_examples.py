# SPDX-License-Identifier: Apache-2.0
"""The worked examples of the specification come out byte for byte."""

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api import digests as digest

from tests.support import resources as r

VECTORS = Path(__file__).parent / "vectors"
FILES = {"sharedStorage": {"s3": r.DELETE, "fileSystem": {"path": "/shared"}}}
REQUEST = {"requests": {"memory": "12Gi"}}
FAILED_OVER = ",".join(f"mo-log-{i}.mo-log-headless.prod.svc:32001" for i in (0, 2, 3))
EXTERNAL = {
    "externalLogSet": {
        "haKeeperEndpoint": FAILED_OVER,
        "sharedStorage": {"fileSystem": {"path": "/shared"}},
    }
}
"""The examples list the addresses of a log service whose store 1 was replaced by a store 3. Stores
of this operator keep their ordinal, so such a list belongs to a log service run by others."""


def expected(name: str) -> str:
    return (VECTORS / f"{name}.toml").read_text()


EXAMPLES: list[tuple[str, dict[str, Any]]] = [
    ("logset-s3", r.logset()),
    (
        "dnset-s3",
        r.dnset(resources=REQUEST, cacheVolume={"size": "10Gi"}, exportToPrometheus=True),
    ),
    ("dnset-filesystem", r.dnset(EXTERNAL, image="matrixorigin/matrixone:nightly")),
    (
        "cnset-filesystem",
        r.cnset(
            EXTERNAL,
            image="matrixorigin/matrixone:1.2.3",
            role="TP",
            scalingConfig={"storeDrainEnabled": True},
            pythonUdfSidecar={"enabled": True},
            config="[cn.frontend]\nproxy-enabled = true\n",
        ),
    ),
    ("cnset-s3", r.cnset(resources=REQUEST, cacheVolume={"size": "10Gi"}, role="TP")),
    ("proxyset-s3", r.proxyset(operatorVersion="1.3.0")),
]


@pytest.mark.parametrize(("name", "subject"), EXAMPLES, ids=[name for name, _ in EXAMPLES])
def test_configuration_is_the_worked_example(name: str, subject: dict[str, Any]) -> None:
    assert r.config_text(r.render(subject)) == expected(name)


@pytest.mark.parametrize(
    ("name", "digest7"),
    [("logset-s3", "f876ffa"), ("dnset-s3", "7beaa75"), ("cnset-filesystem", "3d69178")],
)
def test_digest_of_worked_example(name: str, digest7: str) -> None:
    subject = dict(EXAMPLES)[name]
    assert digest.digest7(r.config_text(r.render(subject))) == digest7


def test_bootstrap_and_gossip_are_the_worked_examples() -> None:
    objects = r.render(r.logset())
    bootstrap = r.find(objects, "ConfigMap", "mo-log-bootstrap")
    gossip = r.find(objects, "ConfigMap", "mo-log-gossip")
    assert bootstrap["data"] == {"bootstrap.toml": expected("logset-bootstrap")}
    assert gossip["data"]["gossip.toml"] == expected("logset-gossip")


def test_restoring_log_set_has_one_more_fileservice_and_names_the_snapshot() -> None:
    """The reference has the one alone; then log records are kept on the store's own disk for good.

    Without force, a store that ends between its mark of the restore and HAKeeper's first state
    starts HAKeeper without that of the backup.
    """
    objects = r.render(r.logset(initialConfig={"restoreFrom": "hk_data"}))
    assert expected("logset-restoring-fileservice") in r.config_text(objects)
    assert r.config_text(objects).count("[[fileservice]]") == 4
    bootstrap = r.find(objects, "ConfigMap", "mo-log-bootstrap")["data"]["bootstrap.toml"]
    assert bootstrap.endswith(
        '\n[logservice.BootstrapConfig.restore]\nfile-path = "BACKUP://hk_data"\nforce = true\n'
    )


def test_restoring_from_a_bare_bucket_has_an_empty_prefix() -> None:
    subject = r.logset(
        initialConfig={"restoreFrom": "hk_data"}, sharedStorage={"s3": {"path": "matrixone"}}
    )
    assert r.config(r.render(subject))["fileservice"][3]["s3"]["key-prefix"] == ""


def test_file_system_replaces_the_two_shared_entries() -> None:
    for subject in (r.logset(**FILES), r.proxyset()):
        objects = r.render(subject, log_set=r.logset(**FILES))
        shared = r.config(objects)["fileservice"][1:]
        assert shared == [
            {
                "name": name,
                "backend": backend,
                "data-dir": "/shared",
                "cache": {"memory-capacity": "1B"},
            }
            for name, backend in (("S3", "DISK"), ("ETL", "DISK-ETL"))
        ]


@pytest.mark.parametrize(
    ("given", "interval"),
    [
        ({"operatorVersion": "1.3.0"}, None),
        ({}, "1s"),
        ({"operatorVersion": "1.4.0", "config": "[proxy]\nrebalance-tolerance = 0.5\n"}, "1s"),
        ({"config": '[proxy.cluster]\nrefresh-interval = "3s"\n'}, "3s"),
    ],
)
def test_from_a_level_on_proxies_follow_claims_of_compute_nodes_soon(
    given: dict[str, str], interval: str | None
) -> None:
    proxy = r.config(r.render(r.proxyset(**given)))["proxy"]
    assert proxy.get("cluster", {}).get("refresh-interval") == interval
    assert ("rebalance-tolerance" in proxy) == ("rebalance" in given.get("config", ""))
