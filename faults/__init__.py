# SPDX-License-Identifier: Apache-2.0
"""Faults on purpose, over all kinds of the product; see README.md."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT / ".collections") not in sys.path:
    # Ansible finds the collection by a variable of the environment, Python does not.
    sys.path.insert(0, str(ROOT / ".collections"))
