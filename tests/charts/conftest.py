# SPDX-License-Identifier: Apache-2.0
import pytest

from tests.charts.releases import Helm


@pytest.fixture(scope="session")
def helm(tmp_path_factory: pytest.TempPathFactory) -> Helm:
    """helm without a cluster."""
    return Helm(tmp_path_factory.mktemp("helm"))
