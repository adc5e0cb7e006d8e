# SPDX-License-Identifier: Apache-2.0
"""A small real MatrixOne on loopback whose shared storage is a folder or a bucket.

The file services are those that the roles render; one log service is enough for backups.
"""

import os
import secrets
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pymysql

from testbed import database as databases
from testbed.object_store import ObjectStore
from testbed.ports import choose_ports
from testbed.processes import last_words

USER = "dump"
PASSWORD = "a-word-of-its-own"
LOG_UUID = "00000000-0000-0000-0000-000000000000"
_START_SECONDS = 240.0
_WAYS = 12  # ports that a compute or transaction node may take from its base on


@dataclass(frozen=True)
class Storage:
    """Where a database keeps its data: a folder, or a prefix of a bucket."""

    folder: Path | None = None
    store: ObjectStore | None = None
    bucket: str = ""
    prefix: str = ""

    def file_services(self) -> str:
        """Return the entries that all stores share, as ``workload/storage.py`` renders them."""
        if self.folder:
            return "".join(
                f'[[fileservice]]\nname = "{name}"\nbackend = "{backend}"\n'
                f'data-dir = "{self.folder}"\n'
                for name, backend in (("S3", "DISK"), ("ETL", "DISK-ETL"), ("BACKUP", "DISK"))
            )
        assert self.store
        return "".join(
            f'[[fileservice]]\nname = "{name}"\nbackend = "MINIO"\n'
            f'[fileservice.s3]\nendpoint = "{self.store.endpoint}"\nbucket = "{self.bucket}"\n'
            f'key-prefix = "{self.prefix}/{folder}"\n'
            for name, folder in (("S3", "data"), ("ETL", "etl"), ("BACKUP", ""))
        )

    def variables(self) -> dict[str, str]:
        return self.store.variables() if self.store else {}


