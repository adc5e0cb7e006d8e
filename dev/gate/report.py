# SPDX-License-Identifier: Apache-2.0
"""The last lines: what ran, what did not and why, what took how long."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from dev.gate.outcomes import Outcome, Test, closing_lines

_SLOWEST = 20
_LOG_LINES = 300
_NAMED_FAILURES = 10
_FAILURE_WIDTH = 600
"""Characters of a failure: some that run this keep little more than 1,500 of the whole output."""


def failed_logs(outcomes: Iterable[Outcome]) -> Iterator[str]:
    """Yield the ends of the logs of red stages."""
    for outcome in outcomes:
        if outcome.log is None or outcome.is_green or outcome.code is None:
            continue
        why = outcome.note or f"exit code {outcome.code}"
        yield f"--- {outcome.name} failed ({why}); the end of its log:"
        yield from outcome.log.read_text(errors="replace").splitlines()[-_LOG_LINES:]


def summary(
    outcomes: Sequence[Outcome],
    left_out: Mapping[str, str],
    last_seen: Iterable[str],
    seconds: float,
) -> Iterator[str]:
    """Yield the report of a whole run.

    Args:
        outcomes: of the stages that were to run, in their order.
        left_out: why the other stages were not, by name.
        last_seen: lines that tell when stages were last green.
        seconds: the whole run took.
    """
    yield "--- last green here"
    yield from last_seen
    yield "--- the slowest tests"
    tests = sorted((t for o in outcomes for t in o.tests), key=lambda one: -one.seconds)
    yield from (f"{test.seconds:8.1f} s  {test.node}" for test in tests[:_SLOWEST])
    yield "--- what ran"
    for outcome in outcomes:
        yield from _of_stage(outcome)
    if left_out:
        yield "--- not run here; `make test-all` runs all stages"
        yield from (f"{name:<12} {why}" for name, why in left_out.items())
    # Failures come last: of a long output the end is what is kept and read.
    tries = [test for outcome in outcomes for test in outcome.second_tries]
    if tries:
        yield f"--- passed on a second try ({len(tries)}), two faults may; find the cause:"
        yield from _failures(tries)
    red_tests = [test for one in outcomes if not one.is_green for test in one.failed_tests]
    if red_tests:
        yield f"--- failed ({len(red_tests)}):"
        yield from _failures(red_tests)
    red = [outcome.name for outcome in outcomes if not outcome.is_green]
    yield f"whole run: {seconds:.0f} s{'; red: ' + ', '.join(red) if red else ''}"
    yield f"stages: {len(outcomes) - len(red)} passed, {len(red)} failed"


def _failures(tests: Sequence[Test]) -> Iterator[str]:
    for test in tests[:_NAMED_FAILURES]:
        yield f"  {test.node}"
        for failure in test.failures:
            yield f"    {' '.join(failure.split())[:_FAILURE_WIDTH]}"
    if len(tests) > _NAMED_FAILURES:
        yield f"  and {len(tests) - _NAMED_FAILURES} more"


def _of_stage(outcome: Outcome) -> Iterator[str]:
    if outcome.code is None:
        yield f"{outcome.name:<12} NOT RUN   {outcome.note}"
        return
    result = "passed" if outcome.is_green else "FAILED"
    note = f"  ({outcome.note})" if outcome.note else ""
    yield f"{outcome.name:<12} {result} in {outcome.seconds:.0f} s{note}"
    if outcome.log is not None:
        yield from (f"  {line}" for line in closing_lines(outcome.log)[-8:])
