# SPDX-License-Identifier: Apache-2.0
"""``promote``: let an idle compute node of the pool take a claim over."""

import argparse
import sys
from typing import Final

from kubectl_matrixone import changes
from kubectl_matrixone.commands.options import FAILED, Commands, add_command, add_waiting
from kubectl_matrixone.errors import PluginError, say_error
from kubectl_matrixone.following import Outcome, Progress, State, existing, follow
from kubectl_matrixone.kubectl import Kubectl, table_in
from kubectl_matrixone.moving import move, move_state, present_pod, target
from kubectl_matrixone.reading import POOL, resource_of

_CLAIMS: Final = resource_of("CNClaim")


def add(commands: Commands) -> None:
    """Add the command."""
    text = "move a CNClaim to an idle compute node of its pool; sessions move with it"
    command = add_command(commands, "promote", text, _promote)
    command.add_argument("claim", metavar="CLAIM", help="also one of a CNClaimSet")
    command.add_argument(
        "--to", default="", metavar="POD", help="an idle one of the pool (the newest)"
    )
    add_waiting(command, "the old node to be empty", "10m")


def _promote(options: argparse.Namespace, kubectl: Kubectl) -> int:
    claim = kubectl.get(_CLAIMS, options.claim)
    source = present_pod(claim)
    pool = table_in(claim, "spec").get("poolName") or ""
    pods = kubectl.list(["pods"], f"--selector={POOL}={pool}").items
    to = target(claim, pods, options.to)
    changes.patch(kubectl, claim, move(claim, to))
    print(f"CNClaim {options.claim} moves from {source} to {to}", flush=True)
    if not options.wait:
        return 0
    what = f"the move of CNClaim {options.claim}"
    progress = Progress(sys.stderr)
    state = follow(what, lambda: _state(kubectl, options.claim, to), options.timeout, progress)
    if state.outcome is not Outcome.DONE:
        say_error(PluginError(f"{what} has failed: {state.text}"))
        return FAILED
    print(f"CNClaim {options.claim} is served by {to}")
    return 0


def _state(kubectl: Kubectl, name: str, to: str) -> State:
    claim = existing(kubectl, _CLAIMS, name)
    if claim is None:
        raise PluginError(f"CNClaim {name} was deleted")
    return move_state(claim, to)
