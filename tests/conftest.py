# SPDX-License-Identifier: Apache-2.0
"""What every test may rely on: the collection is importable under its real name."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / ".collections")]

pytest_plugins = ["testbed.pytest_plugin"]
