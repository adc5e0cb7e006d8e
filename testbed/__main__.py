# SPDX-License-Identifier: Apache-2.0
"""Entry point of ``python -m testbed``."""

from testbed.cli import main

main()
