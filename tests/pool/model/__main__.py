# SPDX-License-Identifier: Apache-2.0
"""``python -m tests.pool.model [steps] [first seed]``: check random histories; 100,000 steps."""

import sys
import time
from collections import Counter

from tests.pool.model.checker import explore

_STEPS_OF_HISTORY = 400


def main() -> int:
    """Run as many histories as have so many steps."""
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    seen: Counter[str] = Counter()
    begun, taken, seed = time.monotonic(), 0, first
    while taken < steps:
        taken += explore(range(seed, seed + 1), _STEPS_OF_HISTORY, seen)
        seed += 1
    seconds = time.monotonic() - begun
    sys.stdout.write(f"{taken} steps in {seed - first} histories, {seconds:.0f} s\n")
    for what, count in sorted(seen.items()):
        sys.stdout.write(f"{count:8} {what}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
