# SPDX-License-Identifier: Apache-2.0
"""The operator may do what it does and nothing else: its rights beside the audit log."""

import http.client
import json
import os
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

import testbed
from deploy.generate.__main__ import ROOT, main
from deploy.generate.rights import RightsError, Scope, read
from deploy.generate.roles import NAME
from testbed.bed import TestBed
from testbed.ports import choose_ports
from tests.support.operator_rights import account, refusals

SECONDS = 120
USER = f"system:serviceaccount:{NAME}:{NAME}"
Grant = tuple[str, str, str]


@dataclass(frozen=True)
class Operator:
    """An operator that looks after all namespaces, and a namespace with a cluster."""

    bed: TestBed
    metrics_port: int
    namespace: str = "databases"

    def kubectl(self, *arguments: str, **how: Any) -> str:
        return self.bed.kubectl("-n", self.namespace, *arguments, **how)

    def apply(self, resource: dict[str, Any]) -> None:
        self.kubectl("apply", "--server-side", "-f", "-", input=json.dumps(resource))

    def wait(self, condition: str) -> None:
        self.kubectl("wait", f"--for=condition={condition}", "mo/mo", f"--timeout={SECONDS}s")

    def audited(self) -> Iterator[dict[str, Any]]:
        """What the API server was asked by the operator about resources."""
        for line in self.bed.audit_log.read_text().splitlines():
            entry = json.loads(line)
            if entry["user"]["username"] == USER and "objectRef" in entry:
                yield entry

    def scrape(self, token: str) -> int:
        context = ssl._create_unverified_context()  # noqa: S323  # self-signed
        connection = http.client.HTTPSConnection("127.0.0.1", self.metrics_port, context=context)
        connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {token}"})
        return connection.getresponse().status


@pytest.fixture(scope="module")
def operator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operator]:
    """Run the operator as its ServiceAccount on a test bed whose API server writes an audit log."""
    folder = tmp_path_factory.mktemp("operator")
    name = f"pytest-rights-{os.getpid()}"
    try:
        bed = testbed.up(name, nodes="fake", audit=True)
        bed.kubectl("apply", "--server-side", "-f", str(ROOT / "crds"))
        bed.kubectl("create", "namespace", NAME)
        bed.kubectl("create", "namespace", "databases")
        kubeconfig = account(bed, NAME, folder / "kubeconfig", everywhere=True)
        ports = choose_ports(("proxy", "api", "metrics", "webhook"), ())
        process = _started(kubeconfig, ports, folder / "log")
        try:
            yield Operator(bed, ports["metrics"])
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)
        assert refusals(folder / "log") == []
    finally:
        testbed.down(name)


def _started(kubeconfig: Path, ports: dict[str, int], log: Path) -> "subprocess.Popen[bytes]":
    with log.open("wb") as output:
        return subprocess.Popen(
            [
                *(str(Path(sys.executable).parent / "ansible-operator"), "run"),
                *("--watches-file", str(ROOT / "watches.yaml"), "--ansible-verbosity", "0"),
                *("--proxy-port", str(ports["proxy"]), "--metrics-api-port", str(ports["api"])),
                *("--metrics-bind-address", f"127.0.0.1:{ports['metrics']}"),
                *("--metrics-secure", "--metrics-require-rbac", "--health-probe-bind-address", "0"),
                *("--leader-elect", "--leader-election-id", NAME),
                *("--leader-election-namespace", NAME),
                *("--webhook-bind-address", f"127.0.0.1:{ports['webhook']}"),
                *("--webhook-url-host", "127.0.0.1", "--webhook-namespace", NAME),
                *("--webhook-name", f"{NAME}-webhook"),
            ],
            env={
                **{key: os.environ[key] for key in ("PATH", "HOME")},
                "KUBECONFIG": str(kubeconfig),
                "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"),
                "ANSIBLE_GATHERING": "explicit",
            },
            stdout=output,
            stderr=output,
        )


