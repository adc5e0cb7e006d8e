# SPDX-License-Identifier: Apache-2.0
"""``status``: a cluster on one screen."""

import argparse
import dataclasses
import json
import sys
import time
from datetime import UTC, datetime
from typing import Final

import yaml

from kubectl_matrixone.commands.options import NOT_READY, Commands, add_about_cluster
from kubectl_matrixone.errors import UsageError
from kubectl_matrixone.kubectl import Json, Kubectl
from kubectl_matrixone.reading import chosen, read
from kubectl_matrixone.status import screen
from kubectl_matrixone.terminal import CLEAR, Style

_WATCH_SECONDS: Final = 2.0


def add(commands: Commands) -> None:
    """Add the command."""
    command = add_about_cluster(commands, "status", "show a cluster on one screen", _status)
    command.add_argument("-w", "--watch", action="store_true", help="until interrupted")
    command.add_argument("-o", "--output", choices=("text", "json", "yaml"), default="text")
    command.add_argument(
        "--exit-code", action="store_true", help=f"{NOT_READY} unless the cluster is Ready"
    )


def _status(options: argparse.Namespace, kubectl: Kubectl) -> int:
    if options.watch and options.output != "text":
        raise UsageError("--watch shows text; leave --output out")
    style = Style.of(sys.stdout)
    while True:
        cluster = read(kubectl, chosen(kubectl, options.cluster))
        if options.output == "text":
            text = screen(cluster, datetime.now(UTC), style)
        else:
            text = _document(dataclasses.asdict(cluster), options.output)
        print((CLEAR if options.watch and style.width else "") + text, end="", flush=True)
        if not options.watch:
            return NOT_READY if options.exit_code and cluster.ready != "True" else 0
        time.sleep(_WATCH_SECONDS)


def _document(facts: Json, form: str) -> str:
    text = json.dumps(facts, indent=2, default=lambda moment: moment.isoformat())
    return text + "\n" if form == "json" else yaml.safe_dump(json.loads(text), sort_keys=False)
