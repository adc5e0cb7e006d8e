# SPDX-License-Identifier: Apache-2.0
"""Random histories of pools, claims and claim sets keep their promises; see `tests.pool.model`."""

import pytest

from tests.pool.model.checker import Model

_STEPS = 400


@pytest.mark.parametrize("seed", range(12))
def test_random_histories_keep_every_promise_and_end_quiet(seed):
    """More of them: ``python -m tests.pool.model 100000``."""
    Model(seed).run(_STEPS)
