# SPDX-License-Identifier: Apache-2.0
"""Run the command line as ``python -m ansible_operator``."""

from ansible_operator.cli import main

if __name__ == "__main__":
    main()
