# SPDX-License-Identifier: Apache-2.0
"""What counts as a leak."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from bench.cost import tree
from tests.soak.footprint import Footprint, growth, take

CALM = Footprint(main=60, all=200, processes=6, descriptors=40, threads=8, files=100, temporary=3)


@pytest.mark.parametrize(
    ("name", "per_cycle"),
    [
        ("main", 1.0),
        ("all", 3.0),
        ("descriptors", 1),
        ("threads", 0.5),
        ("files", 1),
        ("temporary", 1),
    ],
)
def test_a_leak_of_a_bit_in_each_cycle_is_found(name: str, per_cycle: float) -> None:
    taken = [replace(CALM, **{name: getattr(CALM, name) + n * per_cycle}) for n in range(18)]
    assert [one.what for one in growth(taken)] == [name]


def test_what_goes_up_and_down_is_none() -> None:
    taken = [
        replace(CALM, main=60 + n % 3, descriptors=40 + n % 5, all=200 + 5 * (n % 2))
        for n in range(18)
    ]
    assert growth(taken) == []


def test_a_footprint_of_this_process(tmp_path: Path) -> None:
    pid = os.getpid()
    (tmp_path / "file").touch()
    taken = take(pid, tmp_path, tmp_path)
    assert tree(pid)[0] == pid
    assert 5 < taken.main < 2000
    assert (taken.files, taken.temporary) == (1, 1)
    with (tmp_path / "file").open():
        assert take(pid, tmp_path, tmp_path).descriptors == taken.descriptors + 1
