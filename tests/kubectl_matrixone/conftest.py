# SPDX-License-Identifier: Apache-2.0
"""The plugin on an API server without nodes."""

from pathlib import Path

import pytest

from testbed.bed import TestBed
from tests.support.plugin import Plugin, plugin_of


@pytest.fixture
def plugin(fake_testbed: TestBed, tmp_path: Path) -> Plugin:
    return plugin_of(fake_testbed, tmp_path)
