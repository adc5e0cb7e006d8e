# SPDX-License-Identifier: Apache-2.0
"""Run in the Pod of a Job, as ``python -m …backup.program.run``."""

from __future__ import annotations

import os

from .main import leave, main

if __name__ == "__main__":
    leave(main(os.environ))
