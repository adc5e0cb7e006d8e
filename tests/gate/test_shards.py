# SPDX-License-Identifier: Apache-2.0
"""What the gate does not always run is divided: nothing twice, nothing forgotten, an hour each."""

import subprocess
import sys
from argparse import ArgumentTypeError, Namespace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dev.gate import __main__ as gate
from dev.gate.shards import Shard, in_shards, parse_shard
from dev.gate.stages import BINARIES, DEPLOYED, STAGES, Stage, When
from tests.support.places import ROOT

BEYOND = [stage.name for stage in STAGES if stage.when is not When.ALWAYS]
SHARD_SECONDS = 3600


def names(stages: list[Stage]) -> list[str]:
    return [stage.name for stage in stages]


@given(count=st.integers(1, 2 * len(STAGES)))
def test_every_stage_beyond_the_gate_is_in_exactly_one_shard(count: int) -> None:
    shards = in_shards(STAGES, count)
    assert len(shards) == count
    assert sorted(name for stages in shards for name in names(stages)) == sorted(BEYOND)


@given(
    usual=st.lists(st.integers(1, 4000), max_size=30),
    count=st.integers(1, 10),
    order=st.randoms(use_true_random=False),
)
def test_shards_are_the_same_in_any_order_and_differ_by_one_stage_at_most(
    usual: list[int], count: int, order: Random
) -> None:
    given_stages = [
        Stage(f"s{number}", (), limit=1, usual=seconds, when=When.NIGHTLY)
        for number, seconds in enumerate(usual)
    ]
    shards = in_shards(given_stages, count)
    sums = [sum(stage.usual for stage in stages) for stages in shards]
    assert max(sums) - min(sums) <= max(usual, default=0)
    shuffled = list(given_stages)
    order.shuffle(shuffled)
    assert [set(names(one)) for one in in_shards(shuffled, count)] == [
        set(names(one)) for one in shards
    ]


def test_eight_shards_take_an_hour_at_most() -> None:
    """With the programs that come first; a stage that takes longer has to be split."""
    programs = next(stage.usual for stage in STAGES if stage.name == BINARIES)
    sums = [programs + sum(stage.usual for stage in stages) for stages in in_shards(STAGES, 8)]
    assert [seconds for seconds in sums if seconds > SHARD_SECONDS] == []


def test_every_end_to_end_test_runs_with_the_operator_in_the_cluster() -> None:
    """Its file is in one of the stages that `make e2e` is divided into."""
    files = sorted(file for _, some in DEPLOYED.values() for file in some)
    with_node = (
        path.stem.removeprefix("test_")
        for path in (ROOT / "tests" / "e2e").glob("test_*.py")
        if "pytest.mark.node" in path.read_text()
    )
    assert files == sorted(with_node)


@pytest.mark.parametrize("text", ["", "1", "0/6", "7/6", "-1/6", "1/0", "a/b", "1/6/2", " 1/6"])
def test_what_is_no_shard_is_refused(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="such as 2/6"):
        parse_shard(text)


def test_the_command_line_says_what_a_shard_is() -> None:
    command = (sys.executable, "-m", "dev.gate", "--all", "--shard", "7/6")
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "'7/6' is no shard: give its number and how many there are" in done.stderr


def chosen(*stages: str, shard: Shard | None = None) -> tuple[list[str], dict[str, str]]:
    run, left_out = gate.chosen(Namespace(stages=list(stages), all=shard is not None, shard=shard))
    return names(run), left_out


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_shard_runs_its_stages_and_says_where_the_others_are(
    monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setattr(gate, "_missing", lambda stage: "needs kind" * (stage.name == "kind"))
    run, left_out = chosen(shard=Shard(number, 3))
    own = names(in_shards(STAGES, 3)[number - 1])
    assert run == [BINARIES, *(name for name in own if name != "kind")]
    assert set(run) | set(left_out) == {stage.name for stage in STAGES}
    assert not set(run) & set(left_out)
    assert left_out["unit"] == "make test always runs it"
    assert {left_out[name] for name in BEYOND if name in left_out and name not in own} == {
        f"in shard {other}/3" for other in {1, 2, 3} - {number}
    }
    assert left_out["kind"] == ("needs kind" if "kind" in own else left_out["kind"])


def test_named_stages_bring_the_programs_that_they_need() -> None:
    assert chosen("node") == ([BINARIES, "node"], {})
    assert chosen("lint", "unit") == ([BINARIES, "lint", "unit"], {})
    assert chosen("unit", BINARIES) == (["unit", BINARIES], {})
    assert chosen("lint", "pages", "release", "sanity") == (
        ["lint", "pages", "release", "sanity"],
        {},
    )


def test_a_name_may_be_what_several_begin_with() -> None:
    run, _ = chosen("deployed", "database")
    assert run == [BINARIES, *(f"deployed-{part}" for part in DEPLOYED), "database"]
    with pytest.raises(SystemExit, match="no stage deploy; there are: binaries lint unit"):
        chosen("deploy")


def test_only_what_runs_no_program_of_the_test_bed_goes_without() -> None:
    assert [stage.name for stage in STAGES if not stage.needs_programs] == [
        *("lint", "pages", "docsite", "release", "sanity")
    ]
