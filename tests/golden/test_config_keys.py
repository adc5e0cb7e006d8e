# SPDX-License-Identifier: Apache-2.0
"""Which versions of MatrixOne read the configuration keys that the operator writes.

Read in the sources of 1.2.3, the 1.3 and 2.0 that the test bed builds, 2.1.0, 2.2.0, 3.0.18, 4.1.0
and 4.2.0 (``toml:"…"`` of the package that a table belongs to). MatrixOne ignores a key that it does
not know, so that a setting without effect is seen nowhere else.
"""

import re
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.versions import parse

from tests.golden.test_golden import rendered
from tests.golden.variants import VARIANTS
from tests.support import resources as r
from tests.support.places import ROOT

_ALWAYS = """
    cn.frontend.port cn.frontend.proxy-enabled cn.init-work-state cn.listen-address
    cn.lockservice.listen-address cn.lockservice.service-address cn.port-base
    cn.python-udf-client.server-address cn.role cn.service-address cn.service-host cn.sql-address
    cn.uuid
    cnservices logservices tnservices data-dir service-type
    fileservice.backend fileservice.name fileservice.data-dir fileservice.cache.disk-capacity
    fileservice.cache.disk-path fileservice.cache.memory-capacity fileservice.s3.bucket
    fileservice.s3.cert-files fileservice.s3.endpoint fileservice.s3.key-prefix
    hakeeper-client.discovery-address hakeeper-client.service-addresses
    log.format log.level
    logservice.BootstrapConfig.bootstrap-cluster logservice.BootstrapConfig.init-hakeeper-members
    logservice.BootstrapConfig.num-of-log-shard-replicas
    logservice.BootstrapConfig.num-of-log-shards logservice.BootstrapConfig.num-of-tn-shards
    logservice.BootstrapConfig.restore.file-path logservice.BootstrapConfig.restore.force
    logservice.deployment-id logservice.gossip-address logservice.gossip-address-v2
    logservice.gossip-allow-self-as-seed logservice.gossip-port logservice.gossip-seed-addresses
    logservice.logservice-address logservice.logservice-listen-address logservice.logservice-port
    logservice.raft-address logservice.raft-port logservice.service-host logservice.uuid
    observability.enableMetricToProm
    proxy.cluster.refresh-interval proxy.listen-address proxy.uuid
    tn.LogtailServer.listen-address tn.LogtailServer.service-address tn.Txn.Storage.backend
    tn.listen-address tn.lockservice.listen-address tn.lockservice.service-address tn.port-base
    tn.service-address tn.service-host tn.uuid
"""
ALL = frozenset(_ALWAYS.split())
"""Keys that all these versions read; ``dn`` is another name of ``tn`` in all of them."""

FROM = {
    "observability.enable-metric-to-prom": (1, 3),
    "observability.status-port": (1, 3),
    "logservice.logdb-max-log-file-size": (2, 0),
    "hakeeper-client.archive-log-enabled": (2, 0),
    "logservice.logdb-disable-prealloc": (3, 0),
    "proxy.client-handshake-timeout": (4, 2),
    "proxy.max-connections": (4, 2),
    "proxy.max-connections-per-tenant": (4, 2),
    "proxy.protocol-memory-limit": (4, 2),
}
"""The minor release from which on a key is read."""

UNTIL = {"cn.Engine.logstore": (2, 1)}
"""The minor release from which on a key is read no more."""

BY_NONE = {
    "logservice.BootstrapConfig.num-of-dn-shards": "the name below 1.0 of num-of-tn-shards",
}
"""Keys that none of these versions reads, and why they are written all the same."""

DASHBOARD = frozenset({"db", "server"})
"""Tables of the dashboard, which is another program."""
USERS = {"early-image"}
"""Variants whose image may be of any version below 1.0."""


def keys(table: dict[str, Any], *above: str) -> Iterator[str]:
    """Yield the keys of a configuration with their tables, as MatrixOne 1.0 and newer name them."""
    for name, value in table.items():
        renamed = "tn" if (name, above) == ("dn", ()) else name
        inner = value if isinstance(value, list) else [value]
        for one in inner:
            if isinstance(one, dict):
                yield from keys(one, *above, renamed)
        if not any(isinstance(one, dict) for one in inner):
            yield ".".join((*above, renamed))


def written(name: str) -> set[str]:
    """Return the keys in all configurations of a variant."""
    return {
        key
        for one in rendered(name)
        if one["kind"] == "ConfigMap"
        for file, text in one["data"].items()
        if file.endswith(".toml")
        for key in keys(tomllib.loads(text))
        if key.partition(".")[0] not in DASHBOARD
    }


def unread(key: str, version: tuple[int, int]) -> bool:
    """Return whether a version ignores a key."""
    if key in FROM:
        return version < FROM[key]
    if key in UNTIL:
        return version >= UNTIL[key]
    return key not in ALL


def versions_of(name: str) -> set[tuple[int, int]]:
    """Return the versions of MatrixOne that a variant runs, by the tags of its images."""
    text = repr(rendered(name))
    tags = re.findall(r"matrixorigin/matrixone:([\w.-]+)", text)
    return {version.release for version in map(parse, tags) if version}


@pytest.mark.parametrize("name", [name for name in VARIANTS if name not in USERS])
def test_every_key_is_read_by_the_version_that_it_is_written_for(name: str) -> None:
    ignored = {
        (key, version)
        for key in written(name) - set(BY_NONE)
        for version in versions_of(name)
        if unread(key, version)
    }
    assert ignored == set()


def test_the_versions_that_users_run_are_among_the_variants() -> None:
    found = set().union(*map(versions_of, VARIANTS))
    assert {(1, 2), (1, 3), (2, 0), (3, 0), (4, 2)} <= found


@pytest.mark.parametrize("shards", [1, 3])
def test_what_the_key_that_nobody_reads_says_is_true(shards: int) -> None:
    """Either its successor says the same, or it is the default of the successor."""
    (bootstrap,) = (
        tomllib.loads(one["data"]["bootstrap.toml"])["logservice"]["BootstrapConfig"]
        for one in r.render(r.logset(initialConfig={"dnShards": shards}))
        if "bootstrap.toml" in one.get("data", {})
    )
    assert bootstrap["num-of-dn-shards"] == bootstrap.get("num-of-tn-shards", 1) == shards


@pytest.mark.parametrize("role", ["logset", "dnset", "cnset", "proxyset"])
def test_every_key_that_a_start_script_adds_is_read(role: str) -> None:
    """Their tables are those in which a key of that name is read."""
    script = (ROOT / f"roles/{role}/files/start.sh").read_text()
    lines = script.replace("\\n", "\n")
    added = set(re.findall(r"(?:^|[\"' ])([a-z][a-z0-9-]*) = (?:\\?\"|\d{4})", lines, re.MULTILINE))
    assert "uuid" in added
    assert added <= {key.rpartition(".")[2] for key in ALL}


@pytest.mark.parametrize(
    ("key", "version", "ignored"),
    [
        ("log.level", (4, 2), False),
        ("log.levels", (4, 2), True),
        ("logservice.logdb-disable-prealloc", (2, 2), True),
        ("logservice.logdb-disable-prealloc", (3, 0), False),
        ("cn.Engine.logstore", (2, 0), False),
        ("cn.Engine.logstore", (2, 1), True),
    ],
)
def test_the_table_tells_versions_apart(key: str, version: tuple[int, int], ignored: bool) -> None:
    assert unread(key, version) == ignored
