# SPDX-License-Identifier: Apache-2.0
"""``upgrade``: another version of MatrixOne."""

import argparse
import sys
from datetime import UTC, datetime

from kubectl_matrixone import changes
from kubectl_matrixone.commands.options import Commands, add_about_cluster, add_timeout
from kubectl_matrixone.errors import PluginError, UsageError
from kubectl_matrixone.following import Progress, State, follow
from kubectl_matrixone.kubectl import Json, Kubectl
from kubectl_matrixone.reading import CLUSTER, chosen, read
from kubectl_matrixone.upgrading import ENDED, plan, upgrade_state


def add(commands: Commands) -> None:
    """Add the command."""
    text = "change the version of MatrixOne, or hold a change"
    command = add_about_cluster(commands, "upgrade", text, _upgrade)
    action = command.add_mutually_exclusive_group()
    action.add_argument("--to", default="", metavar="VERSION", help="ask for this version")
    action.add_argument("--pause", action="store_true", help="before the point of no return")
    action.add_argument("--resume", action="store_true")
    action.add_argument("--cancel", action="store_true", help="before the point of no return")
    how = command.add_mutually_exclusive_group()
    how.add_argument(
        "--plan", action="store_true", help="change nothing: show the checks and the order"
    )
    how.add_argument("-w", "--watch", action="store_true", help="until the end of the upgrade")
    add_timeout(command, "0")


def _upgrade(options: argparse.Namespace, kubectl: Kubectl) -> int:
    changing = options.to or options.pause or options.resume or options.cancel
    if not changing and not options.plan and not options.watch:
        raise UsageError(
            "one of the arguments --to --plan --watch --pause --resume --cancel is required"
        )
    if options.plan and changing and not options.to:
        raise UsageError("--plan is about --to VERSION, or the upgrade that is under way")
    cluster = chosen(kubectl, options.cluster)
    if options.plan:
        return _plan(kubectl, cluster, options.to)
    if changing:
        print(_changed(options, kubectl, cluster), flush=True)
    return _watch(kubectl, cluster, options.timeout) if options.watch else 0


def _changed(options: argparse.Namespace, kubectl: Kubectl, cluster: Json) -> str:
    if options.to:
        return changes.upgrade(kubectl, cluster, options.to)
    if options.cancel:
        return changes.cancel_upgrade(kubectl, cluster)
    return changes.hold_upgrade(kubectl, cluster, is_held=options.pause)


def _plan(kubectl: Kubectl, cluster: Json, version: str) -> int:
    facts = read(kubectl, cluster)
    if not version and (facts.upgrade is None or facts.upgrade.phase in ENDED):
        raise PluginError("no upgrade is under way; name a version by --to")
    lines = plan(cluster, facts.upgrade, facts.backup, version, datetime.now(UTC))
    print("\n".join(lines))
    for unread in facts.unread:
        print(f"not known: {unread}")
    if version:
        changes.check_upgrade(kubectl, cluster, version)
    return 0


def _watch(kubectl: Kubectl, cluster: Json, timeout: float) -> int:
    def observed() -> State:
        return upgrade_state(kubectl.get(CLUSTER, cluster["metadata"]["name"]))

    what = f"the upgrade of {changes.title_of(cluster)}"
    print(follow(what, observed, timeout, Progress(sys.stderr)).text)
    return 0
