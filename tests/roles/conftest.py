# SPDX-License-Identifier: Apache-2.0
"""Play the collection's playbooks against the test bed with fake nodes."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from testbed.bed import TestBed
from tests.operator_rights import account, refusals

from .operating import KINDS, Namespace, free_port

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Played:
    """What a play came to: exit code, output, and the counts of its recap."""

    code: int
    output: str
    counts: dict[str, int]


def tiny_cluster(namespace: str) -> dict[str, Any]:
    """Return the smallest cluster that has every part, in a namespace."""
    cluster = yaml.safe_load((ROOT / "examples" / "tiny-cluster.yaml").read_text())
    cluster["metadata"]["namespace"] = namespace
    return cluster


@pytest.fixture
def play_cluster(tmp_path: Path, fake_testbed: TestBed) -> Callable[..., Played]:
    """Return a function that plays ``matrixorigin.matrixone.cluster`` for a resource."""

    def run(resource: dict[str, Any], *options: str, **variables: Any) -> Played:
        given = tmp_path / "cluster.json"
        given.write_text(json.dumps(resource))
        done = subprocess.run(
            [
                str(Path(sys.executable).parent / "ansible-playbook"),
                "matrixorigin.matrixone.cluster",
                *("-e", f"@{given}"),
                *("-e", json.dumps({"wait_timeout": 60, **variables})),
                *options,
            ],
            env={
                **os.environ,
                "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"),
                "ANSIBLE_LOCALHOST_WARNING": "false",
                "ANSIBLE_INVENTORY_UNPARSED_WARNING": "false",
                "ANSIBLE_NOCOLOR": "true",
                "ANSIBLE_HOME": str(tmp_path / "ansible"),
                "KUBECONFIG": str(fake_testbed.kubeconfig),
            },
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        recap = re.findall(r"(\w+)=(\d+)", done.stdout.rpartition("PLAY RECAP")[2])
        counts = {name: int(count) for name, count in recap}
        return Played(done.returncode, done.stdout + done.stderr, counts)

    return run


@pytest.fixture
def objects(fake_testbed: TestBed, fake_namespace: str) -> Callable[[], set[str]]:
    """Return a function that names what is in the namespace, but what Kubernetes puts there."""

    def read() -> set[str]:
        found = fake_testbed.kubectl("-n", fake_namespace, "get", KINDS, "-o", "name").split()
        return {name for name in found if not name.endswith("kube-root-ca.crt")}

    return read


@pytest.fixture(scope="module")
def space(fake_testbed: TestBed) -> Iterator[Namespace]:
    folder = str(ROOT / "crds")
    fake_testbed.kubectl("apply", "--server-side", "--force-conflicts", "-f", folder)
    names = [
        f"crd/{path.stem.replace('core.matrixorigin.io_', '')}.core.matrixorigin.io"
        for path in (ROOT / "crds").glob("core.*.yaml")
    ]
    fake_testbed.kubectl("wait", "--for=condition=Established", "--timeout=60s", *names)
    with fake_testbed.namespace("operator") as name:
        yield Namespace(fake_testbed, name)


@pytest.fixture(scope="module")
def operator(space: Namespace, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Run the operator for the namespace, with the rights that it is given there; gives its log."""
    folder = tmp_path_factory.mktemp("operator")
    log = folder / "log"
    command = [
        *(str(Path(sys.executable).parent / "ansible-operator"), "run"),
        *("--watches-file", str(ROOT / "watches.yaml")),
        *("--proxy-port", str(free_port()), "--metrics-api-port", str(free_port())),
        *("--metrics-bind-address", "0", "--health-probe-bind-address", "0"),
        *("--run-directory", str(folder / "runs")),
    ]
    environment = {
        **os.environ,
        "KUBECONFIG": str(account(space.bed, space.name, folder / "kubeconfig")),
        "WATCH_NAMESPACE": space.name,
        "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"),
        "ANSIBLE_GATHERING": "explicit",
    }
    with log.open("wb") as output:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
    try:
        yield log
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
    assert refusals(log) == []
