# SPDX-License-Identifier: Apache-2.0
"""A real MatrixOne on loopback: three log services, a transaction node, compute nodes, a proxy."""

import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pymysql

from testbed import database as databases
from testbed.ports import choose_ports
from testbed.processes import last_words

PASSWORD = "a-word-of-its-own"
_START_SECONDS = 240.0
_STOP_SECONDS = 30.0
_WAYS = 8  # ports that a compute or transaction node may take from its base on


def log_uuid(number: int) -> str:
    return f"00000000-0000-0000-0000-{number:012d}"


def cn_uuid(number: int) -> str:
    return f"cccccccc-0000-0000-0000-{number:012d}"


@dataclass
class Database:
    """The processes by name, and where they listen."""

    folder: Path
    ports: Mapping[str, int]
    processes: dict[str, "subprocess.Popen[bytes]"] = field(default_factory=dict)

    @property
    def log_stores(self) -> list[str]:
        return [f"127.0.0.1:{self.ports[f'log{i}-service']}" for i in range(3)]

    def log_of(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def start(self, name: str) -> None:
        """Start a process from its configuration file."""
        program = databases.chosen().provide()
        with self.log_of(name).open("ab") as log:
            self.processes[name] = subprocess.Popen(
                [program, "-cfg", self.folder / f"{name}.toml"],
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                env={
                    "PATH": os.environ["PATH"],
                    "HOME": str(self.folder),
                    "DEFAULT_PASSWORD": PASSWORD,
                    "GOMAXPROCS": "2",
                    **databases.chosen().environment(),
                },
            )

    def kill(self, name: str) -> None:
        """End a process at once, as the loss of its machine would."""
        process = self.processes.pop(name)
        process.kill()
        process.wait(_STOP_SECONDS)

    def stop(self) -> None:
        for name in list(self.processes):
            self.kill(name)

    def require_alive(self) -> None:
        for name, process in self.processes.items():
            assert process.poll() is None, f"{name} has ended: {last_words(self.log_of(name))}"

    def connect(self, service: str) -> "pymysql.connections.Connection[pymysql.cursors.Cursor]":
        """Open a session: ``cn0``, ``cn1`` or ``proxy``."""
        return pymysql.connect(
            host="127.0.0.1",
            port=self.ports[f"{service}-sql"],
            user="dump",
            password=PASSWORD,
            connect_timeout=10,
            read_timeout=30,
            autocommit=True,
        )

    def wait_for_sql(self, service: str) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while True:
            self.require_alive()
            try:
                with self.connect(service) as session, session.cursor() as cursor:
                    cursor.execute("select 1")
                    return
            except pymysql.MySQLError:
                assert time.monotonic() < deadline, f"no SQL: {last_words(self.log_of('cn0'))}"
                time.sleep(0.5)


def _shared(folder: Path, name: str, kind: str) -> str:
    stores = "".join(
        f'[[fileservice]]\nname = "{title}"\nbackend = "{backend}"\ndata-dir = "{folder / where}"\n'
        for title, backend, where in (
            ("LOCAL", "DISK", name),
            ("S3", "DISK", "shared"),
            ("ETL", "DISK-ETL", "shared"),
        )
    )
    return (
        f'service-type = "{kind}"\ndata-dir = "{folder / name}"\n'
        f'[log]\nlevel = "error"\nformat = "console"\n{stores}'
        "[observability]\ndisableTrace = true\ndisableMetric = true\n"
    )


def _clients(ports: Mapping[str, int]) -> str:
    addresses = ", ".join(f'"127.0.0.1:{ports[f"log{i}-service"]}"' for i in range(3))
    return f"[hakeeper-client]\nservice-addresses = [{addresses}]\n"


def _log_service(number: int, ports: Mapping[str, int]) -> str:
    seeds = ", ".join(f'"127.0.0.1:{ports[f"log{i}-gossip"]}"' for i in range(3))
    members = ", ".join(f'"{131072 + i}:{log_uuid(i)}"' for i in range(3))
    addresses = "".join(
        f'{key}-address = "127.0.0.1:{ports[f"log{number}-{port}"]}"\n'
        f'{key}-listen-address = "127.0.0.1:{ports[f"log{number}-{port}"]}"\n'
        for key, port in (("raft", "raft"), ("logservice", "service"), ("gossip", "gossip"))
    )
    return (
        f'[logservice]\nuuid = "{log_uuid(number)}"\ndeployment-id = 7\n'
        f"gossip-seed-addresses = [{seeds}]\n{addresses}"
        "[logservice.BootstrapConfig]\nbootstrap-cluster = true\nnum-of-log-shards = 1\n"
        "num-of-dn-shards = 1\nnum-of-log-shard-replicas = 3\n"
        f"init-hakeeper-members = [{members}]\n"
    )


def _tn(ports: Mapping[str, int]) -> str:
    return (
        f'[tn]\nuuid = "dddddddd-0000-0000-0000-000000000000"\nport-base = {ports["tn"]}\n'
        'service-host = "127.0.0.1"\n'
        '[tn.Txn.Storage]\nbackend = "TAE"\nlog-backend = "logservice"\n'
    )


def _cn(number: int, ports: Mapping[str, int]) -> str:
    sql = ports[f"cn{number}-sql"]
    return (
        f'[cn]\nuuid = "{cn_uuid(number)}"\nport-base = {ports[f"cn{number}"]}\n'
        f'service-host = "127.0.0.1"\nsql-address = "127.0.0.1:{sql}"\nrole = "TP"\n'
        f'[cn.frontend]\nhost = "127.0.0.1"\nport = {sql}\nproxy-enabled = true\n'
        'unix-socket = ""\n'
    )


def _proxy(ports: Mapping[str, int]) -> str:
    return (
        '[proxy]\nuuid = "eeeeeeee-0000-0000-0000-000000000000"\n'
        f'listen-address = "127.0.0.1:{ports["proxy-sql"]}"\n'
    )


def _ports(compute_nodes: int) -> dict[str, int]:
    names = [f"log{i}-{kind}" for i in range(3) for kind in ("raft", "service", "gossip")]
    names += [f"cn{i}-sql" for i in range(compute_nodes)] + ["proxy-sql"]
    ports = choose_ports(names, ())
    taken = set(ports.values())
    for name in ("tn", *(f"cn{i}" for i in range(compute_nodes))):
        # They skip what others use, so that a base with some room is enough.
        ports.update(choose_ports([name], taken))
        taken |= set(range(ports[name], ports[name] + _WAYS))
    return ports


def _configurations(folder: Path, ports: Mapping[str, int], compute_nodes: int) -> dict[str, str]:
    files = {
        f"log{i}": _shared(folder, f"log{i}", "LOG") + _clients(ports) + _log_service(i, ports)
        for i in range(3)
    }
    files["tn"] = _shared(folder, "tn", "TN") + _clients(ports) + _tn(ports)
    for i in range(compute_nodes):
        files[f"cn{i}"] = _shared(folder, f"cn{i}", "CN") + _clients(ports) + _cn(i, ports)
    files["proxy"] = _shared(folder, "proxy", "PROXY") + _clients(ports) + _proxy(ports)
    return files


@contextmanager
def database(folder: Path, compute_nodes: int = 2) -> Iterator[Database]:
    """Run a database until the end of the block; it answers SQL when the block begins."""
    made = Database(folder, _ports(compute_nodes))
    files = _configurations(folder, made.ports, compute_nodes)
    for name, text in files.items():
        (folder / f"{name}.toml").write_text(text)
    try:
        for name in files:
            made.start(name)
        for i in range(compute_nodes):
            made.wait_for_sql(f"cn{i}")
        made.wait_for_sql("proxy")
        yield made
    finally:
        made.stop()
