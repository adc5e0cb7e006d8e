# SPDX-License-Identifier: Apache-2.0
"""What every test may rely on."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

import testbed
from tests.support.namespaces import install

pytest_plugins = ["testbed.pytest_plugin"]

# One profile for all tests. How long an example takes depends on what else the machine does, so no deadline; the gate
# (CI is set) draws the same examples every time.
settings.register_profile(
    "tests",
    deadline=None,
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("tests")


@pytest.fixture(scope="session", autouse=True)
def temporary_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The place for temporary files of all that tests start; no key may stay in it."""
    tmp_path_factory.getbasetemp()  # pytest's own folders stay where people look for them
    folder = Path(tempfile.mkdtemp(prefix="test-"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(folder))
        patch.setattr(tempfile, "tempdir", str(folder))
        yield folder
    keys = [path for path in folder.rglob("*") if path.is_file() and _holds_key(path)]
    shutil.rmtree(folder, ignore_errors=True)
    assert not keys


def _holds_key(path: Path) -> bool:
    try:
        return b"PRIVATE KEY" in path.read_bytes()
    except OSError:
        return False


@pytest.fixture
def own_state(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A state folder that no other test and no user shares, gone afterwards with its test beds."""
    root = Path(tempfile.mkdtemp(prefix="testbed-"))
    state = root / "state"
    monkeypatch.setenv("TESTBED_STATE", str(state))
    try:
        yield state
    finally:
        for name in testbed.names():
            testbed.down(name)
        shutil.rmtree(root)


@pytest.fixture(scope="session")
def installed_testbed(fake_testbed: testbed.TestBed) -> testbed.TestBed:
    """The test bed with fake nodes and our CRDs."""
    install(fake_testbed)
    return fake_testbed


class _FileByFile(LoadScopeScheduling):
    """Keeps the tests of a file on one worker, for they share what their fixtures start.

    The marker xdist_group would say so test by test, but xdist 3.8 writes it into a field of the
    items that pytest 9.2 does not have any longer. Folders in _TOGETHER stay whole.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = Path(nodeid.partition("::")[0])
        return file.parent.name if file.parent.name in _TOGETHER else str(file)


_TOGETHER = frozenset({"memcached"})


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling | None:
    """Replace xdist's grouping."""
    return _FileByFile(config, log) if config.getvalue("dist") == "loadgroup" else None
