# SPDX-License-Identifier: Apache-2.0
"""Folders that tests read from, and programs that they start."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COLLECTIONS = ROOT / ".collections"
CRDS = ROOT / "crds"
PROGRAMS = Path(sys.executable).parent
