# SPDX-License-Identifier: Apache-2.0
"""The event source on a real API server, alone and in ansible-rulebook."""

import asyncio
import base64
import contextlib
import http.server
import json
import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from testbed.bed import TestBed
from testbed.processes import last_words
from tests.support.namespaces import Namespace, install
from tests.support.places import COLLECTIONS, ROOT
from tests.support.waiting import eventually

RULEBOOK_SECONDS = 90
INVENTORY = """\
all:
  hosts:
    localhost:
      ansible_connection: local
      ansible_python_interpreter: "{{ ansible_playbook_python }}"
"""


@pytest.fixture
def space(fake_testbed: TestBed) -> Iterator[Namespace]:
    install(fake_testbed)
    with fake_testbed.namespace("eda") as namespace:
        yield Namespace(fake_testbed, namespace)


@pytest.fixture
def kubeconfig(space: Namespace, tmp_path: Path) -> str:
    """Keys as files: the client library writes those of a kubeconfig to temporary ones."""
    content = yaml.safe_load(space.bed.kubeconfig.read_text())
    entry = content["users"][0]["user"]
    for name in ("client-certificate", "client-key"):
        file = tmp_path / name
        file.touch(mode=0o600)
        file.write_bytes(base64.b64decode(entry.pop(f"{name}-data")))
        entry[name] = str(file)
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump(content))
    return str(path)


def user(name: str) -> dict[str, Any]:
    """An object of a kind for which no operator runs here."""
    return {
        "apiVersion": "core.matrixorigin.io/v1alpha1",
        "kind": "DatabaseUser",
        "metadata": {"name": name},
        "spec": {"clusterRef": {"name": "mo"}},
    }


def say(space: Namespace, name: str, kind: str, status: str, reason: str) -> None:
    """Write a condition of a DatabaseUser, as an operator does."""
    condition = {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": "{{ 7 * 191 }}",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
        "observedGeneration": 1,
    }
    change = json.dumps({"status": {"conditions": [condition]}})
    arguments = (
        "patch",
        "databaseuser",
        name,
        "--subresource=status",
        "--type=merge",
        "-p",
        change,
    )
    space.kubectl(*arguments)


def warn(space: Namespace, name: str) -> None:
    """Record a Kubernetes Event about a DatabaseUser."""
    space.apply(
        {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": f"{name}-warning"},
            "eventTime": "2026-01-01T00:00:00.000000Z",
            "reportingController": "test",
            "reportingInstance": "test-0",
            "action": "Check",
            "reason": "Broken",
            "type": "Warning",
            "note": "it is {{ 7 * 191 }}",
            "regarding": {
                "apiVersion": "core.matrixorigin.io/v1alpha1",
                "kind": "DatabaseUser",
                "name": name,
                "namespace": space.name,
            },
        }
    )


@pytest.mark.api
async def test_changes_come_in_order_and_what_held_before_is_marked(
    source: Any, space: Namespace, kubeconfig: str
) -> None:
    space.apply(user("old"))
    say(space, "old", "Ready", "True", "LoginAccepted")
    queue: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    options = {
        "kinds": ["DatabaseUser"],
        "namespaces": [space.name],
        "kubeconfig": kubeconfig,
    }
    watching = asyncio.create_task(source.main(queue, options))

    async def next_one() -> dict[str, Any]:
        return await asyncio.wait_for(queue.get(), 20)

    first = await next_one()
    assert (first["what"], first["name"], first["initial"]) == ("condition", "old", True)
    await asyncio.to_thread(say, space, "old", "Ready", "False", "SqlNotAnswered")
    changed = await next_one()
    assert (changed["condition"]["status"], changed["before"]["status"]) == ("False", "True")
    assert changed["condition"]["message"] == "{ { 7 * 191 }}"
    await asyncio.to_thread(warn, space, "old")
    warned = await next_one()
    assert (warned["what"], warned["event"]["reason"]) == ("event", "Broken")
    assert warned["event"]["note"] == "it is { { 7 * 191 }}"
    await asyncio.to_thread(space.kubectl, "delete", "databaseuser", "old")
    gone = await next_one()
    assert (gone["what"], gone["name"]) == ("deleted", "old")
    watching.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await watching
    assert queue.empty()


@pytest.mark.api
async def test_an_unknown_kind_is_named_with_those_that_there_are(
    source: Any, kubeconfig: str
) -> None:
    options = {"kinds": ["Cluster"], "kubeconfig": kubeconfig}
    with pytest.raises(ValueError, match="no Cluster; there are Backup, BackupJob, "):
        await asyncio.wait_for(source.main(asyncio.Queue(), options), 20)


