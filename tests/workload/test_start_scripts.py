# SPDX-License-Identifier: Apache-2.0
"""The start scripts, run for real under several shells and awks with a stand-in for mo-service."""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api import digests as digest

from tests.support import resources as r
from tests.support.installed import installed
from tests.workload.containers import FLAVOURS, Container, log_container, set_container


@pytest.fixture(params=FLAVOURS)
def flavour(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def log(tmp_path: Path, flavour: str) -> Container:
    return log_container(tmp_path, flavour)


@pytest.fixture
def tn(tmp_path: Path, flavour: str) -> Container:
    container = set_container(tmp_path, flavour, "dnset", r.dnset())
    container.env |= {"POD_NAME": "mo-dn-0", "HEADLESS_SERVICE_NAME": "mo-dn-headless"}
    return container


@pytest.fixture
def cn(tmp_path: Path, flavour: str) -> Container:
    container = set_container(tmp_path, flavour, "cnset", r.cnset())
    container.env |= {
        "POD_NAME": "mo-tp-cn-abcde",
        "POD_IP": "10.1.2.3",
        "HEADLESS_SERVICE_NAME": "mo-tp-cn-headless",
    }
    return container


@pytest.fixture
def proxy(tmp_path: Path, flavour: str) -> Container:
    container = set_container(tmp_path, flavour, "proxyset", r.proxyset())
    container.env |= {"POD_NAME": "mo-proxy-abcde"}
    return container


FQDN = "mo-log-1.mo-log-headless.prod.svc"


def test_log_store_of_a_newer_version_names_its_host(log: Container) -> None:
    found = log.report("-debug-http=:6060", ADDRESS_STYLE="service-host")
    assert found["argv"][1:] == ["-cfg", f"{log.root}/tmp/logservice.toml", "-debug-http=:6060"]
    section = found["toml"]["logservice"]
    members = section.pop("BootstrapConfig")
    assert section == {
        "gossip-seed-addresses": [f"mo-log-{i}.mo-log-headless.prod.svc:32002" for i in range(3)],
        "uuid": "00000000-0000-0000-0000-000000000001",
        "service-host": FQDN,
        "raft-port": 32000,
        "logservice-port": 32001,
        "gossip-port": 32002,
        "deployment-id": 8850055262063083118,
        "logservice-listen-address": "0.0.0.0:32001",
    }
    assert members["bootstrap-cluster"] is True
    assert members["init-hakeeper-members"][1] == "131073:" + section["uuid"]


def test_log_store_keeps_the_order_of_the_worked_example(log: Container) -> None:
    lines = log.report(ADDRESS_STYLE="service-host")["config"].splitlines()
    start = lines.index("[logservice]")
    keys = [line.split(" ")[0] for line in lines[start + 1 : start + 9]]
    assert keys == [
        "gossip-seed-addresses", "uuid", "service-host", "raft-port", "logservice-port",
        "gossip-port", "deployment-id", "logservice-listen-address",
    ]  # fmt: skip
    assert lines.index("[logservice.BootstrapConfig]") > start


def test_log_store_of_an_older_version_names_its_addresses(log: Container) -> None:
    section = log.report()["toml"]["logservice"]
    assert {k: v for k, v in section.items() if "address" in k and "seed" not in k} == {
        "raft-address": f"{FQDN}:32000",
        "logservice-address": f"{FQDN}:32001",
        "gossip-address": "10.1.2.3:32002",
        "gossip-address-v2": f"{FQDN}:32002",
        "logservice-listen-address": "0.0.0.0:32001",
    }
    assert "service-host" not in section


def test_log_store_without_pod_name_uses_the_host_name(log: Container) -> None:
    del log.env["POD_NAME"]
    log.path.joinpath("hostname").unlink()
    log.program("hostname", "#!/bin/sh\necho mo-log-2\n", log.path)
    section = log.report()["toml"]["logservice"]
    assert section["uuid"] == "00000000-0000-0000-0000-000000000002"


@pytest.mark.parametrize(
    ("pod", "ordinal"), [("mo-log-0", 0), ("mo-log-11", 11), ("a-9-log-10", 10)]
)
def test_identity_of_a_log_store_follows_its_ordinal(
    log: Container, pod: str, ordinal: int
) -> None:
    section = log.report(POD_NAME=pod)["toml"]["logservice"]
    assert section["uuid"] == digest.log_uuid(ordinal)


def test_transaction_node_gets_its_memory_back(tn: Container) -> None:
    uuid = digest.tn_uuid(0)
    tn.write(f"etc/matrixone/shards/{uuid}", "serves shard 2")
    tn.report()
    memory = tn.root / "var/lib/matrixone/data/tnservice"
    assert {path.name: path.read_text() for path in memory.iterdir()} == {uuid: "serves shard 2"}


def test_transaction_node_keeps_the_memory_that_it_has(tn: Container) -> None:
    uuid = digest.tn_uuid(0)
    tn.write(f"var/lib/matrixone/data/tnservice/{uuid}", "its own")
    tn.write(f"etc/matrixone/shards/{uuid}", "an earlier one")
    tn.report()
    assert (tn.root / f"var/lib/matrixone/data/tnservice/{uuid}").read_text() == "its own"


@pytest.mark.parametrize("found", [None, "", "for another"])
def test_transaction_node_without_memory_begins_without(tn: Container, found: str | None) -> None:
    if found is not None:
        name = "another" if found else digest.tn_uuid(0)
        tn.write(f"etc/matrixone/shards/{name}", found)
    tn.report()
    assert not (tn.root / "var/lib/matrixone/data").exists()


def test_replaced_store_has_a_new_identity(log: Container) -> None:
    log.write("etc/gossip/incarnations", "1 3\n11 4\n")
    section = log.report()["toml"]["logservice"]
    assert section["uuid"] == digest.log_uuid(1, 3) == "00000000-0000-0000-0003-000000000001"


def test_store_keeps_its_identity_as_long_as_its_data(log: Container) -> None:
    log.write("etc/gossip/incarnations", "1 1\n")
    first = log.report()["toml"]["logservice"]["uuid"]
    log.write("etc/gossip/incarnations", "1 2\n")
    assert log.report()["toml"]["logservice"]["uuid"] == first
    (log.root / "var/lib/matrixone/incarnation").unlink()
    assert log.report()["toml"]["logservice"]["uuid"] == digest.log_uuid(1, 2)


def test_a_second_start_in_the_same_pod_gives_the_same_configuration(log: Container) -> None:
    assert log.report()["config"] == log.report()["config"]


def test_cluster_domain_is_appended(tmp_path: Path, flavour: str) -> None:
    subject = r.logset(clusterDomain="cluster.example")
    container = log_container(tmp_path, flavour, subject)
    section = container.report(CLUSTER_DOMAIN="cluster.example")["toml"]["logservice"]
    assert section["raft-address"] == f"{FQDN}.cluster.example:32000"
    assert section["gossip-seed-addresses"][1] == f"{FQDN}.cluster.example:32002"


def test_address_of_version_six_is_bracketed(log: Container) -> None:
    section = log.report(POD_IP="fd00::1")["toml"]["logservice"]
    assert section["gossip-address"] == "[fd00::1]:32002"


def test_wait_for_dns_ends_when_the_name_resolves(log: Container) -> None:
    tries = log.root / "tries"
    log.program(
        "nslookup",
        f'#!/bin/sh\necho "$1" >>{tries}\n[ "$(cat {tries} | grep -c .)" -ge 3 ]\n',
        log.path,
    )
    log.report()
    assert tries.read_text().splitlines() == [FQDN, f"{FQDN}.first.example", f"{FQDN}.svc.example"]


def test_names_are_tried_with_the_search_list(log: Container) -> None:
    log.program("nslookup", f'#!/bin/sh\n[ "$1" = {FQDN}.svc.example ]\n', log.path)
    log.report(DNS_TIMEOUT="1")


@pytest.mark.parametrize("role", ["logset", "dnset"])
def test_wait_for_dns_has_an_end(tmp_path: Path, flavour: str, role: str) -> None:
    container = (
        log_container(tmp_path, flavour)
        if role == "logset"
        else set_container(tmp_path, flavour, role, r.dnset())
    )
    container.env |= {"POD_NAME": "mo-0", "HEADLESS_SERVICE_NAME": "h", "DNS_TIMEOUT": "2"}
    container.program("nslookup", "#!/bin/sh\nexit 1\n", container.path)
    done = container.run()
    assert done.returncode == 1
    assert done.stderr == "timeout: mo-0.h.prod.svc did not resolve within 2 s\n"


def test_a_transaction_node_that_served_before_waits_for_no_name(tn: Container) -> None:
    """Nobody can write until it serves, and compute nodes ask for its name all the time."""
    tn.write(f"etc/matrixone/shards/{digest.tn_uuid(0)}", "serves shard 2")
    tn.program("nslookup", "#!/bin/sh\nexit 1\n", tn.path)
    tn.report(DNS_TIMEOUT="1")


def test_arguments_are_not_split(log: Container) -> None:
    args = ["-a b", "c'd", '"e"', "*", "$HOME", ""]
    assert log.report(*args)["argv"][3:] == args


def test_command_line_is_printed(log: Container) -> None:
    found = log.report("-x", "y z")
    assert f"{log.root}/mo-service -cfg {log.root}/tmp/logservice.toml -x y z\n" in found["output"]


def run_from_memory(container: Container) -> None:
    memory = container.root / "matrixone/bin"
    for _ in range(2):
        found = container.report(MO_BIN_PATH=str(memory))
        assert found["argv"][0] == str(memory / "mo-service")
    assert os.access(memory / "mo-service", os.X_OK)


def test_log_binary_is_run_from_memory(log: Container) -> None:
    run_from_memory(log)


def test_tn_binary_is_run_from_memory(tn: Container) -> None:
    run_from_memory(tn)


def test_cn_binary_is_run_from_memory(cn: Container) -> None:
    run_from_memory(cn)


def test_missing_variable_stops_the_script(log: Container) -> None:
    del log.env["HEADLESS_SERVICE_NAME"]
    done = log.run()
    assert done.returncode != 0
    assert "HEADLESS_SERVICE_NAME" in done.stderr


@pytest.mark.parametrize("missing", ["logservice/logservice.toml", "gossip/gossip.toml"])
def test_missing_file_stops_the_script(log: Container, missing: str) -> None:
    (log.root / "etc" / missing).unlink()
    done = log.run()
    assert done.returncode != 0
    assert "@@" not in done.stdout


def test_configuration_without_the_table_stops_the_script(cn: Container) -> None:
    cn.write("etc/matrixone/config/config.toml", 'service-type = "CN"\n')
    assert cn.run().returncode != 0


def test_tn_gets_its_addresses(tn: Container) -> None:
    fqdn = "mo-dn-0.mo-dn-headless.prod.svc"
    assert tn.report()["toml"]["dn"] == {
        "uuid": "00000000-0000-0000-0000-100000000000",
        "service-address": f"{fqdn}:41010",
        "service-host": fqdn,
        "listen-address": "0.0.0.0:41010",
        "port-base": 41010,
        "lockservice": {
            "service-address": f"{fqdn}:6003",
            "listen-address": "0.0.0.0:6003",
        },
        "LogtailServer": {
            "service-address": f"{fqdn}:32003",
            "listen-address": "0.0.0.0:32003",
        },
    }


def test_tn_uses_the_table_that_the_user_uses(tmp_path: Path, flavour: str) -> None:
    subject = r.dnset(config='[tn]\n[tn.Txn]\nmode = "x"\n')
    container = set_container(tmp_path, flavour, "dnset", subject)
    container.env |= {"POD_NAME": "mo-dn-3", "HEADLESS_SERVICE_NAME": "mo-dn-headless"}
    found = container.report()["toml"]
    assert "dn" not in found
    assert found["tn"]["uuid"] == digest.tn_uuid(3)
    assert found["tn"]["Txn"] == {"mode": "x"}


def test_tn_identity_from_its_name(tn: Container) -> None:
    section = tn.report(HOSTNAME_UUID="y")["toml"]["dn"]
    assert section["uuid"] == "61636136-6635-6561-3338-633633643637"
    section = tn.report(HOSTNAME_UUID="y", CLUSTER_DOMAIN="example")["toml"]["dn"]
    assert section["uuid"] == "61636136-6635-6561-3338-633633643637"
    assert section["service-host"].endswith(".svc.example")


def test_cn_gets_its_addresses(cn: Container) -> None:
    section = cn.report()["toml"]["cn"]
    assert section == {
        "uuid": "31653663-6438-6537-3362-373633636432",
        "listen-address": "0.0.0.0:6002",
        "service-address": "10.1.2.3:6002",
        "sql-address": "10.1.2.3:6001",
        "service-host": "10.1.2.3",
        "port-base": 6002,
        "role": "TP",
        "lockservice": {
            "listen-address": "0.0.0.0:6003",
            "service-address": "10.1.2.3:6003",
        },
    }


def test_cn_and_proxy_do_not_wait_for_dns(cn: Container) -> None:
    cn.program("nslookup", "#!/bin/sh\nexit 1\n", cn.path)
    cn.report()


def test_proxy_gets_its_identity(proxy: Container) -> None:
    proxy.program("nslookup", "#!/bin/sh\nexit 1\n", proxy.path)
    section = proxy.report()["toml"]["proxy"]
    assert section == {
        "uuid": digest.hash_uuid("mo-proxy-abcde.prod.svc"),
        "listen-address": "0.0.0.0:6001",
        "cluster": {"refresh-interval": "1s"},
    }


@pytest.mark.parametrize("with_bash", [True, False])
def test_proxy_waits_for_its_plugin(proxy: Container, with_bash: bool) -> None:
    if with_bash:
        (proxy.path / "bash").symlink_to("/bin/bash")
    else:
        (proxy.path / "nc").symlink_to(installed("busybox"))
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        proxy.report(WAIT_PLUGIN_ADDR=address)
    done = proxy.run(WAIT_PLUGIN_ADDR=address, PLUGIN_TIMEOUT="2")
    assert done.returncode == 1
    assert done.stderr.endswith(f"timeout: the plugin at {address} took no connection for 2 s\n")


@pytest.mark.parametrize(
    ("role", "subject", "keys"),
    [
        (
            "logset",
            r.logset(
                config='[logservice]\nuuid = "u"\nraft-address = "a"\nservice-host = "h"\n'
                'gossip-seed-addresses = ["s"]\nrttmillisecond = 5\n'
                "[logservice.BootstrapConfig]\nnum-of-log-shards = 9\n"
            ),
            {"rttmillisecond": 5},
        ),
        (
            "dnset",
            r.dnset(
                config='[dn]\nuuid = "u"\nservice-address = "a"\nport-base = 1\n'
                'service-host = "h"\n[dn.lockservice]\nservice-address = "l"\nkeep = 1\n'
                '[dn.LogtailServer]\nservice-address = "t"\n'
            ),
            {"port-base": 41010},
        ),
        (
            "cnset",
            r.cnset(
                config='[cn]\nuuid = "u"\nlisten-address = "a"\nservice-address = "a"\n'
                'sql-address = "a"\nservice-host = "h"\nmine = 1\n'
                '[cn.lockservice]\nservice-address = "l"\n'
            ),
            {"mine": 1},
        ),
        ("proxyset", r.proxyset(config='[proxy]\nuuid = "u"\nmine = 1\n'), {"mine": 1}),
    ],
    ids=["logset", "dnset", "cnset", "proxyset"],
)
def test_keys_of_the_script_in_the_users_configuration_do_no_harm(
    tmp_path: Path, role: str, subject: r.Json, keys: dict[str, Any]
) -> None:
    container = (
        log_container(tmp_path, "mawk", subject)
        if role == "logset"
        else set_container(tmp_path, "mawk", role, subject)
    )
    names = {"POD_NAME": "mo-0", "HEADLESS_SERVICE_NAME": "h", "POD_IP": "10.0.0.1"}
    found = container.report(**names)["toml"]
    table = {"logset": "logservice", "dnset": "dn", "cnset": "cn", "proxyset": "proxy"}[role]
    assert found[table]["uuid"] not in ("u", "")
    assert keys.items() <= found[table].items()


HEADER = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when\n"
LISTENING = "   0: 00000000:1771 00000000:0000 0A 00000000:00000000 00:00000000\n"
CLIENT = "   1: 0701800A:1771 0101800A:C001 01 00000000:00000000 00:00000000\n"
CLIENT_OF_BOTH = (
    "   2: 0000000000000000FFFF00000701800A:1771 0000000000000000FFFF00000101800A:C002 01 0 0\n"
)
OTHERS = (
    "   3: 0701800A:C003 0101800A:1771 01 00000000:00000000 00:00000000\n"
    "   4: 0701800A:1772 0101800A:C004 01 00000000:00000000 00:00000000\n"
    "   5: 0701800A:1771 0101800A:C005 06 00000000:00000000 00:00000000\n"
)


def drained(cn: Container, tcp: str, tcp6: str, least: int, most: int, quiet: int = 0) -> float:
    """Return how many seconds the hook took."""
    cn.write("proc/net/tcp", HEADER + LISTENING + tcp)
    cn.write("proc/net/tcp6", HEADER + tcp6)
    begun = time.monotonic()
    done = cn.run("drain", str(least), str(most), str(quiet))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return time.monotonic() - begun


def test_a_drain_ends_when_no_client_is_left(cn: Container) -> None:
    assert drained(cn, OTHERS, "", 0, 30) < 5


def test_a_drain_takes_its_least_time(cn: Container) -> None:
    assert 1 < drained(cn, "", "", 2, 30) < 8


def test_a_drain_leaves_time_to_hand_locks_over(cn: Container) -> None:
    """It begins when the clients are gone, and ends with the drain."""
    assert 3 < drained(cn, OTHERS, "", 1, 30, quiet=3) < 9
    assert 1 < drained(cn, OTHERS, "", 0, 2, quiet=20) < 8


def test_a_probe_while_locks_are_handed_over_is_no_client(cn: Container) -> None:
    """It comes every few seconds, and is gone at once: here it is seen every other time."""
    cn.write("proc/net/probed", HEADER + CLIENT)
    tables = cn.root / "proc/net"
    swap = f"cd {tables} && mv tcp other && mv probed tcp && mv other probed"
    cn.program("sleep", f"#!/bin/sh\n{swap}\nexec /bin/sleep 1\n", cn.path)
    assert 2 < drained(cn, OTHERS, "", 0, 30, quiet=3) < 12


@pytest.mark.parametrize(("tcp", "tcp6"), [(CLIENT, ""), ("", CLIENT_OF_BOTH)])
def test_a_drain_waits_for_clients_and_has_an_end(cn: Container, tcp: str, tcp6: str) -> None:
    assert 2 < drained(cn, tcp, tcp6, 0, 3) < 9


PEERS = """Server:    10.128.0.1
Address 1: 10.128.0.1 dns.example

Name:      log
Address 1: 10.128.1.1 log-0.example
Address:   10.128.1.9
"""


def test_sessions_of_other_members_do_not_count(cn: Container) -> None:
    """10.128.1.1 is a log store, 10.128.1.7 is the node itself."""
    itself = CLIENT.replace("0101800A:C001", "0701800A:C001")
    cn.program("nslookup", f"#!/bin/sh\n[ $1 = log ] && cat <<E\n{PEERS}E\n", cn.path)
    cn.write("proc/net/tcp", HEADER + LISTENING + CLIENT + itself)
    cn.write("proc/net/tcp6", HEADER + CLIENT_OF_BOTH)
    begun = time.monotonic()
    assert cn.run("drain", "0", "30", "0", "unknown-name", "log").returncode == 0
    cn.program("nslookup", f"#!/bin/sh\n[ $1 = log.svc.example ] && cat <<E\n{PEERS}E\n", cn.path)
    assert cn.run("drain", "0", "30", "0", "log").returncode == 0
    assert time.monotonic() - begun < 8
    assert cn.run("drain", "0", "3", "0", "unknown-name").returncode == 0
    assert time.monotonic() - begun > 2


def test_a_drain_that_cannot_count_clients_takes_all_its_time(cn: Container) -> None:
    begun = time.monotonic()
    assert cn.run("drain", "0", "3", "0").returncode == 0
    assert 2 < time.monotonic() - begun < 9


def test_a_drain_without_ipv6_counts_what_there_is(cn: Container) -> None:
    cn.write("proc/net/tcp", HEADER + LISTENING)
    begun = time.monotonic()
    assert cn.run("drain", "0", "30", "0").returncode == 0
    assert time.monotonic() - begun < 5
