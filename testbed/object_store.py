# SPDX-License-Identifier: Apache-2.0
"""An S3 server on this machine: versitygw, which keeps a bucket as a folder of ordinary files.

Either on its own, for the length of a block, or as an add-on of a test bed, whose Pods reach it.
"""

import http.client
import json
import secrets
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from testbed import building
from testbed.certificates import Authority
from testbed.errors import StartError, TestBedError
from testbed.places import Places
from testbed.ports import choose_ports
from testbed.processes import Launcher, environment, last_words, terminate
from testbed.state import State
from testbed.waiting import wait_until

PROGRAM = "versitygw"
PROCESS = "object-store"
_SHORTEST_BUCKET_NAME = 3
_READY_SECONDS = 30.0
_END_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class ObjectStore:
    """An S3 server that runs.

    Attributes:
        address: IP address that it listens on.
        port: TCP port.
        folder: where its buckets are, one folder each.
        access_key: of its only user, who may do everything.
        secret_key: likewise.
        authority: PEM file of the authority that signed its certificate; None for plain HTTP.
    """

    address: str
    port: int
    folder: Path
    access_key: str
    secret_key: str
    authority: Path | None = None

    region = "us-east-1"

    @property
    def endpoint(self) -> str:
        """URL of the server, for clients that address buckets by path."""
        return f"{'https' if self.authority else 'http'}://{self.address}:{self.port}"

    def make_bucket(self, name: str) -> Path:
        """Make a bucket unless it is there.

        Returns:
            The folder that holds the bucket's objects as files.

        Raises:
            TestBedError: the server would refuse requests for a bucket of this name.
        """
        if len(name) < _SHORTEST_BUCKET_NAME:
            raise TestBedError(f"{name!r} cannot name a bucket: use at least 3 letters")
        bucket = self.folder / name
        bucket.mkdir(parents=True, exist_ok=True)
        return bucket

    def variables(self) -> dict[str, str]:
        """Return the environment variables by which AWS' clients find and enter the server."""
        trust = {"AWS_CA_BUNDLE": str(self.authority)} if self.authority else {}
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_REGION": self.region,
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            **trust,
        }

    def answers(self) -> bool:
        """Return whether the server answers a request, be it with a refusal."""
        connection: http.client.HTTPConnection
        if self.authority:
            trust = ssl.create_default_context(cafile=str(self.authority))
            connection = http.client.HTTPSConnection(
                self.address, self.port, timeout=5, context=trust
            )
        else:
            connection = http.client.HTTPConnection(self.address, self.port, timeout=5)
        try:
            connection.request("GET", "/")
            return connection.getresponse().status < http.client.INTERNAL_SERVER_ERROR
        except OSError:
            return False
        finally:
            connection.close()


def _prepared(address: str, port: int, root: Path, tls: bool) -> ObjectStore:
    """Make the folders and credentials of a new server."""
    folder = root / "buckets"
    for needed in (folder, root / "versions"):
        needed.mkdir(parents=True, exist_ok=True)
    return ObjectStore(
        address,
        port,
        folder,
        access_key=f"testbed{secrets.token_hex(6)}",
        secret_key=secrets.token_hex(20),
        authority=Authority.open(root / "pki").folder / "ca.crt" if tls else None,
    )


def _command(program: str | Path, store: ObjectStore) -> list[str | Path]:
    options: list[str | Path] = [f"--port={store.address}:{store.port}", "--quiet"]
    if store.authority:
        authority = Authority.open(store.authority.parent)
        certificate, key = authority.issue("server", "object-store", "", [store.address])
        options += [f"--cert={certificate}", f"--key={key}"]
    versions = store.folder.parent / "versions"
    return [program, *options, "posix", f"--versioning-dir={versions}", store.folder]


def _credentials(store: ObjectStore) -> dict[str, str]:
    return {"ROOT_ACCESS_KEY": store.access_key, "ROOT_SECRET_KEY": store.secret_key}


@contextmanager
def serving(root: Path, *, address: str = "127.0.0.1", tls: bool = False) -> Iterator[ObjectStore]:
    """Run a server for the length of a block.

    Args:
        root: an empty folder for everything it keeps; the caller removes it.
        address: IP address of this machine that it listens on, at a free port.
        tls: serve HTTPS with a certificate of an authority of its own.

    Raises:
        TestBedError: it cannot be built, or does not answer within half a minute.
    """
    program = building.provide([PROGRAM])[PROGRAM]
    store = _prepared(address, choose_ports([PROCESS], ())[PROCESS], root, tls)
    log = root / f"{PROCESS}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            _command(program, store),
            stdout=output,
            stderr=output,
            env=environment("none", _credentials(store)),
        )

    def ready() -> bool:
        if process.poll() is not None:
            raise StartError(f"{PROCESS} has ended: {last_words(log)}")
        return store.answers()

    try:
        wait_until(ready, lambda: f"{store.endpoint} does not answer", _READY_SECONDS)
        yield store
    finally:
        terminate(process, _END_SECONDS)


def _record(places: Places) -> Path:
    return places.root / PROCESS / "server.json"


def of(places: Places) -> ObjectStore | None:
    """Return the server that a test bed was given, running or not; None without one."""
    try:
        content = json.loads(_record(places).read_text())
    except FileNotFoundError:
        return None
    paths = {key: content[key] and Path(content[key]) for key in ("folder", "authority")}
    return ObjectStore(**{**content, **paths})


def prepare(state: State, places: Places, tls: bool) -> ObjectStore:
    """Record the server of a test bed, at the port that its record reserves for it."""
    root = places.root / PROCESS
    store = _prepared(state.address, state.ports[PROCESS], root, tls)
    record = _record(places)
    draft = record.with_suffix(".draft")
    draft.touch(mode=0o600)
    draft.write_text(json.dumps(asdict(store), default=str))
    draft.replace(record)
    return store


def start(launcher: Launcher) -> None:
    """Start a test bed's server if it was given one; nothing happens when it runs.

    Raises:
        StartError: it ends, or does not answer within half a minute.
    """
    store = of(launcher.places)
    if store is None:
        return
    program = building.provide([PROGRAM])[PROGRAM]
    launcher.start(PROCESS, _command(program, store), env=_credentials(store))

    def ready() -> bool:
        launcher.require_alive(PROCESS)
        return store.answers()

    wait_until(ready, lambda: f"{store.endpoint} does not answer", _READY_SECONDS)
