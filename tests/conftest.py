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

# Tests start hundreds of Python processes: each would compile our code again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

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


_NODE_SECONDS, _SCENARIO_SECONDS = 900, 3600

_LONGEST = (
    "tests/roles/test_playbook.py",
    "tests/roles/test_lifecycle.py",
    "tests/docs/test_pages.py",
    "tests/runner/operator/test_precheck.py",
    "tests/roles/test_stuck_deletion.py",
    "tests/pool/test_pools_live.py",
    "tests/roles/test_verification.py",
    "tests/runner/operator/test_stopping.py",
    "tests/memcached",
    "tests/management/test_helm.py",
    "tests/actions/test_apply.py",
    "tests/roles/test_operator.py",
    "tests/roles/test_deletion.py",
    "tests/deploy/test_rights.py",
    "tests/charts/test_before_uninstall.py",
    "tests/roles/test_",
    "tests/deploy/test_kustomize.py",
    "tests/management/test_",
    "tests/runner/operator/test_",
    "tests/actions/test_",
    "tests/early/test_",
    "tests/authoring/test_operator.py",
    "tests/admission/test_operator.py",
    "tests/workload/test_start_scripts.py",
    "tests/runner/engine/test_plays.py",
    "tests/runner/engine/test_failures.py",
    "tests/runner/engine/test_many_runs.py",
    "tests/crds/test_generator.py",
    "tests/runner/serve/",
    "tests/runner/engine/",
)
"""What takes long begins first, the longest before all others, so that all workers end together."""


def _rank(item: pytest.Item) -> int:
    places = (rank for rank, long in enumerate(_LONGEST) if item.nodeid.startswith(long))
    return next(places, len(_LONGEST))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--regenerate-golden",
        action="store_true",
        help="write golden files anew instead of comparing with them",
    )


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start what takes long first, and give tests on a real node the time that they need."""
    items.sort(key=_rank)
    for item in items:
        if item.get_closest_marker("timeout"):
            continue
        if item.get_closest_marker("scenario"):
            item.add_marker(pytest.mark.timeout(_SCENARIO_SECONDS))
        elif item.get_closest_marker("node"):
            item.add_marker(pytest.mark.timeout(_NODE_SECONDS))


_TOGETHER = frozenset({"test_molecule.py", "test_operator.py", "test_project.py"})
"""Files of tests/memcached that share its CRD, which one of them deletes."""


_APART = frozenset(
    {
        "tests/roles/test_playbook.py",
        "tests/docs/test_pages.py",
        "tests/workload/test_start_scripts.py",
    }
)
"""Long files whose tests share at most the test bed: any worker may take any of their tests."""


class _FileByFile(LoadScopeScheduling):
    """Keeps the tests of a file on one worker, for they share what their fixtures start."""

    def __init__(self, config: pytest.Config, log: Producer) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False  # the order of collection counts

    def _split_scope(self, nodeid: str) -> str:
        file = Path(nodeid.partition("::")[0])
        if str(file) in _APART:
            return nodeid
        together = file.parent.name == "memcached" and file.name in _TOGETHER
        return file.parent.name if together else str(file)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling | None:
    """Replace xdist's grouping."""
    return _FileByFile(config, log) if config.getvalue("dist") == "loadgroup" else None
