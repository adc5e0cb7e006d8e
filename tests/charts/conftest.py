# SPDX-License-Identifier: Apache-2.0
import pytest

from testbed.building import provide
from tests.charts.alerting import Engine
from tests.charts.releases import Helm


@pytest.fixture(scope="session")
def helm(tmp_path_factory: pytest.TempPathFactory) -> Helm:
    """helm without a cluster."""
    return Helm(tmp_path_factory.mktemp("helm"))


@pytest.fixture(scope="session")
def engine() -> Engine:
    """The engine of Prometheus, for the expressions of alerts."""
    return Engine(provide(["promql"])["promql"])
