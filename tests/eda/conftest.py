# SPDX-License-Identifier: Apache-2.0
"""The event source as ansible-rulebook loads it: by its path."""

import runpy
from types import SimpleNamespace

import pytest

from tests.support.places import ROOT

SOURCE = ROOT / "extensions" / "eda" / "plugins" / "event_source" / "changes.py"


@pytest.fixture(scope="session")
def source() -> SimpleNamespace:
    return SimpleNamespace(**runpy.run_path(str(SOURCE)))