class Pager(http.server.BaseHTTPRequestHandler):
    """A service that people on call use; remembers what it was told."""

    told: list[dict[str, Any]]

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        self.told.append(json.loads(self.rfile.read(length)))
        self.send_response(202)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def pager() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    told: list[dict[str, Any]] = []
    handler = type("Handler", (Pager,), {"told": told})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/", told
    server.shutdown()


@pytest.fixture
def rulebook(kubeconfig: str, tmp_path: Path) -> Iterator[Callable[..., Path]]:
    """Give a function that starts ansible-rulebook with a rulebook of the collection."""
    program = subprocess.check_output([ROOT / "dev" / "rulebook.sh"], text=True).strip()
    started: list[subprocess.Popen[bytes]] = []

    def start(name: str, watched: str = "events", **variables: str) -> Path:
        given, log = tmp_path / "vars.yml", tmp_path / "log"
        given.write_text(yaml.safe_dump(variables))
        inventory = tmp_path / "inventory.yml"
        inventory.write_text(INVENTORY)
        command = [program, "--rulebook", f"matrixorigin.matrixone.{name}", "--vars", str(given)]
        environment = {
            **os.environ,
            "KUBECONFIG": kubeconfig,
            "ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS),
            "PATH": f"{Path(program).parent}:{os.environ['PATH']}",
        }
        with log.open("wb") as output:
            process = subprocess.Popen(
                [*command, "--inventory", str(inventory), "--verbose"],
                cwd=tmp_path,
                env=environment,
                stdout=output,
                stderr=output,
            )
        started.append(process)
        eventually(
            lambda: f"{watched} in all namespaces are watched" in log.read_text(),
            RULEBOOK_SECONDS,
            otherwise=lambda: last_words(log),
        )
        return log

    yield start
    for process in started:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(20)
        process.kill()


@pytest.mark.node
@pytest.mark.scenario
@pytest.mark.timeout(600)
def test_people_are_told_of_a_problem_once(
    space: Namespace, rulebook: Callable[..., Path], pager: tuple[str, list[dict[str, Any]]]
) -> None:
    address, told = pager
    log = rulebook("notify", notify_url=address)
    space.apply(user("one"))
    warn(space, "one")
    eventually(lambda: told, RULEBOOK_SECONDS, otherwise=lambda: last_words(log))
    say(space, "one", "Degraded", "True", "Broken")
    eventually(lambda: len(told) == 2, RULEBOOK_SECONDS, otherwise=lambda: last_words(log))
    say(space, "one", "Degraded", "False", "Fine")
    say(space, "one", "Degraded", "True", "Broken")
    assert told[0] == {
        "state": "problem",
        "kind": "DatabaseUser",
        "namespace": space.name,
        "name": "one",
        "reason": "Broken",
        "message": "it is { { 7 * 191 }}",
    }
    assert told[1]["message"] == "{ { 7 * 191 }}"
    space.apply(user("other"))
    say(space, "other", "Degraded", "True", "Broken")
    eventually(lambda: len(told) == 3, RULEBOOK_SECONDS, otherwise=lambda: last_words(log))
    assert told[2]["name"] == "other", "the same problem of the first was not told again"


@pytest.mark.node
@pytest.mark.scenario
@pytest.mark.timeout(600)
def test_a_backup_that_completes_is_verified(
    space: Namespace, rulebook: Callable[..., Path]
) -> None:
    log = rulebook("verify", watched="backupjobs")
    job = {
        "apiVersion": "core.matrixorigin.io/v1alpha1",
        "kind": "BackupJob",
        "metadata": {"name": "mo-full"},
        "spec": {
            "source": {"clusterRef": "mo"},
            "target": {"s3": {"path": "bucket/backups", "secretRef": {"name": "credentials"}}},
        },
    }
    space.apply(job)
    condition = {
        "type": "Ready",
        "status": "True",
        "reason": "Completed",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
        "observedGeneration": 1,
    }
    change = json.dumps({"status": {"backup": "mo-full-1a2b", "conditions": [condition]}})
    space.kubectl(
        "patch", "backupjob", "mo-full", "--subresource=status", "--type=merge", "-p", change
    )
    created = eventually(
        lambda: space.listed("restorejobs"), RULEBOOK_SECONDS, otherwise=lambda: last_words(log)
    )
    assert [(one["metadata"]["name"], one["spec"]["backupName"]) for one in created] == [
        ("mo-full-verify", "mo-full-1a2b")
    ]
    assert created[0]["spec"]["verify"] == {}
