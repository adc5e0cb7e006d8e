# SPDX-License-Identifier: Apache-2.0
"""Run the stages of the gate, of everything, or those that are named.

python -m dev.gate           the gate: what always runs, and what the change touches
python -m dev.gate --all     everything that can run on this machine
python -m dev.gate --all --shard 2/6
                             the second of six parts of what the gate does not always run
python -m dev.gate unit api  these stages, and the programs that they need
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from dev.gate import last_seen
from dev.gate.changes import added_stages, changed_paths, checked_out
from dev.gate.outcomes import Outcome
from dev.gate.report import failed_logs, summary
from dev.gate.running import TIMED_OUT, Running, faults, may_try_again
from dev.gate.shards import Shard, in_shards, parse_shard
from dev.gate.stages import BINARIES, STAGES, Stage, When
from testbed.pytest_plugin import remove_orphans

ROOT = Path(__file__).resolve().parents[2]
LOGS = ROOT / "build" / "test"
GATE_SECONDS = 4800.0
"""Budget of the gate: it takes 30 minutes with warm caches, an hour with empty ones."""
ADDED_SECONDS = 1800.0
"""Stages that a change adds begin only if they usually end by then; the gate stays a gate."""
ALL_SECONDS = 8 * 3600.0
SECOND_TRIES = 2
"""So many faults of a whole run may be gone on a second try."""
_LEAST_SECONDS = 30.0
_POLL_SECONDS = 0.1


class Gate:
    """One run of stages, within a budget.

    Args:
        stages: to run, in this order.
        budget: seconds for all of them together.
        added_until: seconds after which no stage begins that only the change has added.
        left_out: why other stages are not run, by name.
    """

    def __init__(
        self,
        stages: Sequence[Stage],
        budget: float,
        left_out: Mapping[str, str],
        added_until: float | None = None,
    ) -> None:
        self._stages = stages
        self._begun = time.monotonic()
        self._budget = budget
        self._added_until = budget if added_until is None else added_until
        self._left_out = dict(left_out)
        self._tries_left = SECOND_TRIES
        self._running: list[Running] = []
        self._outcomes: dict[str, Outcome] = {}
        self._not_recorded: list[str] = []
        self._last_seen = ROOT / "build" / "last-seen.json"
        # Now, since what is committed meanwhile is not what runs.
        self._commit = checked_out(ROOT)

    def run(self) -> int:
        """Run all stages; return the exit code."""
        # Shells let background jobs ignore SIGINT, and stages would inherit that.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            self._run_stages()
        except KeyboardInterrupt:
            for running in self._running:
                running.end()
            remove_orphans()
            _say("interrupted")
            return 130
        return self._conclude()

    def _run_stages(self) -> None:
        # Programs that are not in the cache yet are built beside the stages that need none.
        building = next((self._start(one) for one in self._stages if one.name == BINARIES), None)
        others = [stage for stage in self._stages if stage.name != BINARIES]
        for number, stage in enumerate(others):
            if stage.name in self._outcomes:
                continue
            if building is not None and _waits_for_programs(stage, is_first=number == 0):
                if not self._finish_programs(building):
                    self._give_up(others[number:], "the programs that it needs could not be built")
                    return
                building = None
            if not self._one(stage) and stage.ends_early:
                if building is not None:
                    building.end()
                    self._finish(building)
                self._give_up(others[number + 1 :], f"{stage.name} is red")
                return
        if building is not None:
            self._finish_programs(building)

    def _one(self, stage: Stage) -> bool:
        """Run one stage if there is time for it; tell whether nothing is wrong."""
        left = self._left()
        spare = min(left, left + self._added_until - self._budget)
        if stage.when is When.TOUCHED and spare < stage.usual:
            self._left_out[stage.name] = f"takes {stage.usual} s, {max(0.0, spare):.0f} s are left"
            return True
        if left < _LEAST_SECONDS:
            self._outcomes[stage.name] = Outcome(stage.name, note="no time was left in the budget")
            return False
        together = [stage, *(one for one in self._stages if one.beside == stage.name)]
        running = {one.name: self._start(one) for one in together}
        begun = list(running.values())
        while any(each in self._running for each in begun):
            for each in list(self._running):
                # What is built beside is asked, too, so that it is known when it ended.
                if each.has_ended() and each in begun:
                    self._finish(each)
            time.sleep(_POLL_SECONDS)
        # A second try is alone, so it begins when all of them have ended.
        for one in together:
            self._judge(one, running[one.name].outcome)
        return running[stage.name].outcome.is_green

    def _finish_programs(self, building: Running) -> bool:
        outcome = self._finish(building)
        self._record(outcome)
        return outcome.is_green

    def _judge(self, stage: Stage, outcome: Outcome) -> None:
        if not outcome.is_green and stage.is_tests:
            self._try_again(stage, outcome)
        self._record(outcome)
        result = "passed" if outcome.is_green else "FAILED"
        _say(f"test {stage.name}: {result} after {outcome.seconds:.0f} s {outcome.note}".rstrip())

    def _start(self, stage: Stage, only: Sequence[str] = ()) -> Running:
        running = Running(ROOT, LOGS, stage, min(stage.limit, self._left()), only)
        self._running.append(running)
        return running

    def _finish(self, running: Running) -> Outcome:
        outcome = running.wait()
        self._outcomes[outcome.name] = outcome
        self._running.remove(running)
        if outcome.code == TIMED_OUT:
            remove_orphans()
        return outcome

    def _try_again(self, stage: Stage, outcome: Outcome) -> None:
        """Run the files of a few failed tests alone; tests of a file may share a cluster."""
        failed = outcome.failed_tests
        if not may_try_again(failed, self._tries_left, outcome.code):
            return
        files = sorted({test.file for test in failed})
        if self._finish(self._start(stage, files)).is_green:
            outcome.code, outcome.note = 0, f"{len(failed)} on a second try"
            outcome.second_tries = failed
            self._tries_left -= faults(failed)

    def _record(self, outcome: Outcome) -> None:
        """Keep when a stage was seen, as soon as it ends: a run may be killed."""
        try:
            last_seen.record(self._last_seen, outcome, self._commit)
        except last_seen.LastSeenError as error:
            self._not_recorded = [str(error)]

    def _when_last_green(self) -> list[str]:
        try:
            seen = last_seen.read(self._last_seen)
        except last_seen.LastSeenError as error:
            return [str(error)]
        table = last_seen.table(seen, (stage.name for stage in STAGES))
        return [*table, *self._not_recorded]

    def _give_up(self, stages: Sequence[Stage], why: str) -> None:
        for stage in stages:
            self._outcomes[stage.name] = Outcome(stage.name, note=why)

    def _left(self) -> float:
        return self._budget - (time.monotonic() - self._begun)

    def _conclude(self) -> int:
        outcomes = [self._outcomes[one.name] for one in self._stages if one.name in self._outcomes]
        for line in failed_logs(outcomes):
            _say(line)
        seconds = time.monotonic() - self._begun
        for line in summary(outcomes, self._left_out, self._when_last_green(), seconds):
            _say(line)
        return 0 if all(outcome.is_green for outcome in outcomes) else 1


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _missing(stage: Stage) -> str:
    missing = [program for program in stage.needs if shutil.which(program) is None]
    if "root" in stage.needs:
        missing.remove("root")
        if os.geteuid() != 0:
            missing.append("root")
    return f"needs {', '.join(missing)}" if missing else ""


def _waits_for_programs(stage: Stage, *, is_first: bool) -> bool:
    # Unit tests need Debian packages alone, which are installed before anything is built: what runs
    # before the unit tests gives that the time.
    return stage.needs_programs and (is_first or not stage.ends_early)


def _with_programs(stages: Sequence[Stage]) -> list[Stage]:
    """Return the stages, after that of the programs if one of them needs any."""
    programs = next(stage for stage in STAGES if stage.name == BINARIES)
    if programs in stages or not any(stage.needs_programs for stage in stages):
        return list(stages)
    return [programs, *stages]


def _named(names: Sequence[str]) -> list[Stage]:
    """Return the stages of these names; ``deployed`` is all that are named ``deployed-``."""
    stages = []
    for name in names:
        found = [stage for stage in STAGES if stage.name == name]
        found = found or [stage for stage in STAGES if stage.name.startswith(f"{name}-")]
        if not found:
            known = " ".join(stage.name for stage in STAGES)
            raise SystemExit(f"no stage {name}; there are: {known}")
        stages += found
    return stages


def _of_shard(shard: Shard) -> tuple[list[Stage], dict[str, str]]:
    """Return the stages of a shard that can run here, and why the others are not run."""
    left_out = {stage.name: "make test always runs it" for stage in STAGES}
    for number, stages in enumerate(in_shards(STAGES, shard.count), 1):
        other = "" if number == shard.number else f"in shard {number}/{shard.count}"
        left_out |= {stage.name: other or _missing(stage) for stage in stages}
    stages = _with_programs([stage for stage in STAGES if not left_out[stage.name]])
    run = {stage.name for stage in stages}
    return stages, {name: why for name, why in left_out.items() if name not in run}


def chosen(arguments: argparse.Namespace) -> tuple[list[Stage], dict[str, str]]:
    """Return the stages to run, and why the others are not."""
    if arguments.stages:
        return _with_programs(_named(arguments.stages)), {}
    if arguments.shard:
        return _of_shard(arguments.shard)
    if arguments.all:
        left_out = {stage.name: why for stage in STAGES if (why := _missing(stage))}
        return [stage for stage in STAGES if stage.name not in left_out], left_out
    added = added_stages(STAGES, changed_paths(ROOT))
    stages = [one for one in STAGES if one.when is When.ALWAYS or one.name in added]
    for name, why in added.items():
        _say(f"added to the gate: {name}, because {why}")
    left_out = {one.name: f"runs {one.when.value}" for one in STAGES if one not in stages}
    return stages, left_out


def main() -> int:
    """Run as the command line says."""
    parser = argparse.ArgumentParser(prog="dev.gate", description=__doc__.split("\n")[0])
    parser.add_argument("stages", nargs="*", help="names of stages")
    parser.add_argument("--all", action="store_true", help="everything that can run here")
    parser.add_argument(
        "--shard", type=parse_shard, help="with --all: a part of what is not always run, e.g. 2/6"
    )
    arguments = parser.parse_args()
    if arguments.shard and not arguments.all:
        parser.error("--shard divides what --all runs")
    if arguments.all and arguments.stages:
        parser.error("--all runs all stages: name none")
    stages, left_out = chosen(arguments)
    shutil.rmtree(LOGS, ignore_errors=True)
    LOGS.mkdir(parents=True)
    # Examples are the same every time; a real node that cannot start is an error.
    os.environ["CI"] = "true"
    os.environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    os.environ["ANSIBLE_COLLECTIONS_PATH"] = str(ROOT / ".collections")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if arguments.all or arguments.stages:
        return Gate(stages, ALL_SECONDS, left_out).run()
    return Gate(stages, GATE_SECONDS, left_out, ADDED_SECONDS).run()


if __name__ == "__main__":
    sys.exit(main())
