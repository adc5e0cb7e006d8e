# SPDX-License-Identifier: Apache-2.0
"""Admission by a whole operator: two replicas behind a Service, asked by a real API server."""

import base64
import contextlib
import datetime
import itertools
import json
import os
import signal
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from ansible_operator.serve.webhook.authority import make_credentials
from ansible_operator.serve.webhook.shared_secret import _with
from testbed.api import ApiClient, ApiError
from testbed.bed import TestBed
from tests.runner.operator.conftest import Start, define
from tests.runner.operator.test_replicas import fetch
from tests.support.operators import Operator
from tests.support.ports import free_port
from tests.support.waiting import eventually

pytestmark = pytest.mark.api

PROJECT = Path(__file__).with_name("admission")
GROUP = "admission.example.com"
KINDS = {f"{plural}.{GROUP}": kind for plural, kind in
         (("sizeds", "Sized"), ("moodies", "Moody"), ("lenients", "Lenient"))}  # fmt: skip
CONFIGURATIONS = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")
FUNCTION_PROCESS = b"ansible_operator.engine.admission.process"


class Balancer:
    """What kube-proxy is elsewhere: connections go to whoever of several listens."""

    def __init__(self, ports: Sequence[int]) -> None:
        self.ports = list(ports)
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self._listener.getsockname()[1]
        self._turn = itertools.count()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        turn = next(self._turn)
        for offset in range(len(self.ports)):
            port = self.ports[(turn + offset) % len(self.ports)]
            with contextlib.suppress(OSError):
                server = socket.create_connection(("127.0.0.1", port), timeout=5)
                server.settimeout(None)
                pump = threading.Thread(target=_pump, args=(server, client), daemon=True)
                pump.start()
                _pump(client, server)
                return
        client.close()


def _pump(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    for end in (source, target):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


@dataclass
class Replica:
    operator: Operator
    port: int
    probes: int
    metrics: int


@dataclass
class Admission:
    """Two replicas, and the API server in front of them."""

    bed: TestBed
    namespace: str
    replicas: list[Replica] = field(default_factory=list)
    _names: Iterator[int] = field(default_factory=itertools.count)

    def __post_init__(self) -> None:
        self.api = ApiClient(self.bed.kubeconfig)

    def path(self, kind: str, name: str = "") -> str:
        plural = next(key for key, value in KINDS.items() if value == kind).partition(".")[0]
        root = f"/apis/{GROUP}/v1alpha1/namespaces/{self.namespace}/{plural}"
        return f"{root}/{name}" if name else root

    def body(self, kind: str, **spec: Any) -> dict[str, Any]:
        metadata = {"name": f"o{next(self._names)}", "namespace": self.namespace}
        version = f"{GROUP}/v1alpha1"
        return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}

    def create(self, kind: str, *, query: str = "", api: Any = None, **spec: Any) -> dict[str, Any]:
        body = self.body(kind, **spec)
        return (api or self.api).request("POST", self.path(kind) + query, body)

    def refusal(self, kind: str, **spec: Any) -> str:
        with pytest.raises(ApiError) as refused:
            self.create(kind, **spec)
        return str(refused.value)

    def update(self, obj: dict[str, Any], **spec: Any) -> dict[str, Any]:
        path = self.path(obj["kind"], obj["metadata"]["name"])
        patch = {"spec": spec}
        return self.api.request("PATCH", path, patch, "application/merge-patch+json")

    def delete(self, obj: dict[str, Any]) -> None:
        self.api.request("DELETE", self.path(obj["kind"], obj["metadata"]["name"]))

    @property
    def leader(self) -> Replica:
        live = [r for r in self.replicas if r.operator.process.poll() is None]
        acquired = f"successfully acquired lease {self.namespace}/admission"
        return eventually(lambda: next((r for r in live if r.operator.lines(acquired)), None))

    def function_processes(self) -> list[int]:
        """The processes that have functions loaded, of all replicas."""
        parents = {replica.operator.process.pid for replica in self.replicas}
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
                if parent in parents and FUNCTION_PROCESS in (folder / "cmdline").read_bytes():
                    found.append(int(folder.name))
        return found


