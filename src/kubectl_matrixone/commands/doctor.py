# SPDX-License-Identifier: Apache-2.0
"""``doctor``: what would keep a cluster from working here."""

import argparse
import sys
from typing import Final

from kubectl_matrixone import doctor
from kubectl_matrixone.commands.options import FAILED, Commands, add_command
from kubectl_matrixone.kubectl import Kubectl
from kubectl_matrixone.terminal import Colour, Style

_VERDICTS: Final = {
    doctor.Verdict.GOOD: Colour.GOOD,
    doctor.Verdict.WARNING: Colour.WARNING,
    doctor.Verdict.BAD: Colour.BAD,
    doctor.Verdict.UNKNOWN: Colour.WARNING,
}


def add(commands: Commands) -> None:
    """Add the command."""
    text = "look for what would keep a cluster from working here"
    add_command(commands, "doctor", text, _doctor)


def _doctor(_options: argparse.Namespace, kubectl: Kubectl) -> int:
    style, failed = Style.of(sys.stdout), False
    for found in doctor.examine(kubectl):
        verdict = style.paint(found.verdict.value.ljust(7), _VERDICTS[found.verdict])
        print(f"{verdict}  {found.name.ljust(10)}  {found.message}", flush=True)
        failed |= found.verdict is doctor.Verdict.BAD
    return FAILED if failed else 0
