# SPDX-License-Identifier: Apache-2.0
"""The database answers, and keeps what it was given over the scenario's change."""

import base64
import json
import os
import socket
import subprocess
import time
from pathlib import Path

import pymysql
import pytest

CONFIG = os.environ["K8S_AUTH_KUBECONFIG"]
OWN = Path(CONFIG).parent / "kubectl"
KUBECTL = [str(OWN) if OWN.exists() else "kubectl", f"--kubeconfig={CONFIG}", "-n", "molecule"]


@pytest.fixture
def session():
    """Connect as root through a port that is forwarded to the proxy's Service."""
    secret = json.loads(
        subprocess.check_output([*KUBECTL, "get", "secret", "mo-credential", "-o", "json"])
    )["data"]
    user, password = (base64.b64decode(secret[key]).decode() for key in ("username", "password"))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with subprocess.Popen(
        [*KUBECTL, "port-forward", "service/mo-proxy", f"{port}:6001"], stdout=subprocess.DEVNULL
    ) as forward:
        try:
            yield _connected(port, user, password)
        finally:
            forward.terminate()


def _connected(port, user, password):
    deadline = time.monotonic() + 60
    while True:
        try:
            return pymysql.connect(
                host="127.0.0.1", port=port, user=user, password=password, autocommit=True
            )
        except (pymysql.MySQLError, OSError):
            if time.monotonic() > deadline:
                raise
            time.sleep(1)


def test_sql_answers_and_rows_stay(session):
    """Each check adds a row; those of earlier checks are still there."""
    counter = Path(CONFIG).parent / "rows"
    written = int(counter.read_text()) if counter.exists() else 0
    with session.cursor() as cursor:
        cursor.execute("create database if not exists molecule")
        cursor.execute("use molecule")
        cursor.execute("create table if not exists checks (number int primary key)")
        cursor.execute("select count(*) from checks")
        assert cursor.fetchone()[0] == written
        cursor.execute("insert into checks values (%s)", (written,))
        counter.write_text(str(written + 1))
        cursor.execute("select version()")
        assert "MatrixOne" in cursor.fetchone()[0]
