# SPDX-License-Identifier: Apache-2.0
"""Fixtures that give tests a test bed: one per pytest run, shared by all xdist workers.

Set ``TESTBED_FAKE`` or ``TESTBED_REAL`` to the name of a test bed to use that one and leave it
running: the way to run a single test again and again.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from testbed import add_ons, building, lifecycle, object_store
from testbed.bed import TestBed
from testbed.errors import RequirementError, TestBedError
from testbed.locks import locked
from testbed.object_store import ObjectStore
from testbed.places import state_root
from testbed.processes import Process, boot_id, start_time
from testbed.progress import Progress
from testbed.state import NodeKind

_PREFIX = "pytest-"
_LOCK_SECONDS = 3600.0
_IMAGES = ("matrixone",)


def _users_file(name: str) -> Path:
    return state_root() / f".{name}.users"


def _myself() -> Process:
    return Process("pytest", os.getpid(), start_time(os.getpid()) or 0, boot_id())


def _users(name: str) -> list[Process]:
    """Return the processes that use a shared test bed and still run."""
    try:
        entries = json.loads(_users_file(name).read_text())
    except (FileNotFoundError, ValueError):
        return []
    users = [Process("pytest", *entry) for entry in entries]
    return [user for user in users if user.alive()]


def _set_users(name: str, users: list[Process]) -> None:
    file = _users_file(name)
    if users:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps([[user.pid, user.start_time, user.boot] for user in users]))
    else:
        file.unlink(missing_ok=True)


def remove_orphans() -> None:
    """Take down what pytest runs that were killed have left."""
    # The list of users is written before anything else is created.
    for path in state_root().glob(f".{_PREFIX}*.users"):
        name = path.stem.removeprefix(".")
        with locked(state_root() / f".{name}.share", timeout=_LOCK_SECONDS):
            if not _users(name):
                lifecycle.down(name)
                _set_users(name, [])


def pytest_collection_finish(session: pytest.Session) -> None:
    """Build what test beds need before the first test begins, whose time is limited.

    What cannot be built or run here is for the fixtures to report.
    """
    if session.config.option.collectonly:
        return
    wanted = {name for item in session.items for name in getattr(item, "fixturenames", ())}
    beds: tuple[tuple[str, NodeKind, tuple[str, ...]], ...] = (
        ("fake_testbed", "fake", ()),
        ("real_testbed", "real", _IMAGES),
    )
    for fixture, nodes, images in beds:
        if fixture in wanted:
            with suppress(TestBedError):
                lifecycle.build(nodes, images, progress=_reporter(session.config))
    if wanted & {"object_store", "real_object_store"}:
        with suppress(TestBedError):
            building.provide([object_store.PROGRAM], _reporter(session.config))


@contextmanager
def _shared(config: pytest.Config, nodes: NodeKind, images: tuple[str, ...]) -> Iterator[TestBed]:
    kept = os.environ.get(f"TESTBED_{nodes.upper()}")
    if kept:
        yield lifecycle.up(kept, nodes=nodes, images=images)
        return
    # xdist gives all its workers one name; without it a run is one process.
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID") or str(os.getpid())
    name = f"{_PREFIX}{nodes}-{run[:12]}"
    remove_orphans()
    lock = state_root() / f".{name}.share"
    try:
        with locked(lock, timeout=_LOCK_SECONDS):
            _set_users(name, [*_users(name), _myself()])
            bed = lifecycle.up(name, nodes=nodes, images=images, progress=_reporter(config))
        yield bed
    finally:
        with locked(lock, timeout=_LOCK_SECONDS):
            others = [user for user in _users(name) if user.pid != os.getpid()]
            if not others:
                lifecycle.down(name)
            _set_users(name, others)
        lifecycle.remove_root()


def _reporter(config: pytest.Config) -> Progress:
    reporter = config.pluginmanager.get_plugin("terminalreporter")

    def report(line: str) -> None:
        if reporter is not None:
            reporter.write_line(f"testbed: {line}")

    return report


@pytest.fixture(scope="session")
def fake_testbed(pytestconfig: pytest.Config) -> Iterator[TestBed]:
    """Give a test bed with three fake nodes (marker ``api``)."""
    with _shared(pytestconfig, "fake", ()) as bed:
        yield bed


@pytest.fixture(scope="session")
def real_testbed(pytestconfig: pytest.Config) -> Iterator[TestBed]:
    """Give a test bed with one real node that holds the MatrixOne image (marker ``node``).

    Skips, with the reason, on a machine that cannot run one; where CI is set, that is an error.
    """
    try:
        with _shared(pytestconfig, "real", _IMAGES) as bed:
            yield bed
    except RequirementError as missing:
        if os.environ.get("CI"):  # a machine that runs all tests must be able to
            raise
        pytest.skip(str(missing))


@pytest.fixture(scope="session", name="object_store")
def object_store_on_loopback(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStore]:
    """Give an S3 server on loopback without buckets, which needs no test bed."""
    with object_store.serving(tmp_path_factory.mktemp("object-store")) as store:
        yield store


@pytest.fixture(scope="session")
def real_object_store(real_testbed: TestBed) -> ObjectStore:
    """Give the S3 server of the test bed with a real node, which its Pods reach."""
    return add_ons.add_object_store(real_testbed.name)


@pytest.fixture
def fake_namespace(fake_testbed: TestBed) -> Iterator[str]:
    """Give the name of a fresh namespace on the shared fake test bed."""
    with fake_testbed.namespace() as name:
        yield name


@pytest.fixture
def real_namespace(real_testbed: TestBed) -> Iterator[str]:
    """Give the name of a fresh namespace on the shared real test bed."""
    with real_testbed.namespace() as name:
        yield name
