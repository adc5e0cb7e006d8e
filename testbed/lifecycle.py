# SPDX-License-Identifier: Apache-2.0
"""Bringing test beds up and taking them down."""

import shutil
import time
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace

from testbed import building, control_plane, fake_nodes, network, ports, real_nodes, storage
from testbed import state as records
from testbed.bed import TestBed
from testbed.checks import check_machine
from testbed.errors import NotFoundError, TestBedError
from testbed.locks import locked
from testbed.packages import NODE_PACKAGES, install
from testbed.places import Places, state_root
from testbed.processes import Launcher, Process, kill_all, recorded
from testbed.progress import Progress, silent
from testbed.state import NodeKind, State
from testbed.toolchain import programs_for

_DEFAULT_COUNT: dict[NodeKind, int] = {"fake": 3, "real": 1}
_UP_SECONDS = 7200.0
_DOWN_SECONDS = 15.0
_RESERVE_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Status:
    """What runs of a test bed.

    Attributes:
        state: its record.
        running: processes that run.
        ended: processes that should and do not.
    """

    state: State
    running: list[Process]
    ended: list[Process]

    @property
    def healthy(self) -> bool:
        """Whether it came up and all of it still runs."""
        return self.state.phase == "ready" and not self.ended


def _reserve(name: str, nodes: NodeKind, node_count: int, audit: bool) -> State:
    """Record a new test bed with ports and addresses that no other one has."""
    with locked(state_root() / ".reserve", timeout=_RESERVE_SECONDS):
        others = records.load_all()
        taken = {port for other in others for port in other.ports.values()}
        subnet = ports.choose_subnet({other.subnet for other in others})
        return records.save(
            State(
                name=name,
                nodes=nodes,
                node_count=node_count,
                address="127.0.0.1" if nodes == "fake" else f"10.{subnet}.0.1",
                subnet=subnet,
                ports=ports.choose_ports(control_plane.PORTS, taken),
                audit=audit,
            )
        )


def _record(name: str, nodes: NodeKind, node_count: int | None, audit: bool) -> State:
    """Return the record of the test bed, made now if it is new.

    Raises:
        TestBedError: it exists and is of another kind.
    """
    try:
        existing = records.load(name)
    except NotFoundError:
        return _reserve(name, nodes, node_count or _DEFAULT_COUNT[nodes], audit)
    wanted = (nodes, node_count or existing.node_count, audit or existing.audit)
    if (existing.nodes, existing.node_count, existing.audit) != wanted:
        raise TestBedError(
            f"test bed {name!r} exists with {existing.node_count} {existing.nodes} nodes: "
            "take it down first, or choose another name"
        )
    return existing


def up(
    name: str = "default",
    *,
    nodes: NodeKind = "fake",
    node_count: int | None = None,
    images: Iterable[str] = (),
    audit: bool = False,
    progress: Progress = silent,
) -> TestBed:
    """Bring a test bed up, or back to health; nothing happens when it is healthy.

    Args:
        name: names the test bed; lower-case letters, digits, dashes.
        nodes: ``fake`` or ``real`` (needs root).
        node_count: number of nodes; 3 fake or 1 real when left out.
        images: images that real nodes hold: ``matrixone``, or paths of image tars.
        audit: let the API server write an audit log.
        progress: called with a line per step.

    Raises:
        TestBedError: with one line that says what to do.
    """
    records.check_name(name)
    check_machine(nodes)
    with locked(state_root() / f".{name}.lock", timeout=_UP_SECONDS):
        if nodes == "real":
            install(NODE_PACKAGES, progress)
        found = building.provide(programs_for(nodes), progress)
        state = _record(name, nodes, node_count, audit)
        state = records.save(
            replace(state, phase="starting", binaries={k: str(v) for k, v in found.items()})
        )
        bed = TestBed(state)
        _start(bed, tuple(images), progress)
        return TestBed(records.advance(state, "ready"))


def _start(bed: TestBed, images: tuple[str, ...], progress: Progress) -> None:
    state, begun = bed.state, time.monotonic()
    launcher = Launcher(bed.places, state.identity)
    if state.nodes == "real":
        network.make_bridge(state)
    with ThreadPoolExecutor(1, thread_name_prefix="nodes") as pool:
        prepared: Future[None] | None = None
        if state.nodes == "real":
            prepared = pool.submit(real_nodes.prepare, state, launcher, images, progress)
        client = control_plane.start(state, launcher)
        progress(f"API server answers at {state.server} ({time.monotonic() - begun:.1f} s)")
        storage.start(state, launcher, client)
        if prepared:
            prepared.result()
            progress(f"nodes have their images ({time.monotonic() - begun:.1f} s)")
            real_nodes.start(state, launcher, client)
        else:
            fake_nodes.start(state, launcher, client)
    progress(f"{state.node_count} {state.nodes} nodes are ready ({time.monotonic() - begun:.1f} s)")


def down(name: str = "default", *, progress: Progress = silent) -> bool:
    """Remove a test bed, whatever state it is in.

    Returns:
        Whether there was one.

    Raises:
        TestBedError: an ``up`` of this test bed is still at work, or something cannot be removed.
    """
    records.check_name(name)
    if not Places.of(name).root.exists():
        return False
    with locked(state_root() / f".{name}.lock", timeout=_DOWN_SECONDS):
        _remove(name, progress)
    remove_root()
    return True


def _remove(name: str, progress: Progress) -> None:
    places = Places.of(name)
    try:
        state = records.advance(records.load(name), "stopping")
    except NotFoundError:  # nothing was begun, or everything is gone but the folder
        state = None
    if state:
        kill_all(places, state.identity)
        if state.nodes == "real":
            network.remove(state)
            real_nodes.remove_cgroups(state)
        progress(f"processes of {name} have ended")
    # The record goes last: an interrupted removal can be taken up again.
    for entry in places.root.iterdir():
        if entry != places.state:
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    shutil.rmtree(places.root)
    progress(f"{name} is gone")


def remove_root() -> None:
    """Leave no empty folder behind when the last test bed has gone."""
    try:
        state_root().rmdir()
    except OSError:  # other test beds, or their locks
        return


def status(name: str = "default") -> Status:
    """Return what runs of a test bed.

    Raises:
        NotFoundError: there is none.
    """
    state = records.load(name)
    processes = recorded(Places.of(name))
    return Status(
        state,
        [process for process in processes if process.alive()],
        [process for process in processes if not process.alive()],
    )


def get(name: str = "default") -> TestBed:
    """Return a handle to a test bed that is up.

    Raises:
        NotFoundError: there is none.
    """
    return TestBed(records.load(name))


def names() -> list[str]:
    """Return the names of all test beds."""
    return [state.name for state in records.load_all()]
