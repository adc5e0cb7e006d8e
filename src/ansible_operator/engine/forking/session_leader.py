# SPDX-License-Identifier: Apache-2.0
"""A program that becomes another one, after having adopted all that will descend from it.

Run by path with ``python -I -S session_leader.py PROGRAM ARGUMENT...``: it makes itself the
reaper of its descendants (so that none can leave the process tree) and executes the program. It
imports the standard library only; the package would cost more than it does.
"""

import ctypes
import os
import sys

_PR_SET_CHILD_SUBREAPER = 36


def main() -> None:
    """Become the program of the command line."""
    try:
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    except (OSError, AttributeError):
        sys.stderr.write("cannot adopt orphans on this kernel\n")
    os.execvp(sys.argv[1], sys.argv[1:])  # noqa: S606 (becoming the program is the point)


if __name__ == "__main__":
    main()
