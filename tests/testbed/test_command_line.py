# SPDX-License-Identifier: Apache-2.0
"""The commands do what they say, in one line where something is wrong."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import testbed
from tests.support.waiting import eventually


def run(*arguments: str, code: int = 0, **environment: str) -> tuple[str, str]:
    """Run a command; return what it prints on standard output and on standard error."""
    result = subprocess.run(
        [sys.executable, "-m", "testbed", *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == code, result.stderr
    return result.stdout, result.stderr


@pytest.mark.api
def test_commands(own_state: Path) -> None:
    """A test bed goes through its life by commands alone."""
    output, progress = run("up", "--name=cli", "--node-count=1", "--audit")
    kubeconfig = own_state / "cli" / "kubeconfig"
    assert output == f"export KUBECONFIG={kubeconfig}\n"
    assert "fake nodes are ready: node-0" in progress
    assert run("kubeconfig", "--name=cli")[0].strip() == str(kubeconfig)
    assert run("list")[0].split() == ["cli", "1", "fake", "healthy"]
    assert "kube-apiserver" in run("status", "--name=cli")[0]
    assert "etcd" in run("logs", "--name=cli")[0]
    assert run("logs", "--name=cli", "kube-scheduler", "--lines=1")[0].count("\n") == 1
    bed = testbed.get("cli")
    bed.kubectl("create", "namespace", "audited")
    assert eventually(lambda: "audited" in bed.audit_log.read_text())
    events = [json.loads(line) for line in bed.audit_log.read_text().splitlines()]
    assert any(e["verb"] == "create" and e["objectRef"]["name"] == "audited" for e in events)
    run("down", "--name=cli")
    assert run("list")[0] == ""
    assert not own_state.exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("status", "--name=none"), "no test bed is called 'none'"),
        (("logs", "--name=none"), "no test bed is called 'none'"),
        (("load-image", "--name=none", "x.tar"), "no test bed is called 'none'"),
        (("up", "--name=No"), "cannot name a test bed"),
    ],
)
def test_mistakes_are_one_line(own_state: Path, arguments: tuple[str, ...], says: str) -> None:
    """What is wrong and what to do fits in a line, without a stack trace."""
    _, error = run(*arguments, code=1)
    assert says in error
    assert error.count("\n") == 1


def test_missing_go_is_one_line(own_state: Path, tmp_path: Path) -> None:
    """Without Go and without programs, the line says where to get them."""
    tools = tmp_path / "bin"
    tools.mkdir()
    _, error = run(
        "up", code=1, PATH=str(tools), TESTBED_CACHE=str(tmp_path), KUBEBUILDER_ASSETS=""
    )
    assert error.startswith("testbed: Go is needed to build etcd")
    assert error.count("\n") == 1
    assert not own_state.exists() or not list(own_state.iterdir())