@pytest.fixture(scope="module")
def kinds(fake_testbed: TestBed) -> TestBed:
    define(fake_testbed, KINDS)
    return fake_testbed


def begin(admission: Admission, start: Start, *flags: str) -> Replica:
    port, probes, metrics = free_port(), free_port(), free_port()
    operator = start(
        admission.namespace,
        f"--webhook-bind-address=127.0.0.1:{port}",
        f"--webhook-namespace={admission.namespace}",
        f"--health-probe-bind-address=127.0.0.1:{probes}",
        f"--metrics-bind-address=127.0.0.1:{metrics}",
        *flags,
        project=PROJECT,
    )
    admission.replicas.append(Replica(operator, port, probes, metrics))
    return admission.replicas[-1]


def forget(bed: TestBed, name: str) -> None:
    for kind in CONFIGURATIONS:
        bed.kubectl("delete", kind, name, "--ignore-not-found")


@pytest.fixture(scope="module")
def admission(kinds: TestBed, start_shared: Start) -> Iterator[Admission]:
    with kinds.namespace("admission") as namespace:
        admission = Admission(kinds, namespace)
        balancer = Balancer([])
        service = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "hook", "namespace": namespace},
            "spec": {"type": "ExternalName", "externalName": "localhost"},
        }
        kinds.kubectl("apply", "-f", "-", input=json.dumps(service))
        for _ in range(2):
            replica = begin(
                admission,
                start_shared,
                "--webhook-service=hook",
                f"--webhook-service-port={balancer.port}",
                "--leader-elect",
                "--leader-election-id=admission",
                f"--leader-election-namespace={namespace}",
            )
            balancer.ports.append(replica.port)
        for replica in admission.replicas:
            eventually(lambda port=replica.probes: fetch(port, "/readyz")[0] == 200)
        time.sleep(1)  # the API server learns of configurations by a watch
        yield admission
        forget(kinds, f"hook.{namespace}")
        balancer.close()


def test_objects_are_completed_and_judged(admission: Admission) -> None:
    made = admission.create("Sized", colour="{{ lookup('pipe', 'id') }}")
    assert made["spec"] == {"size": 3, "colour": "{{ lookup('pipe', 'id') }}"}
    message = admission.refusal("Sized", size=0)
    assert "denied the request: spec.size: must be positive" in message
    with pytest.raises(ApiError, match=r"spec\.size: cannot shrink"):
        admission.update(made, size=2)
    assert admission.update(made, size=4)["spec"]["size"] == 4


