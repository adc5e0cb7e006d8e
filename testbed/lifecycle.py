# SPDX-License-Identifier: Apache-2.0
"""Bringing test beds up and taking them down."""

import shutil
import time
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from testbed import (
    assets,
    cgroups,
    control_plane,
    fake_nodes,
    network,
    object_store,
    ports,
    real_nodes,
    storage,
)
from testbed import state as records
from testbed.bed import TestBed
from testbed.checks import check_machine
from testbed.errors import NotFoundError, TestBedError
from testbed.images import recipes
from testbed.kernel_limits import raise_limits, restore_limits
from testbed.locks import locked
from testbed.places import RESERVE_SECONDS, Places, bed_lock, reservation_lock, state_root
from testbed.processes import Launcher, Process, kill_all, recorded
from testbed.progress import Progress, silent
from testbed.state import NodeKind, State

_DEFAULT_COUNT: dict[NodeKind, int] = {"fake": 3, "real": 1}
_UP_SECONDS = 7200.0
_DOWN_SECONDS = 15.0


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
    with locked(reservation_lock(), timeout=RESERVE_SECONDS):
        raise_limits()
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
    """Return the record of the test bed, created now if it is new.

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
    with locked(bed_lock(name), timeout=_UP_SECONDS):
        known = next((state for state in records.load_all() if state.name == name), None)
        if known is None:
            check_machine(nodes)
        found = assets.provide(nodes, tuple(images), progress, known.binaries if known else None)
        state = _record(name, nodes, node_count, audit)
        state = records.save(replace(state, phase="starting", binaries=found.programs))
        _start(TestBed(state), found.archives, progress)
        return TestBed(records.advance(state, "ready"))


def _start(bed: TestBed, archives: list[Path], progress: Progress) -> None:
    state, begun = bed.state, time.monotonic()
    launcher = Launcher(bed.places, state.identity)

    def report(line: str) -> None:
        progress(f"{line} ({time.monotonic() - begun:.1f} s)")

    with ThreadPoolExecutor(1, thread_name_prefix="nodes") as pool:
        prepared: Future[None] | None = None
        if state.nodes == "real":
            network.make_bridge(state)
            prepared = pool.submit(real_nodes.prepare, state, launcher, archives)
        client = control_plane.start(state, launcher)
        report(f"API server answers at {state.server}")
        storage.start(state, launcher, client)
        if prepared:
            prepared.result()
            report("nodes run and have their images")
            real_nodes.start(state, launcher, client)
        else:
            fake_nodes.start(state, launcher, client)
    object_store.start(launcher)
    report(f"{state.nodes} nodes are ready: {', '.join(_short(state.node_names))}")


def _short(node_names: list[str]) -> list[str]:
    return node_names if len(node_names) <= 3 else [node_names[0], "…", node_names[-1]]


def load_image(image: str, name: str = "default", *, progress: Progress = silent) -> None:
    """Give an image to all real nodes of a test bed.

    Args:
        image: path of an OCI or Docker archive, or ``matrixone``.
        name: the test bed.
        progress: told what is done.

    Raises:
        TestBedError: no such file or test bed, or containerd does not take it.
    """
    state = _with_real_nodes(name)
    archive = recipes.archive(image, progress)
    with locked(bed_lock(name), timeout=_DOWN_SECONDS):
        real_nodes.load_image(state, Places.of(name), archive)
    progress(f"{archive.name} is on {', '.join(state.node_names)}")


def tag_image(image: str, tag: str, name: str = "default") -> None:
    """Give an image that all real nodes have one more name.

    Args:
        image: its full name, e.g. ``docker.io/matrixorigin/matrixone:2.0.1``.
        tag: the other one.
        name: the test bed.

    Raises:
        TestBedError: no such test bed, or a node does not have the image.
    """
    state = _with_real_nodes(name)
    real_nodes.tag_image(state, Places.of(name), image, tag)


def stop_node(node: str, name: str = "default") -> None:
    """Play the loss of a real node; ``up`` brings it back.

    Raises:
        TestBedError: no such test bed or node.
    """
    state = _with_real_nodes(name)
    with locked(bed_lock(name), timeout=_DOWN_SECONDS):
        real_nodes.stop_node(state, Places.of(name), node)


def _with_real_nodes(name: str) -> State:
    state = records.load(name)
    if state.nodes != "real":
        raise TestBedError(f"test bed {name!r} has fake nodes: they hold no images and never fail")
    return state


def build(
    nodes: NodeKind = "real", images: Iterable[str] = (), *, progress: Progress = silent
) -> dict[str, str]:
    """Find, install or build all that ``up`` would need, and start nothing.

    Returns:
        Paths of the programs by name.

    Raises:
        TestBedError: with one line that says what to do.
    """
    return assets.provide(nodes, tuple(images), progress).programs


def down(name: str = "default", *, progress: Progress = silent) -> bool:
    """Remove a test bed, whatever state it is in.

    Returns:
        Whether there was one.

    Raises:
        TestBedError: an ``up`` of this test bed is still at work, or something cannot be removed.
    """
    records.check_name(name)
    if not state_root().exists():
        return False
    # Taken even when there is nothing to remove: a killed `up` may have left the lock's file.
    with locked(bed_lock(name), timeout=_DOWN_SECONDS):
        exists = Places.of(name).root.exists()
        if exists:
            _remove(name, progress)
    remove_root()
    return exists


def _remove(name: str, progress: Progress) -> None:
    places = Places.of(name)
    try:
        state = records.advance(records.load(name), "stopping")
    except NotFoundError:  # nothing was created, or only the folder is left
        state = None
    if state:
        kill_all(places, state.identity)
        if state.nodes == "real":
            network.remove(state)
            cgroups.remove(state)
        progress(f"processes of {name} have ended")
    _refuse_mounts(places.root)
    # The record is deleted last: an interrupted deletion can be resumed.
    for entry in places.root.iterdir():
        if entry != places.state:
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    shutil.rmtree(places.root)
    progress(f"{name} is deleted")


def _refuse_mounts(root: Path) -> None:
    """Raise an error if something is mounted below a folder that is about to be deleted."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        place = Path(line.split()[4].encode().decode("unicode_escape"))
        if place.is_relative_to(root):
            raise TestBedError(f"{place} is mounted: umount it, then take the test bed down again")


def remove_root() -> None:
    """Remove the empty folder after the last test bed."""
    try:
        with locked(reservation_lock(), timeout=RESERVE_SECONDS):  # a killed `up` may have left it
            if not names():
                restore_limits()
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
