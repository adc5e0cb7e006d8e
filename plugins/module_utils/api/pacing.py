# SPDX-License-Identifier: Apache-2.0
"""When to try again what fails: ever more rarely the longer it does, without counting attempts."""

from __future__ import annotations


def pause_after(failing: float, shortest: float, longest: float) -> float:
    """Return the seconds until the next attempt: as many again as it has failed for.

    So the pauses double, whatever else starts a pass meanwhile.

    Args:
        failing: seconds for which it has failed; negative where a clock was wrong.
        shortest: seconds of the first pause.
        longest: seconds that no pause exceeds.
    """
    return min(max(failing, shortest), longest)
