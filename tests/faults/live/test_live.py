# SPDX-License-Identifier: Apache-2.0
"""Some points under the real operator, and known bugs that they must notice."""

import sys
from functools import partial
from pathlib import Path

import pytest

from faults.live import playing
from faults.live.methods import methods
from faults.points import Fault, Point
from testbed.bed import TestBed
from tests.support.operators import launch

pytestmark = [pytest.mark.api, pytest.mark.node, pytest.mark.scenario]
# For a night: not because of a real node, but because minutes under load are no place for a gate.
_WITH_BUG = Path(__file__).with_name("with_bug.py")


def run(bed: TestBed, name: str) -> None:
    point = Point.read(name)
    next(one for one in methods(bed) if one.name == point.method).run(point)


@pytest.mark.parametrize(
    "name", ["live-interrupted/Memcached/scale:2", "live-lossy/Memcached/create:expired+held:2"]
)
def test_a_disturbed_life_ends_as_an_undisturbed_one(fake_testbed: TestBed, name: str) -> None:
    run(fake_testbed, name)


@pytest.mark.parametrize(
    ("bug", "point", "noticed"),
    [
        (
            "an_expired_watch_is_not_resumed",
            "live-lossy/Memcached/scale:expired+expired-event:0",
            "not as undisturbed",
        ),
        (
            "a_new_list_is_forgotten",
            "live-lossy/Memcached/scale:expired+expired-event:0",
            "not as undisturbed",
        ),
        (
            "watches_are_begun_again_at_once",
            "live-lossy/Memcached/scale:bookmarks+closed:0",
            "too often",
        ),
        (
            "an_error_of_a_watch_ends_the_process",
            "live-lossy/Memcached/scale:expired+expired-event:0",
            "the operator ended",
        ),
        ("lists_follow_each_other", "live-interrupted/Memcached/scale:1", "nothing changes"),
        (
            "a_leader_goes_on_without_its_lease",
            "live-together/Memcached/slow:1",
            "both were at work",
        ),
        ("what_is_deep_ends_the_process", "live-beside/LogSet/deep:2000", "the operator ended"),
    ],
)
def test_a_known_bug_is_noticed(
    fake_testbed: TestBed, monkeypatch: pytest.MonkeyPatch, bug: str, point: str, noticed: str
) -> None:
    playing.undisturbed(Point.read(point).kind, fake_testbed)
    monkeypatch.setattr(playing, "SETTLE_SECONDS", 40.0)
    inside = [sys.executable, str(_WITH_BUG), bug]
    monkeypatch.setattr(playing, "launch", partial(launch, inside=inside))
    with pytest.raises(Fault, match=noticed):
        run(fake_testbed, point)