def eventually(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < deadline, f"{what}: not within {SECONDS} s"
        time.sleep(0.3)


def full_cluster() -> dict[str, Any]:
    """A cluster of every kind of set; its compute nodes drain quickly."""
    cluster: dict[str, Any] = yaml.safe_load((ROOT / "examples/tiny-cluster.yaml").read_text())
    scaling = {"storeDrainEnabled": True, "storeDrainTimeout": "2s", "minDelaySeconds": 0}
    cluster["spec"]["cnGroups"][0] |= {"replicas": 2, "scalingConfig": scaling}
    cluster["spec"]["webui"] = {"replicas": 1, "image": "matrixorigin/webui:1.0.0"}
    return cluster


def play_a_life(operator: Operator) -> None:
    """Create, scale, change, pause, fail, take parts away and delete."""
    kubectl, cluster = operator.kubectl, full_cluster()
    group = cluster["spec"]["cnGroups"][0]
    operator.apply(cluster)
    operator.wait("Ready")
    operator.wait("Synced")

    group["replicas"] = 1
    for part in (cluster["spec"]["tn"], group):
        part["config"] = '[log]\nlevel = "debug"\n'
    operator.apply(cluster)
    operator.wait("Synced")
    kubectl("annotate", "mo", "mo", "matrixorigin.io/paused=true")
    operator.wait("Paused")
    kubectl("annotate", "mo", "mo", "matrixorigin.io/paused-")
    eventually(lambda: "False" in kubectl("get", "mo/mo", "-o", _condition("Paused")), "unpaused")

    _fail_once(operator, cluster)
    _run_the_early_kind(operator)
    del cluster["spec"]["webui"]
    del cluster["spec"]["proxy"]
    operator.apply(cluster)
    kinds = "proxyset,webui"
    eventually(lambda: not kubectl("get", kinds, "-o", "name"), "proxy and web UI are gone")
    operator.wait("Synced")
    kubectl("delete", "mo", "mo", f"--timeout={SECONDS}s")


def _run_the_early_kind(operator: Operator) -> None:
    resource = yaml.safe_load((ROOT / "examples/early/tiny-cluster.yaml").read_text())
    resource["metadata"]["name"] = "early"
    subject = "matrixoneclusters.matrixone.matrixorigin.cn/early"
    operator.apply(resource)
    operator.kubectl("wait", "--for=condition=Ready", subject, f"--timeout={SECONDS}s")
    operator.kubectl("delete", subject, f"--timeout={SECONDS}s")


def _condition(name: str) -> str:
    return f'jsonpath={{.status.conditions[?(@.type=="{name}")].status}}'


def _fail_once(operator: Operator, cluster: dict[str, Any]) -> None:
    """Let the API server refuse what the proxy needs, so that runs fail, and mend it."""
    kubectl = operator.kubectl
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none"}}
    operator.apply({**quota, "spec": {"hard": {"count/configmaps": 1}}})
    cluster["spec"]["proxy"]["config"] = '[log]\nlevel = "warn"\n'
    operator.apply(cluster)
    counted = ("get", "events", "--field-selector=reason=ReconcileFailed", "-o")
    eventually(lambda: "2" in kubectl(*counted, "jsonpath={.items[*].count}"), "failures counted")
    kubectl("delete", "resourcequota", "none")
    operator.wait("Synced")


@pytest.fixture(scope="module")
def used(operator: Operator) -> set[Grant]:
    """Group, resource and verb of everything that the operator asked for in a cluster's life."""
    play_a_life(operator)
    token = operator.bed.kubectl("-n", NAME, "create", "token", NAME).strip()
    assert operator.scrape("nobody") == 401
    assert operator.scrape(token) == 403
    found = set()
    for entry in operator.audited():
        asked = entry["objectRef"]
        resource = "/".join(filter(None, (asked["resource"], asked.get("subresource"))))
        found.add((asked.get("apiGroup", ""), resource, entry["verb"]))
        if entry["verb"] == "patch" and entry.get("responseStatus", {}).get("code") == 201:
            found.add((asked.get("apiGroup", ""), resource, "create"))
    return found


@pytest.mark.api
def test_nothing_is_refused(operator: Operator, used: set[Grant]) -> None:
    """In no request of the operator a right was missing."""
    refused = [
        (entry["verb"], entry["requestURI"])
        for entry in operator.audited()
        if entry.get("responseStatus", {}).get("code") == 403
        and "exceeded quota" not in entry["responseStatus"].get("message", "")
    ]

    assert refused == []
    assert ("core.matrixorigin.io", "matrixoneclusters", "watch") in used


@pytest.mark.api
def test_no_right_is_unused(used: set[Grant]) -> None:
    """Every right is made use of; for the others, the file says where they are."""
    rights = read()
    elsewhere = {grant for right in rights for grant in right.grants() if grant[2] in right.unseen}
    granted = {grant for right in rights for grant in right.grants()}

    assert granted - elsewhere - used == set()
    assert used - granted == set()


def test_roles_follow_from_the_file() -> None:
    """What is committed is what the generator makes."""
    assert main(["--check"]) == 0


def test_rights_name_what_they_need() -> None:
    """Nothing is granted wholesale; Secrets are never listed, so a leak shows one at a time."""
    for right in read():
        assert right.why
        assert set(right.unseen) <= set(right.verbs)
        if "secrets" in right.resources:
            assert set(right.verbs) <= {"get", "create", "update", "patch"}
        if right.scope is Scope.CLUSTER:
            assert set(right.verbs) <= {"get", "create", "patch"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"verbs": ["*"]}, "say what is needed"),
        ({"scope": "nowhere"}, "scope is none of"),
        ({"unsaid": 1}, "unsaid means nothing"),
        ({"verbs": None}, "verbs is missing"),
    ],
)
def test_unusable_entries_are_named(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    """The message says which entry, and what is wrong with it."""
    entry = {"why": "w", "scope": "own", "groups": [""], "resources": ["pods"], "verbs": ["get"]}
    changed = {key: value for key, value in {**entry, **change}.items() if value is not None}
    file = tmp_path / "rights.yaml"
    file.write_text(yaml.safe_dump([changed]))

    with pytest.raises(RightsError, match=message) as raised:
        read(file)
    assert "entry 1 (w)" in str(raised.value)
