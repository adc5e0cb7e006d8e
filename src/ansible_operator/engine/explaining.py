# SPDX-License-Identifier: Apache-2.0
"""What foreign code raised, in words; runs in the processes that call such code."""

import traceback


def explain(error: BaseException) -> str:
    """Return what was raised, and where; never the arguments, which are somebody's data.

    The place is left out where the call itself failed, before any foreign code ran.
    """
    name, frames = type(error).__name__, traceback.extract_tb(error.__traceback__)
    text = f"{name}: {error}" if str(error) else name
    return f"{text} ({frames[-1].filename}:{frames[-1].lineno})" if len(frames) > 1 else text
