# SPDX-License-Identifier: Apache-2.0
"""A MatrixoneCluster's life on a real API server: made, changed, scaled, taken away."""

import time
from collections.abc import Callable

import pytest

from tests.early.conftest import Space
from tests.early.resources import Json, early

pytestmark = pytest.mark.api

Make = Callable[..., Json]


def test_t02_the_sample_comes_up(space: Space, made: Make) -> None:
    """Services, Pod and claims appear under their old names; the Pod is ready."""
    begun = time.monotonic()
    made(early("mo"))
    space.wait("mo")

    assert time.monotonic() - begun < 60
    names = {name for name in space.named("mo") if not name.startswith("configmap/")}
    assert names == {
        "service/mo",
        "service/mo-headless",
        "statefulset/mo",
        "pod/mo-0",
        "persistentvolumeclaim/data-mo-0",
        "persistentvolumeclaim/log-mo-0",
        "networkpolicy/mo",
    }
