# SPDX-License-Identifier: Apache-2.0
"""Playbooks and operators as users start them, and a namespace in which they work."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from testbed.bed import TestBed
from tests.support.ports import free_port

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(sys.executable).parent
KINDS = "statefulset,deployment,service,configmap,secret,pvc,poddisruptionbudget,networkpolicy"
CHILDREN = "logset,dnset,cnset,proxyset,webui"
T = TypeVar("T")


def eventually(look: Callable[[], T], seconds: float = 90.0) -> T:
    """Return what ``look`` finds as soon as it finds something; fail when the time is over."""
    deadline = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(0.3)
    return found


class Namespace:
    """What is in the namespace of these tests."""

    def __init__(self, bed: TestBed, name: str) -> None:
        self.bed, self.name = bed, name

    def kubectl(self, *arguments: str, **how: Any) -> str:
        return self.bed.kubectl("-n", self.name, *arguments, **how)

    def apply(self, resource: dict[str, Any]) -> None:
        self.kubectl("apply", "--server-side", "-f", "-", input=json.dumps(resource))

    def get(self, kind: str, name: str) -> dict[str, Any]:
        text = self.kubectl("get", kind, name, "--ignore-not-found", "-o", "json")
        return json.loads(text) if text.strip() else {}

    def names(self, kinds: str) -> set[str]:
        found = self.kubectl("get", kinds, "-o", "name").split()
        return {name for name in found if not name.endswith("kube-root-ca.crt")}

    def condition(self, kind: str, name: str, wanted: str) -> dict[str, Any]:
        listed = (self.get(kind, name).get("status") or {}).get("conditions") or []
        return next((one for one in listed if one["type"] == wanted), {})

    def wait(self, condition: str, kind: str = "mo", name: str = "mo") -> None:
        """Wait as a user would."""
        self.kubectl("wait", f"--for={condition}", f"{kind}/{name}", "--timeout=120s")

    def versions(self) -> dict[str, str]:
        text = self.kubectl("get", f"mo,{CHILDREN},{KINDS}", "-o", "json")
        return {
            f"{one['kind']}/{one['metadata']['name']}": one["metadata"]["resourceVersion"]
            for one in json.loads(text)["items"]
        }


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
        "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"),
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


@contextmanager
def running_operator(
    kubeconfig: Path, folder: Path, *flags: str, probes: str = "0", **variables: str
) -> Iterator[Path]:
    """Run the operator as `make run` does; gives the file with its output."""
    log = folder / "log"
    command = [
        *(str(PROGRAMS / "ansible-operator"), "run"),
        *("--watches-file", str(ROOT / "watches.yaml")),
        *("--proxy-port", str(free_port()), "--metrics-api-port", str(free_port())),
        *("--metrics-bind-address", "0", "--health-probe-bind-address", probes),
        *("--run-directory", str(folder / "runs"), *flags),
    ]
    environment = {
        **os.environ,
        "KUBECONFIG": str(kubeconfig),
        "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"),
        "ANSIBLE_GATHERING": "explicit",
        **variables,
    }
    with log.open("wb") as output:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
    try:
        yield log
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
