# SPDX-License-Identifier: Apache-2.0
"""What every test may rely on."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import testbed

pytest_plugins = ["testbed.pytest_plugin"]


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