@dataclass
class Database:
    """The processes, and the port for SQL."""

    folder: Path
    port: int
    environment: dict[str, str]
    processes: dict[str, "subprocess.Popen[bytes]"] = field(default_factory=dict)

    def start(self, name: str) -> None:
        program = databases.chosen().provide()
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                [program, "-cfg", self.folder / f"{name}.toml"],
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                env=self.environment,
            )

    def stop(self) -> None:
        for process in self.processes.values():
            process.kill()
        for process in self.processes.values():
            process.wait(30)
        self.processes.clear()

    def run(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Run a statement in a session of its own and return its rows."""
        session = pymysql.connect(
            host="127.0.0.1", port=self.port, user=USER, password=PASSWORD,
            connect_timeout=10, read_timeout=60, autocommit=True,
        )  # fmt: skip
        with session, session.cursor() as cursor:
            cursor.execute(statement, values or None)
            return list(cursor.fetchall())

    def wait_for_sql(self) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while True:
            for name, process in self.processes.items():
                assert process.poll() is None, last_words(self.folder / f"{name}.log")
            try:
                self.run("select 1")
            except pymysql.MySQLError:
                assert time.monotonic() < deadline, last_words(self.folder / "cn.log")
                time.sleep(0.5)
            else:
                return


@contextmanager
def database(folder: Path, storage: Storage, *, restore: bool = False) -> Iterator[Database]:
    """Run a database until the end of the block; it answers SQL when the block begins.

    Args:
        folder: empty, for its processes.
        storage: its shared storage.
        restore: let HAKeeper begin with ``hk_data`` of the storage.
    """
    folder.mkdir(parents=True, exist_ok=True)
    ports = _ports()
    hakeeper = ports["log-service"]
    services = {
        "log": _log(ports, restore),
        "tn": _tn(ports),
        "cn": _cn(ports),
    }
    for name, text in services.items():
        (folder / f"{name}.toml").write_text(
            f'service-type = "{name.upper()}"\ndata-dir = "{folder / name}"\n'
            '[log]\nlevel = "error"\nformat = "console"\n'
            f'[[fileservice]]\nname = "LOCAL"\nbackend = "DISK"\ndata-dir = "{folder / name}"\n'
            f"{storage.file_services()}"
            "[observability]\ndisableTrace = true\ndisableMetric = true\n"
            f'[hakeeper-client]\nservice-addresses = ["127.0.0.1:{hakeeper}"]\n{text}'
        )
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "DEFAULT_PASSWORD": PASSWORD,
        "GOMAXPROCS": "2",
        **databases.chosen().environment(),
        **storage.variables(),
    }
    made = Database(folder, ports["cn-sql"], environment)
    try:
        for name in services:
            made.start(name)
        made.wait_for_sql()
        yield made
    finally:
        made.stop()


def _ports() -> dict[str, int]:
    ports = choose_ports(["log-raft", "log-service", "log-gossip", "cn-sql"], ())
    taken = set(ports.values())
    for name in ("tn", "cn"):
        ports.update(choose_ports([name], taken))
        taken |= set(range(ports[name], ports[name] + _WAYS))
    return ports


def _log(ports: dict[str, int], restore: bool) -> str:
    addresses = "".join(
        f'{key}-address = "127.0.0.1:{ports[f"log-{port}"]}"\n'
        f'{key}-listen-address = "127.0.0.1:{ports[f"log-{port}"]}"\n'
        for key, port in (("raft", "raft"), ("logservice", "service"), ("gossip", "gossip"))
    )
    return (
        f'[logservice]\nuuid = "{LOG_UUID}"\ndeployment-id = 7\n'
        f'gossip-seed-addresses = ["127.0.0.1:{ports["log-gossip"]}"]\n{addresses}'
        "[logservice.BootstrapConfig]\nbootstrap-cluster = true\nnum-of-log-shards = 1\n"
        "num-of-dn-shards = 1\nnum-of-log-shard-replicas = 1\n"
        f'init-hakeeper-members = ["131072:{LOG_UUID}"]\n'
        + (
            '[logservice.BootstrapConfig.restore]\nfile-path = "BACKUP:hk_data"\n'
            if restore
            else ""
        )
    )


def _tn(ports: dict[str, int]) -> str:
    return (
        f'[tn]\nuuid = "dddddddd-0000-0000-0000-000000000000"\nport-base = {ports["tn"]}\n'
        'service-host = "127.0.0.1"\n'
        '[tn.Txn.Storage]\nbackend = "TAE"\nlog-backend = "logservice"\n'
    )


def _cn(ports: dict[str, int]) -> str:
    sql = ports["cn-sql"]
    return (
        f'[cn]\nuuid = "cccccccc-0000-0000-0000-000000000000"\nport-base = {ports["cn"]}\n'
        f'service-host = "127.0.0.1"\nsql-address = "127.0.0.1:{sql}"\nrole = "TP"\n'
        f'[cn.frontend]\nhost = "127.0.0.1"\nport = {sql}\nunix-socket = ""\n'
    )


def refusal_of_minio(source: Database, server: ObjectStore) -> str:
    """Return how the server refuses a BACKUP to a location of type minio; empty if it does not.

    From 2.0 on, MatrixOne signs such requests with version 2 first, which a server that accepts
    version 4 only refuses.
    """
    keys = {"access_key_id": server.access_key, "secret_access_key": server.secret_key}
    place = {"endpoint": server.endpoint, "bucket": "probes", "filepath": secrets.token_hex(8)}
    options = {**place, **keys, "region": server.region, "is_minio": "true", "parallelism": "1"}
    server.make_bucket("probes")
    pairs = ", ".join(["%s=%s"] * len(options))
    values = [part for pair in options.items() for part in pair]
    try:
        source.run(f"backup 'probe' s3option {{{pairs}}}", *values)
    except pymysql.MySQLError as error:
        return str(error.args[1])
    return ""


def type_for(source: Database, server: ObjectStore) -> str:
    """Return the type of location under which a database backs up to a server of the test bed."""
    return "aws" if refusal_of_minio(source, server) else "minio"
