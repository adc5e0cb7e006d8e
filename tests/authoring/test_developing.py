# SPDX-License-Identifier: Apache-2.0
"""`ansible-operator dev` on an API server, while files of its project change."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

from ansible_operator.cli import main
from testbed.bed import TestBed
from tests.support.namespaces import Namespace
from tests.support.places import COLLECTIONS
from tests.support.waiting import eventually

pytestmark = pytest.mark.api
KIND = ("--group", "dev.example.com", "--version", "v1", "--kind", "Gadget")
SPECS = "roles/gadget/meta/argument_specs.yml"
TASKS = "roles/gadget/tasks/main.yml"


@dataclass
class Session:
    """A running `ansible-operator dev`."""

    project: Path
    process: subprocess.Popen[bytes]
    log: Path

    def waits_for(self, text: str, after: int = 0) -> int:
        """Wait until it has printed a text, and return where that ends."""
        printed = eventually(
            lambda: found if text in (found := self.log.read_text())[after:] else "",
            seconds=90,
            what=repr(text),
            otherwise=self.log.read_text,
        )
        return printed.index(text, after) + len(text)

    def edit(self, name: str, old: str, new: str) -> None:
        path = self.project / name
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))


@pytest.fixture
def session(fake_testbed: TestBed, tmp_path: Path) -> Iterator[Session]:
    project = tmp_path / "gadget-operator"
    assert CliRunner().invoke(main, ["init", str(project), *KIND]).exit_code == 0
    log = tmp_path / "log"
    with fake_testbed.namespace("dev") as name, log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "ansible_operator", "dev", "--graceful-shutdown-timeout=5s"],
            cwd=project,
            env={
                **os.environ,
                "KUBECONFIG": str(fake_testbed.kubeconfig),
                "WATCH_NAMESPACE": name,
                "ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS),
                "PATH": f"{fake_testbed.kubectl_path.parent}:{os.environ['PATH']}",
                "PYTHONUNBUFFERED": "1",
            },
            stdout=output,
            stderr=output,
        )
        try:
            yield Session(project, process, log)
        finally:
            process.terminate()
            process.wait(60)
            fake_testbed.kubectl("delete", "--wait=false", "-k", str(project / "config/crd"))


@pytest.fixture
def space(session: Session, fake_testbed: TestBed) -> Namespace:
    session.waits_for("watching Gadget of dev.example.com")
    return Namespace(fake_testbed, env_of(session)["WATCH_NAMESPACE"])


def env_of(session: Session) -> dict[str, str]:
    """Return the variables that it was started with."""
    entries = Path(f"/proc/{session.process.pid}/environ").read_text().split("\0")
    return dict(entry.split("=", 1) for entry in entries if "=" in entry)


def operators(session: Session) -> list[str]:
    """Its child processes."""
    path = Path(f"/proc/{session.process.pid}/task/{session.process.pid}/children")
    return path.read_text().split()


def test_changes_are_played_and_shown(session: Session, space: Namespace) -> None:
    sample = session.project / "config/samples/dev_v1_gadget.yaml"
    space.kubectl("apply", "-f", str(sample))
    at = session.waits_for(f"created Deployment {space.name}/gadget-sample")
    at = session.waits_for("tasks ok", at)
    space.patch("gadget", "gadget-sample", {"spec": {"size": 2}})
    at = session.waits_for("-  replicas: 1\n    +  replicas: 2\n", at)

    session.edit(TASKS, "runAsNonRoot: true", "runAsNonRoot: true\n              runAsUser: 1000")
    session.waits_for("+        runAsUser: 1000\n", at)  # a run may be faster than the new start
    at = session.waits_for("starting the operator\n", session.waits_for(f"changed: {TASKS}\n", at))

    session.edit(SPECS, "type: int", "type: number")
    at = session.waits_for("option size: 'number' is no type of an argument spec", at)
    assert operators(session) == []
    session.edit(SPECS, "type: number", "type: int\n        choices: [1, 2]")
    at = session.waits_for("config/crd/dev.example.com_gadgets.yaml: updated\n", at)
    at = session.waits_for("gadget-sample: created\n", at)
    with pytest.raises(Exception, match=r"spec\.size: Unsupported value"):
        space.patch("gadget", "gadget-sample", {"spec": {"size": 3}})

    (session.project / "watches.yaml").write_text("- kind: none\n")
    session.waits_for("error: ", at)


def test_a_cluster_may_come_up_later(session: Session, space: Namespace, tmp_path: Path) -> None:
    kubeconfig, log = tmp_path / "kubeconfig", tmp_path / "later"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "ansible_operator", "dev"],
            cwd=session.project,
            env={**env_of(session), "KUBECONFIG": str(kubeconfig)},
            stdout=output,
            stderr=output,
        )
        try:
            later = Session(session.project, process, log)
            later.waits_for("error: kubectl apply -k config/crd: ")
            assert operators(later) == []
            kubeconfig.touch(mode=0o600)
            kubeconfig.write_text(Path(env_of(session)["KUBECONFIG"]).read_text())
            later.waits_for("watching Gadget")
            assert log.read_text().count("error: kubectl") <= 2
        finally:
            process.terminate()
            process.wait(60)


def test_dev_needs_a_project(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["dev", "--project", str(tmp_path)])
    assert done.exit_code == 2
    assert "has no watches.yaml" in done.output


def test_ctrl_c_ends_the_operator(session: Session, space: Namespace) -> None:
    (operator,) = operators(session)
    session.process.send_signal(signal.SIGINT)
    assert session.process.wait(60) == 0
    assert session.log.read_text().endswith("stopped\n")
    assert not Path(f"/proc/{operator}").exists()


def test_the_operator_does_not_outlive_the_command(session: Session, space: Namespace) -> None:
    (operator,) = operators(session)
    session.process.kill()
    eventually(lambda: not is_running(operator))


def is_running(pid: str) -> bool:
    """Tell whether a process exists that is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
