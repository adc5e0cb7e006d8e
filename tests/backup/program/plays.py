# SPDX-License-Identifier: Apache-2.0
"""Plays of the actions about backups, without a cluster."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from testbed.object_store import ObjectStore
from tests.support.plays import Played, play

Task = Mapping[str, Any]


def s3(server: ObjectStore, path: str, **more: str) -> dict[str, Any]:
    return {
        "s3": {
            "path": path,
            "type": "minio",
            "endpoint": server.endpoint,
            "region": server.region,
            "access_key": server.access_key,
            "secret_key": server.secret_key,
            **more,
        }
    }


def played(
    folder: Path, tasks: Mapping[str, Task], *secrets: str, check: bool = False
) -> dict[str, dict[str, Any]]:
    """Play actions of the collection, each under a name, and return their results.

    A failure does not end the play. No secret may be in what it prints, however much that is.
    """
    results = folder / "results.json"
    steps: list[dict[str, Any]] = []
    for name, task in tasks.items():
        [(action, arguments)] = task.items()
        steps += [
            {
                "name": f"Step {name}",
                f"matrixorigin.matrixone.{action}": arguments,
                "register": f"r_{name}",
                "ignore_errors": True,
            }
        ]
    kept = ", ".join(f"'{name}': r_{name}" for name in tasks)
    steps.append(
        {
            "name": "Keep the results",
            "ansible.builtin.copy": {
                "content": f"{{{{ {{{kept}}} | to_json }}}}",
                "dest": str(results),
                "mode": "0600",
            },
            "check_mode": False,
        }
    )
    head = {"name": "Play", "hosts": "localhost", "gather_facts": False}
    playbook = folder / "play.yml"
    playbook.write_text(yaml.safe_dump([{**head, "connection": "local", "tasks": steps}]))
    options = ["-vvv", "--diff", *(["--check"] if check else [])]
    came: Played = play(str(playbook), folder / "no-cluster", folder / "home", *options)
    assert came.code == 0, came.output
    for secret in secrets:
        assert secret not in came.output
    found: dict[str, dict[str, Any]] = json.loads(results.read_text())
    return found