def test_dry_runs_are_judged_too(admission: Admission) -> None:
    assert admission.create("Sized", query="?dryRun=All")["spec"] == {"size": 3}
    text = json.dumps(admission.body("Sized", size=1))
    shown = subprocess.run(
        [admission.bed.kubectl_path, "apply", "--dry-run=server", "-f", "-"],
        input=text,
        env={**os.environ, "KUBECONFIG": str(admission.bed.kubeconfig)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Warning: spec.size: a single one is not redundant" in shown.stderr


def test_deletions_are_reviewed_if_a_watch_lists_them(admission: Admission) -> None:
    kept, other = admission.create("Sized", keep=True), admission.create("Sized")
    with pytest.raises(ApiError, match=r"spec\.keep: is set, so it stays"):
        admission.delete(kept)
    admission.delete(other)


@pytest.mark.parametrize(
    ("mood", "message"),
    [
        ("raise", "admission function moody: raised ValueError: a bad mood"),
        ("die", "the process of admission functions moody exited with 7"),
        ("number", "returned int, not a mapping"),
        ("spin", "admission functions moody did not answer in 4."),
    ],
)
def test_without_an_answer_the_policy_of_the_watch_decides(
    admission: Admission, mood: str, message: str
) -> None:
    begin = time.monotonic()
    assert message in admission.refusal("Moody", mood=mood)
    assert admission.create("Moody", mood="calm")["spec"] == {"mood": "calm"}
    if mood != "spin":
        assert admission.create("Lenient", mood=mood)["spec"] == {"mood": mood}
    assert time.monotonic() - begin < 25
    lines = [
        line
        for replica in admission.replicas
        for line in replica.operator.lines("A review was not answered")
    ]
    assert any(message in line["error"] for line in lines)


def test_metrics(admission: Admission) -> None:
    admission.create("Sized")
    texts = "\n".join(fetch(replica.metrics, "/metrics")[1] for replica in admission.replicas)
    path = 'webhook="/validate-admission-example-com-v1alpha1-sized"'
    assert f'controller_runtime_webhook_requests_total{{code="200",{path}}}' in texts
    assert f"controller_runtime_webhook_latency_seconds_count{{{path}}}" in texts
    assert f"controller_runtime_webhook_requests_in_flight{{{path}}} 0.0" in texts
    gvk = f'GVK="{GROUP}/v1alpha1, Kind=Moody"'
    assert f'ansible_operator_admission_failures_total{{{gvk},reason="exception"}}' in texts


def test_killed_function_processes_are_replaced(admission: Admission) -> None:
    before = admission.function_processes()
    assert len(before) == 2
    for pid in before:
        os.kill(pid, signal.SIGKILL)
    for _ in range(10):
        assert "must be positive" in admission.refusal("Sized", size=0)
    eventually(lambda: len(admission.function_processes()) == 2)
    assert not set(before) & set(admission.function_processes())


def test_reviews_are_answered_while_plays_run(admission: Admission) -> None:
    """Hundreds of objects, each of which is played, and none is missed."""

    def create(number: int, api: ApiClient) -> None:
        spec = admission.create("Sized", api=api, number=number)["spec"]
        assert spec == {"size": 3, "number": number}

    parallel(admission, create, 400)
    texts = [fetch(replica.metrics, "/metrics")[1] for replica in admission.replicas]
    for text in texts:
        assert 'controller_runtime_webhook_requests_total{code="500",webhook="/validate-admission-example-com-v1alpha1-sized"' not in text  # fmt: skip
    assert "must be positive" in admission.refusal("Sized", size=0)


def parallel(admission: Admission, work: Callable[[int, ApiClient], None], count: int) -> None:
    """Do something many times from eight connections."""
    local = threading.local()

    def one(number: int) -> None:
        if not hasattr(local, "api"):
            local.api = ApiClient(admission.bed.kubeconfig)
        work(number, local.api)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(one, range(count)))


def served(port: int) -> str:
    return ssl.get_server_certificate(("127.0.0.1", port))


def test_certificates_are_renewed_while_replicas_serve(admission: Admission) -> None:
    """All that is due is renewed once, by whoever sees it first; nobody notices."""
    name = f"hook.{admission.namespace}"
    path = f"/api/v1/namespaces/{admission.namespace}/secrets/{name}"
    secret = admission.api.request("GET", path)
    present = datetime.datetime.now(datetime.UTC)
    names = [f"hook.{admission.namespace}.svc", "hook"]
    trusted = base64.b64decode(secret["data"]["ca.crt"])
    due = make_credentials(names, present - datetime.timedelta(days=70), trusted=trusted)
    admission.api.request("PUT", path, _with(due, secret))
    before = {replica.port: served(replica.port) for replica in admission.replicas}
    deadline = time.monotonic() + 60
    while any(served(port) == old for port, old in before.items()):
        assert "must be positive" in admission.refusal("Sized", size=0)
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert len({served(replica.port) for replica in admission.replicas}) == 1
    assert "must be positive" in admission.refusal("Sized", size=0)


def test_the_others_answer_when_the_leader_is_killed(admission: Admission) -> None:
    leader = admission.leader
    leader.operator.process.kill()
    leader.operator.process.wait(10)
    for _ in range(5):
        assert "must be positive" in admission.refusal("Sized", size=0)
    assert admission.create("Sized")["spec"] == {"size": 3}
    [last] = [replica for replica in admission.replicas if replica is not leader]
    last.operator.process.send_signal(signal.SIGTERM)
    eventually(lambda: last.operator.lines("Stopping"))
    time.sleep(1.5)
    assert "must be positive" in admission.refusal("Sized", size=0), "a Service forgets it late"
    assert "stopping" in fetch(last.probes, "/readyz?verbose")[1]
    assert last.operator.process.wait(40) == 0
    eventually(lambda: admission.function_processes() == [])
    assert admission.create("Lenient", mood="raise"), "nobody is there to ask"


@pytest.mark.parametrize(
    ("engine", "has_certificates"), [("ansible-runner", False), ("warm", True)]
)
def test_a_process_outside_the_cluster(
    kinds: TestBed, start: Start, tmp_path: Path, engine: str, has_certificates: bool
) -> None:
    """Reached by URL; with either engine, with certificates of its own or from a folder."""
    with kinds.namespace("outside") as namespace:
        admission = Admission(kinds, namespace)
        flags = ["--webhook-url-host=127.0.0.1", f"--webhook-name={namespace}"]
        if has_certificates:
            mount(tmp_path)
            flags.append(f"--webhook-cert-dir={tmp_path}")
        flags += ["--webhook-failure-policy=Fail", f"--engine={engine}"]
        replica = begin(admission, start, *flags)
        try:
            eventually(lambda: fetch(replica.probes, "/readyz")[0] == 200)
            time.sleep(1)
            assert "must be positive" in admission.refusal("Sized", size=0)
            found = kinds.kubectl("-n", namespace, "get", "secrets", "-o", "name").split()
            assert found == ([] if has_certificates else [f"secret/{namespace}"])
            assert replica.operator.stop() == 0
            assert "connection refused" in admission.refusal("Sized", size=0)
        finally:
            forget(kinds, namespace)


def mount(folder: Path) -> None:
    """Put certificates where cert-manager would."""
    made = make_credentials(["127.0.0.1"], datetime.datetime.now(datetime.UTC))
    files = (made.serving.certificate, made.serving.key, made.bundle)
    for name, data in zip(("tls.crt", "tls.key", "ca.crt"), files, strict=True):
        (folder / name).write_bytes(data)


def test_functions_that_do_not_exist_are_named(
    kinds: TestBed, start: Start, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    (project / "roles/sized/tasks").mkdir(parents=True)
    watch = (
        f"- {{group: {GROUP}, version: v1alpha1, kind: Sized, role: sized, admission: [nowhere]}}\n"
    )
    (project / "watches.yaml").write_text(watch)
    flags = ("--webhook-bind-address=:0", "--webhook-service=x", "--webhook-namespace=default")
    operator = start("default", *flags, project=project)
    assert operator.process.wait(60) == 1
    assert "there is no filter plugin nowhere" in operator.text()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--webhook-bind-address=:0", "--webhook-service=a"], "specify --webhook-namespace"),
        (
            [
                "--webhook-bind-address=:0",
                "--webhook-service=a",
                "--webhook-namespace=default",
                "--webhook-cert-dir=/nowhere",
            ],
            "no tls.crt and tls.key in /nowhere",
        ),
    ],
)
def test_flags_that_cannot_be_used(
    kinds: TestBed, start: Start, flags: list[str], message: str
) -> None:
    """Contradictions between them are in tests/runner/test_options.py."""
    operator = start("default", *flags, project=PROJECT)
    assert operator.process.wait(60) == 1
    assert message in operator.text()
