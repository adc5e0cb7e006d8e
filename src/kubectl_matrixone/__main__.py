# SPDX-License-Identifier: Apache-2.0
"""``python -m kubectl_matrixone``, and the program ``kubectl-matrixone``."""

import sys

from .cli import main as run


def main() -> None:
    """Run the command line."""
    sys.exit(run())


if __name__ == "__main__":
    main()
