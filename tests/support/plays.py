# SPDX-License-Identifier: Apache-2.0
"""Playbooks as users play them."""

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.support.places import COLLECTIONS, PROGRAMS


@dataclass(frozen=True)
class Played:
    """What a play came to: exit code, output, and the counts of its recap."""

    code: int
    output: str
    counts: dict[str, int]


def play(playbook: str, kubeconfig: Path, home: Path, *options: str) -> Played:
    """Play a playbook of the collection.

    Args:
        playbook: its name without the collection's, or the path of another one.
        kubeconfig: of the cluster.
        home: Ansible's folder for temporary files.
        options: of ansible-playbook.
    """
    named = playbook if "/" in playbook else f"matrixorigin.matrixone.{playbook}"
    command = [str(PROGRAMS / "ansible-playbook"), named, *options]
    environment = {
        **os.environ,
        "ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS),
        "ANSIBLE_LOCALHOST_WARNING": "false",
        "ANSIBLE_INVENTORY_UNPARSED_WARNING": "false",
        "ANSIBLE_NOCOLOR": "true",
        "ANSIBLE_HOME": str(home),
        "KUBECONFIG": str(kubeconfig),
    }
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=300, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise AssertionError(f"{error}:\n{(error.stdout or b'').decode()}") from error
    recap = re.findall(r"(\w+)=(\d+)", done.stdout.rpartition("PLAY RECAP")[2])
    counts = {name: int(count) for name, count in recap}
    return Played(done.returncode, done.stdout + done.stderr, counts)
