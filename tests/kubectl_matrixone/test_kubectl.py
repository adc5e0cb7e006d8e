# SPDX-License-Identifier: Apache-2.0
"""What users read where kubectl fails, or their own disk or pipe does."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kubectl_matrixone.errors import KubectlError
from kubectl_matrixone.kubectl import Kubectl, reason

LOGGED = (
    'E1128 13:01:59.253920   12208 memcache.go:265] "Unhandled Error" err="couldn\'t get current '
    'server API group list: Get \\"http://localhost:8080/api?timeout=32s\\": dial tcp: refused"\n'
)
REFUSED = "The connection to the server localhost:8080 was refused"


@pytest.fixture
def kubectl(tmp_path: Path) -> Path:
    """Return the path of a program that prints an empty list, and fails for Secrets."""
    program = tmp_path / "kubectl"
    (tmp_path / "said").write_text(LOGGED * 5 + REFUSED + "\n")
    program.write_text(
        '#!/bin/sh\ncase "$*" in *secrets*) cat "$(dirname "$0")/said" >&2; exit 1;; esac\n'
        'cat "$(dirname "$0")/said" >&2\necho \'{"items": []}\'\n'
    )
    program.chmod(0o755)
    return program


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (LOGGED * 5 + REFUSED, REFUSED),
        (LOGGED + 'Error from server (NotFound): pods "a" not found\n', 'pods "a" not found'),
        ("error: one\n  two\n", "one two"),
        (LOGGED, " ".join(LOGGED.split())),
        ("E1128 is no line of a log\n", "E1128 is no line of a log"),
        ("", "kubectl failed and said nothing"),
    ],
)
def test_the_log_of_kubectls_client_is_not_its_message(said: str, shown: str) -> None:
    assert reason(said) == shown


def test_neither_in_errors_nor_among_problems(kubectl: Path) -> None:
    there = Kubectl(program=str(kubectl))
    with pytest.raises(KubectlError) as error:
        there.run("get", "secrets")
    assert str(error.value) == REFUSED
    assert there.list(["pods", "services"]).problems == [REFUSED]


def test_a_full_disk_is_an_error_without_traceback(kubectl: Path) -> None:
    environment = {**os.environ, "PATH": f"{kubectl.parent}:{os.environ['PATH']}"}
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run(
            [sys.executable, "-m", "kubectl_matrixone", "backups"],
            env=environment,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    assert (done.returncode, done.stderr) == (1, "error: [Errno 28] No space left on device\n")
