# SPDX-License-Identifier: Apache-2.0
"""A background task that fails begins again; what must end the process does."""

import pytest

from ansible_operator import background
from ansible_operator.background import keep_running
from ansible_operator.errors import LeadershipLostError


async def test_a_task_that_fails_begins_again_until_it_ends() -> None:
    attempts = []

    async def work() -> None:
        attempts.append(1)
        if len(attempts) < 4:
            raise RecursionError("a deep object")

    await keep_running("test", work, first_delay=0.001)
    assert len(attempts) == 4


@pytest.mark.parametrize("in_group", [False, True])
async def test_what_must_end_the_process_is_raised(in_group: bool) -> None:
    async def work() -> None:
        lost = LeadershipLostError("lost")
        raise ExceptionGroup("tasks", [ValueError("x"), lost]) if in_group else lost

    with pytest.raises(ExceptionGroup if in_group else LeadershipLostError):
        await keep_running("test", work, fatal=(LeadershipLostError,))


async def test_the_delay_grows_to_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    delays: list[float] = []

    async def sleep(seconds: float) -> None:
        delays.append(seconds)

    monkeypatch.setattr(background.asyncio, "sleep", sleep)
    attempts = []

    async def work() -> None:
        attempts.append(1)
        if len(attempts) < 10:
            raise ValueError("no")

    await keep_running("test", work)
    assert delays == [1, 2, 4, 8, 16, 32, 60, 60, 60]
