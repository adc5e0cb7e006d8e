# SPDX-License-Identifier: Apache-2.0
"""The operator may do what it does and nothing else: its rights beside the audit log."""

import http.client
import json
import os
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import testbed
from deploy.generate.__main__ import ROOT, main
from deploy.generate.rights import RightsError, Scope, read
from deploy.generate.roles import NAME, for_users
from testbed.bed import TestBed
from testbed.ports import choose_ports
from tests.support.namespaces import Namespace, install
from tests.support.operator_rights import account, refusals
from tests.support.operators import running_operator
from tests.support.waiting import eventually

SECONDS = 120
USER = f"system:serviceaccount:{NAME}:{NAME}"
Grant = tuple[str, str, str]


class Operator(Namespace):
    """An operator that watches all namespaces, and a namespace for a cluster."""

    def __init__(self, bed: TestBed, metrics_port: int) -> None:
        super().__init__(bed, "databases")
        self.metrics_port = metrics_port

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
        install(bed)
        bed.kubectl("create", "namespace", NAME)
        bed.kubectl("create", "namespace", "databases")
        kubeconfig = account(bed, NAME, folder / "kubeconfig", everywhere=True)
        ports = choose_ports(("metrics", "webhook"), ())
        with running_operator(kubeconfig, folder, *_flags(ports)) as log:
            yield Operator(bed, ports["metrics"])
        assert refusals(log) == []
    finally:
        testbed.down(name)


def _flags(ports: dict[str, int]) -> tuple[str, ...]:
    return (
        "--ansible-verbosity=0",
        *(f"--metrics-bind-address=127.0.0.1:{ports['metrics']}", "--metrics-secure"),
        *("--metrics-require-rbac", "--leader-elect", f"--leader-election-id={NAME}"),
        f"--leader-election-namespace={NAME}",
        *(f"--webhook-bind-address=127.0.0.1:{ports['webhook']}", "--webhook-url-host=127.0.0.1"),
        *(f"--webhook-namespace={NAME}", f"--webhook-name={NAME}-webhook"),
    )


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
    eventually(lambda: operator.condition("mo", "mo", "Paused")["status"] == "False")

    _fail_once(operator, cluster)
    _run_the_early_kind(operator)
    del cluster["spec"]["webui"]
    del cluster["spec"]["proxy"]
    operator.apply(cluster)
    eventually(lambda: not operator.names("proxyset,webui"), what="no proxy and web UI")
    operator.wait("Synced")
    kubectl("delete", "mo", "mo", f"--timeout={SECONDS}s")


def _run_the_early_kind(operator: Operator) -> None:
    resource = yaml.safe_load((ROOT / "examples/early/tiny-cluster.yaml").read_text())
    resource["metadata"]["name"] = "early"
    subject = "matrixoneclusters.matrixone.matrixorigin.cn/early"
    operator.apply(resource)
    operator.wait("Ready", *subject.split("/"))
    operator.kubectl("delete", subject, f"--timeout={SECONDS}s")


def _fail_once(operator: Operator, cluster: dict[str, Any]) -> None:
    """Let the API server refuse what the proxy needs, so that runs fail, and mend it."""
    kubectl = operator.kubectl
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none"}}
    operator.apply({**quota, "spec": {"hard": {"count/configmaps": 1}}})
    cluster["spec"]["proxy"]["config"] = '[log]\nlevel = "warn"\n'
    operator.apply(cluster)
    eventually(lambda: max(_failures(operator), default=0) >= 2, SECONDS, "two failures")
    kubectl("delete", "resourcequota", "none")
    operator.wait("Synced")


def _failures(operator: Operator) -> list[int]:
    events = operator.listed("events")
    return [one.get("count", 0) for one in events if one["reason"] == "ReconcileFailed"]


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
        if right.scope is Scope.CLUSTER and right.part != "backups":
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


@pytest.mark.parametrize(
    ("role", "verbs"), [("matrixone-view", {"get"}), ("matrixone-edit", {"patch", "update"})]
)
def test_who_edits_a_set_may_scale_it(role: str, verbs: set[str]) -> None:
    """For every kind with the subresource: the API server asks for a permission of its own."""
    (found,) = [one for one in for_users(read()) if one["metadata"]["name"] == role]
    granted = {
        resource: set(rule["verbs"]) for rule in found["rules"] for resource in rule["resources"]
    }
    scaled = {
        f"{crd['spec']['names']['plural']}/scale"
        for path in (ROOT / "crds").glob("*.yaml")
        for crd in [yaml.safe_load(path.read_text())]
        if "scale" in crd["spec"]["versions"][0]["subresources"]
    }
    assert {name for name in granted if name.endswith("/scale")} == scaled
    assert all(granted[name] == verbs for name in scaled)
