# SPDX-License-Identifier: Apache-2.0
"""What a test bed can be given once it is up; it goes with the test bed."""

from collections.abc import Iterable
from dataclasses import replace

from testbed import building, object_store, ports
from testbed import state as records
from testbed.errors import NotFoundError, TestBedError
from testbed.locks import locked
from testbed.object_store import ObjectStore
from testbed.places import RESERVE_SECONDS, Places, bed_lock, reservation_lock
from testbed.processes import Launcher
from testbed.progress import Progress, silent
from testbed.state import State

_SECONDS = 60.0


def _with_port(state: State) -> State:
    with locked(reservation_lock(), timeout=RESERVE_SECONDS):
        taken = {port for other in records.load_all() for port in other.ports.values()}
        chosen = ports.choose_ports([object_store.PROCESS], taken)
        return records.save(replace(state, ports={**state.ports, **chosen}))


def add_object_store(
    name: str = "default",
    buckets: Iterable[str] = (),
    *,
    tls: bool = False,
    progress: Progress = silent,
) -> ObjectStore:
    """Give a test bed an S3 server that Pods and this machine reach, or start it again.

    Args:
        name: the test bed, which is up.
        buckets: buckets to make unless they are there.
        tls: serve HTTPS, with a certificate of an authority of the server's own.
        progress: told what is built.

    Raises:
        NotFoundError: no such test bed.
        TestBedError: it has a server of the other protocol, or the server does not start.
    """
    records.load(name)
    building.provide([object_store.PROGRAM], progress)
    with locked(bed_lock(name), timeout=_SECONDS):
        state, places = records.load(name), Places.of(name)
        store = object_store.of(places)
        if store is None:
            store = object_store.prepare(_with_port(state), places, tls)
        elif bool(store.authority) != tls:
            raise TestBedError(
                f"the S3 server of test bed {name!r} is {store.endpoint}: keep to it"
            )
        for bucket in buckets:
            store.make_bucket(bucket)
        object_store.start(Launcher(places, state.identity))
        return store


def get_object_store(name: str = "default") -> ObjectStore:
    """Return the S3 server of a test bed.

    Raises:
        NotFoundError: no such test bed, or it was given none.
    """
    records.load(name)
    store = object_store.of(Places.of(name))
    if store is None:
        raise NotFoundError(f"test bed {name!r} has no S3 server: `testbed s3` adds one")
    return store
