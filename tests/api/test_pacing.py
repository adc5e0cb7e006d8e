# SPDX-License-Identifier: Apache-2.0
"""What fails is tried ever more rarely."""

import itertools

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.pacing import pause_after
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("failing", "pause"), [(-60, 15), (0, 15), (15, 15), (30, 30), (599, 599), (1e9, 600)]
)
def test_a_pause_is_as_long_as_it_has_failed(failing: float, pause: float) -> None:
    assert pause_after(failing, 15, 600) == pause


@given(st.floats(1, 60), st.floats(60, 3600))
def test_pauses_double_until_they_are_the_longest(shortest: float, longest: float) -> None:
    failing, pauses = 0.0, []
    for _ in range(20):
        pauses.append(pause_after(failing, shortest, longest))
        failing += pauses[-1]
    assert pauses == sorted(pauses)
    assert pauses[-1] == longest
    assert all(
        after <= longest and after == pytest.approx(min(before * 2, longest))
        for before, after in itertools.pairwise(pauses[1:])
    )
