# SPDX-License-Identifier: Apache-2.0
"""``backups``: the Backups of a cluster, or of one that is gone."""

import argparse
import dataclasses
import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime

from kubectl_matrixone.commands.options import Commands, add_about_cluster
from kubectl_matrixone.creating import written
from kubectl_matrixone.errors import KubectlError
from kubectl_matrixone.facts import BackupRecord, Proof
from kubectl_matrixone.following import existing
from kubectl_matrixone.kubectl import Kubectl
from kubectl_matrixone.reading import BACKUPS, CLUSTER
from kubectl_matrixone.saving import records
from kubectl_matrixone.terminal import Style, age, table


def add(commands: Commands) -> None:
    """Add the command."""
    text = "list the Backups of a cluster, also of one that is gone"
    command = add_about_cluster(commands, "backups", text, _backups)
    command.add_argument(
        "-A", "--all-namespaces", action="store_true", help="those of clusters everywhere"
    )
    command.add_argument("-o", "--output", choices=("text", "name", "json", "yaml"), default="text")


def _backups(options: argparse.Namespace, kubectl: Kubectl) -> int:
    namespace = "" if options.all_namespaces else kubectl.used_namespace()
    uid = _uid(kubectl, options.cluster) if options.cluster and namespace else ""
    items = kubectl.list([BACKUPS]).items
    found = list(records(items, namespace, options.cluster, uid))
    if options.output == "name":
        print("".join(f"backup/{one.name}\n" for one in found), end="")
    elif options.output == "text":
        print("\n".join(lines(found, datetime.now(UTC), Style.of(sys.stdout))))
    else:
        facts = [dataclasses.asdict(one) for one in found]
        plain = json.loads(json.dumps(facts, default=lambda moment: moment.isoformat()))
        print(written(plain, options.output), end="")
    return 0


def _uid(kubectl: Kubectl, cluster: str) -> str:
    """Return the uid of the cluster of a name; empty where there is none, or it cannot be read."""
    try:
        found = existing(kubectl, CLUSTER, cluster)
    except KubectlError:
        return ""
    return str(found["metadata"].get("uid") or "") if found else ""


def lines(found: Sequence[BackupRecord], now: datetime, style: Style) -> list[str]:
    """Return a table of Backups, for a person.

    Args:
        found: the Backups.
        now: the present.
        style: of the terminal.
    """
    if not found:
        return ["no Backup is known"]
    rows = [("NAME", "SOURCE", "AGE", "TYPE", "SIZE", "PHASE", "PROVEN", "PROBLEM")]
    for one in found:
        proven = _proven(one.proof, now)
        source = one.source.partition("/")[2] or "?"
        old = age(one.moment, now)
        rows.append((one.name, source, old, one.type, one.size, one.phase, proven, one.problem))
    return table(rows, style, paint_column=5)


def _proven(proof: Proof | None, now: datetime) -> str:
    if proof is None:
        return "never"
    return f"{proof.result} {age(proof.at, now)} ago" if proof.at else proof.result
