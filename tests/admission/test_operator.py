# SPDX-License-Identifier: Apache-2.0
"""The operator of MatrixOne: what it refuses at the door, and what in its roles without one."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from testbed.api import ApiClient, ApiError
from testbed.bed import TestBed
from tests.admission.cases import REFUSED, UPDATES, WARNINGS, Json
from tests.crds.conftest import Server
from tests.crds.manifests import API_VERSION, PLURALS, changed, minimal
from tests.support.api import Api
from tests.support.operators import running_operator
from tests.support.ports import free_port
from tests.support.waiting import eventually, unchanged

pytestmark = pytest.mark.api

PAUSED = {"matrixorigin.io/paused": "true"}


@dataclass
class Operator:
    """A running operator of one namespace."""

    bed: TestBed
    server: Server
    log: Path

    def wait_for(self, look: Callable[[], Any]) -> Any:
        return eventually(look, otherwise=lambda: self.log.read_text()[-2000:])

    def update(self, kind: str, name: str, changes: Json) -> str:
        """What the server says to a change; empty when somebody else was faster."""
        try:
            self.server.update(changed(self._get(kind, name), changes))
        except ApiError as error:
            return "" if error.status == 409 else str(error)
        return "updated"

    def _get(self, kind: str, name: str) -> Json:
        path = f"/apis/{API_VERSION}/namespaces/{self.server.namespace}/{PLURALS[kind]}/{name}"
        return self.server.client.request("GET", path)

    def synced(self, kind: str, name: str) -> Json:
        """The condition Synced of an object; empty while there is none."""
        conditions = self._get(kind, name).get("status", {}).get("conditions", [])
        return next((one for one in conditions if one["type"] == "Synced"), {})


def operate(
    bed: TestBed, folder: Path, *flags: str, stored: Sequence[Json] = ()
) -> Iterator[Operator]:
    with bed.namespace("admission") as namespace:
        server = Server(ApiClient(bed.kubeconfig), namespace)
        for resource in stored:
            server.create(resource)
        flags = (
            *(*flags, "--ansible-verbosity=0", "--zap-log-level=debug"),
            *(f"--webhook-namespace={namespace}", f"--webhook-name={namespace}"),
        )
        try:
            with running_operator(bed.kubeconfig, folder, *flags, WATCH_NAMESPACE=namespace) as log:
                yield Operator(bed, server, log)
        finally:
            for phase in ("mutating", "validating"):
                kind = f"{phase}webhookconfigurations"
                bed.kubectl("delete", kind, namespace, "--ignore-not-found")
            _release(bed, namespace)


def _release(bed: TestBed, namespace: str) -> None:
    """Remove the finalizers, for which there is no operator any longer."""
    api = Api(bed.kubeconfig)
    for kind in (f"{plural}.core.matrixorigin.io" for plural in PLURALS.values()):
        for one in api.listed(kind, namespace):
            api.merge(kind, namespace, one["metadata"]["name"], {"metadata": {"finalizers": None}})


@pytest.fixture(scope="module")
def guarded(
    installed_testbed: TestBed, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Operator]:
    """An operator with its webhook on."""
    flags = (f"--webhook-bind-address=127.0.0.1:{free_port()}", "--webhook-url-host=127.0.0.1")
    stored = [
        changed(minimal(kind, f"u{index}"), {"metadata.annotations": PAUSED, **before})
        for index, (kind, before, _, _) in enumerate(UPDATES)
    ]
    folder = tmp_path_factory.mktemp("guarded")
    for operator in operate(installed_testbed, folder, *flags, stored=stored):
        operator.wait_for(lambda op=operator: "Registered webhooks" in op.log.read_text())
        time.sleep(1)  # the API server learns of configurations by a watch
        yield operator


@pytest.fixture(scope="module")
def alone(
    installed_testbed: TestBed, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Operator]:
    """An operator without one."""
    yield from operate(installed_testbed, tmp_path_factory.mktemp("alone"))


@pytest.mark.parametrize(("kind", "changes", "message"), REFUSED)
def test_refused_at_the_door(guarded: Operator, kind: str, changes: Json, message: str) -> None:
    said = guarded.server.refusal(changed(minimal(kind), changes))
    assert f"denied the request: {message}" in said


@pytest.mark.parametrize("kind", PLURALS)
def test_accepted_at_the_door(guarded: Operator, kind: str) -> None:
    assert guarded.server.refusal(minimal(kind)) == ""


@pytest.mark.parametrize(
    ("index", "kind", "after", "message"),
    [(index, kind, after, message) for index, (kind, _, after, message) in enumerate(UPDATES)],
)
def test_updates_at_the_door(
    guarded: Operator, index: int, kind: str, after: Json, message: str
) -> None:
    """What was stored while nobody watched stays; new mistakes do not get in."""
    said = guarded.wait_for(lambda: guarded.update(kind, f"u{index}", after))
    assert f"denied the request: {message}" in said if message else said == "updated"


@pytest.mark.parametrize(("kind", "changes", "part"), WARNINGS)
def test_warnings_at_the_door(guarded: Operator, kind: str, changes: Json, part: str) -> None:
    assert guarded.server.refusal(changed(minimal(kind), changes)) == ""
    assert any(part in warning for warning in guarded.server.client.warnings)


def test_a_version_that_cannot_read_the_data_is_refused_at_the_door(guarded: Operator) -> None:
    """By what is on record in the status, which nobody sends with a change."""
    changes = {"metadata.annotations": PAUSED, "spec.version": "4.2.0"}
    guarded.server.create(changed(minimal("MatrixOneCluster", "data"), changes))
    guarded.wait_for(lambda: guarded.synced("MatrixOneCluster", "data"))
    status = '{"status": {"tn": {"dataVersion": "4.2.0"}}}'
    place = ("matrixonecluster", "data", "-n", guarded.server.namespace)
    guarded.bed.kubectl("patch", *place, "--subresource=status", "--type=merge", "-p", status)

    def lowered(version: str) -> str:
        change = {"spec.version": version, "status": None}
        return guarded.wait_for(lambda: guarded.update("MatrixOneCluster", "data", change))

    refused = "spec.version: MatrixOne 3.0.18 cannot read the data that 4.2.0 has written"
    assert f"denied the request: {refused}" in lowered("3.0.18")
    assert lowered("4.2.1") == "updated"


def test_a_deletion_says_which_data_it_deletes(guarded: Operator) -> None:
    index = next(index for index, case in enumerate(UPDATES) if case[0] == "LogSet")
    path = f"/apis/{API_VERSION}/namespaces/{guarded.server.namespace}/logsets/u{index}"

    guarded.server.client.request("DELETE", f"{path}?dryRun=All")

    warnings = guarded.server.client.warnings
    assert any("pvcRetentionPolicy is Delete: the volumes" in one for one in warnings)


@pytest.mark.parametrize(
    ("index", "kind", "changes", "message"),
    [(index, *case) for index, case in enumerate({one[0]: one for one in REFUSED}.values())],
)
def test_refused_by_the_roles(
    alone: Operator, index: int, kind: str, changes: Json, message: str
) -> None:
    """The same words in a condition, for one mistake of each kind.

    That the roles find all of them is in test_rules.py, without an API server.
    """
    name = f"r{index}"
    alone.server.create(changed(minimal(kind, name), changes))
    found = alone.wait_for(lambda: alone.synced(kind, name))
    found = alone.wait_for(
        lambda: (one := alone.synced(kind, name)).get("reason") == "InvalidSpec" and one
    )
    assert found["status"] == "False"
    assert found["message"].startswith(message)
    assert found["observedGeneration"] == 1


def test_refused_objects_are_not_tried_again_and_again(alone: Operator) -> None:
    name = "quiet"
    alone.server.create(changed(minimal("LogSet", name), {"spec.config": "[log"}))
    alone.wait_for(lambda: alone.synced("LogSet", name).get("reason") == "InvalidSpec")

    def runs() -> int:
        lines = alone.log.read_text().splitlines()
        return sum('"Reconciling"' in line and f"/{name}" in line for line in lines)

    assert unchanged(runs, seconds=5, within=10) > 0
    assert alone.synced("LogSet", name)["reason"] == "InvalidSpec"


def test_without_the_flag_nothing_is_loaded(alone: Operator) -> None:
    assert "Admission functions are not called without a webhook" in alone.log.read_text()
    assert "Registered webhooks" not in alone.log.read_text()
