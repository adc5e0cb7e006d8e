# SPDX-License-Identifier: Apache-2.0
"""TLS for SQL on a real database: served, renewed under traffic, and never rolled out broken."""

import base64
import json
import ssl
import time
from typing import Any

import pymysql
import pytest

from testbed.bed import TestBed
from tests.e2e.clusters import Cluster, operating, tiny_cluster
from tests.e2e.traffic import Traffic, conclude
from tests.support.certificates import Authority
from tests.support.waiting import eventually

pytestmark = [pytest.mark.node, pytest.mark.scenario]

Json = dict[str, Any]
SECRET = "mo-tls"
ROLL_SECONDS = 420.0


def _write(cluster: Cluster, data: Json) -> None:
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/tls",
        "metadata": {"name": SECRET},
        "data": data,
    }
    cluster.kubectl("apply", "--server-side", "-f", "-", input=json.dumps(secret))


def _context(authority: Authority) -> ssl.SSLContext:
    """Trust one authority; clients of these tests know addresses, not names."""
    context = ssl.create_default_context(cadata=authority.certificate.decode())
    context.check_hostname = False
    return context


def _served(cluster: Cluster, host: str = "") -> bytes:
    """Return the certificate that a server shows, verified by the authority."""
    entrance = {**cluster.entrance, **({"host": host} if host else {})}
    with pymysql.connect(**entrance, connect_timeout=15, read_timeout=30, ssl=cluster.tls) as one:
        with one.cursor() as cursor:
            cursor.execute("select 1")
        return bytes(one._sock.getpeercert(binary_form=True))


def _in(data: Json) -> bytes:
    return ssl.PEM_cert_to_DER_cert(base64.b64decode(data["tls.crt"]).decode())


def _servers(cluster: Cluster) -> list[str]:
    """Return the addresses of proxies; an empty one for a Pod that has none yet."""
    return [
        one["status"].get("podIP", "")
        for one in cluster.pods("ProxySet").values()
        if not one["metadata"].get("deletionTimestamp")
    ]


def _pods(cluster: Cluster) -> set[str]:
    kinds = ("LogSet", "DNSet", "CNSet", "ProxySet")
    return {one["metadata"]["uid"] for kind in kinds for one in cluster.pods(kind).values()}


def _is_everywhere(cluster: Cluster, data: Json) -> bool:
    """Tell whether all servers show a certificate, and no Pod of an earlier one is left."""
    servers = _servers(cluster)
    if not all(servers):
        return False
    try:
        shown = {_served(cluster, host) for host in servers}
    except pymysql.MySQLError:
        return False
    return shown == {_in(data)} and cluster.condition("mo", "mo", "Ready")["status"] == "True"


def _synced(cluster: Cluster) -> str:
    """Return what the proxies wait for; empty while there is no such set yet."""
    listed = cluster.get("proxyset")["items"]
    return str(cluster.condition("proxyset", "mo", "Synced").get("message")) if listed else ""


def test_a_certificate_is_served_renewed_and_never_broken(
    real_testbed: TestBed, tmp_path_factory: pytest.TempPathFactory
) -> None:
    authority = Authority()
    resource = tiny_cluster()
    resource["spec"] |= {"tls": {"secretRef": {"name": SECRET}}}
    resource["spec"]["proxy"]["replicas"] = 2
    with operating(real_testbed, tmp_path_factory.mktemp("operator"), "tls") as cluster:
        cluster.kubectl("apply", "-f", "-", input=json.dumps(resource))
        eventually(lambda: "waiting for Secret mo-tls" in _synced(cluster), 240)
        assert cluster.pods("ProxySet") == {}

        first = authority.secret(["mo-proxy"])
        _write(cluster, first)
        cluster.await_ready()
        cluster.tls = _context(authority)
        assert {_served(cluster, host) for host in _servers(cluster)} == {_in(first)}
        assert cluster.get("proxyset", "mo")["status"]["tls"]["secretName"] == SECRET
        cluster.tls = None
        cluster.connect().close()
        cluster.tls = _context(authority)

        second = authority.secret(["mo-proxy"])
        began = time.monotonic()
        nodes = set(cluster.pods("CNSet"))
        with Traffic(cluster, "tls-renewed") as traffic:
            time.sleep(3)
            _write(cluster, second)
            eventually(lambda: _is_everywhere(cluster, second), ROLL_SECONDS, "renewed", pause=2.0)
            time.sleep(3)
        traffic.require_nothing_lost(longest=15.0, errors=50)
        assert set(cluster.pods("CNSet")) == nodes
        conclude(f"certificate everywhere after {time.monotonic() - began:.0f} s")

        before = _pods(cluster)
        _write(cluster, {**authority.secret(), "tls.key": second["tls.key"]})
        eventually(lambda: "tls.key is not the key of tls.crt" in _synced(cluster), 90)
        assert cluster.condition("mo", "mo", "Ready")["status"] == "True"
        _write(cluster, second)
        cluster.kubectl("wait", "--for=condition=Synced", "mo/mo", "--timeout=90s")
        assert _pods(cluster) == before

        files = cluster.operator.artifacts() + cluster.operator.log.read_text()
        for data in (first, second):
            assert data["tls.key"] not in files
            assert base64.b64decode(data["tls.key"]).decode().splitlines()[1] not in files
        cluster.kubectl("delete", "mo", "--all", "--timeout=240s")
