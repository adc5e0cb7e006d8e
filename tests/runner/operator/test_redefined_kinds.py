# SPDX-License-Identifier: Apache-2.0
"""CRDs come, go and come back as something else while an operator runs that watches their kinds."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from testbed.api import ApiError
from tests.runner.operator.conftest import Cluster, Start, define, definition
from tests.support.api import Json, holds
from tests.support.operators import Operator
from tests.support.waiting import eventually, unchanged

pytestmark = pytest.mark.api

GROUP = "redefined.example.com"
WATCHES = f"""
- {{group: {GROUP}, version: v1alpha1, kind: Shape, role: probe}}
- group: {GROUP}
  version: v1alpha1
  kind: Watcher
  role: probe
  references: [{{group: {GROUP}, version: v1alpha1, kind: Shape, name: spec.watched}}]
- group: {GROUP}
  version: v1alpha1
  kind: Poller
  role: probe
  references: [{{group: {GROUP}, version: v1alpha1, kind: Shape, name: spec.polled, poll: 1s}}]
"""
# An operator of all namespaces plays no kind of other tests, which share the API server.
FOLLOWERS = {f"watchers.{GROUP}": "Watcher", f"pollers.{GROUP}": "Poller"}


class Shapes:
    """Objects of the kind Shape, whatever its CRD says of it now."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._api = cluster.api
        self.plural = "shapes"
        self.namespaced = True

    def define(self, plural: str, *, namespaced: bool) -> None:
        """Delete the CRD, with all objects, and create it again."""
        self.delete()
        self.plural, self.namespaced = plural, namespaced
        crd = definition(f"{plural}.{GROUP}", "Shape")
        crd["spec"]["scope"] = "Namespaced" if namespaced else "Cluster"
        old = {**crd["spec"]["versions"][0], "name": "v1alpha0", "storage": False}
        crd["spec"]["versions"].append(old)
        self._api.apply(crd, force=True)
        eventually(lambda: holds(self._api.get("crd", "", crd["metadata"]["name"]), "Established"))

    def delete(self) -> None:
        """Delete the CRD, and wait until it is gone with all its objects."""
        name = f"{self.plural}.{GROUP}"
        if self._api.get("crd", "", name):
            self._api.request("DELETE", self._api.path("crd", "", name))
        eventually(lambda: not self._api.get("crd", "", name), what="the CRD is gone")

    def serve(self, *, served: bool) -> None:
        """Have the version that is watched served, or not."""
        name = f"{self.plural}.{GROUP}"
        versions = self._api.get("crd", "", name)["spec"]["versions"]
        versions[0]["served"] = served
        self._api.merge("crd", "", name, {"spec": {"versions": versions}})

    def apply(self, text: str, version: str = "v1alpha1") -> None:
        """Create or change the object, as soon as its kind is served."""
        shape = {
            "apiVersion": f"{GROUP}/{version}",
            "kind": "Shape",
            "metadata": {"name": "shape"},
            "spec": {"behave": "succeed", "text": text},
        }
        path = f"{self._path(version)}?fieldManager=test&force=true"
        patch = "application/apply-patch+yaml"
        eventually(
            lambda: self._answer("PATCH", path, shape, patch), what=f"Shape of {version} is served"
        )

    def is_played(self) -> bool:
        found = self._answer("GET", self._path("v1alpha1"))
        return bool(found) and holds(found, "Successful")

    def _answer(self, *request: Any) -> Json:
        try:
            return self._api.request(*request)
        except ApiError as error:
            if error.status != 404:
                raise
            return {}

    def _path(self, version: str) -> str:
        space = f"/namespaces/{self._cluster.name}" if self.namespaced else ""
        return f"/apis/{GROUP}/{version}{space}/{self.plural}/shape"


@pytest.fixture
def shapes(cluster: Cluster) -> Iterator[Shapes]:
    define(cluster.bed, FOLLOWERS)
    made = Shapes(cluster)
    yield made
    made.delete()


def begin(start: Start, cluster: Cluster, folder: Path, *, everywhere: bool) -> Operator:
    watches = folder / "watches.yaml"
    watches.write_text(WATCHES)
    return start("" if everywhere else cluster.name, f"--watches-file={watches}")


def check_played(shapes: Shapes, operator: Operator, text: str) -> None:
    """Apply the object, and change it: the operator follows."""
    for change in (text, f"{text} changed"):
        runs = operator.runs_of("shape")
        shapes.apply(change)
        eventually(
            lambda before=runs: operator.runs_of("shape") > before and shapes.is_played(),
            30,
            f"the Shape is played with {change}",
        )


def check_followed(shapes: Shapes, operator: Operator, text: str) -> None:
    """Objects that name the Shape run when it changes."""
    for name in ("watching", "polling"):
        eventually(lambda one=name: operator.runs_of(one), 30, f"{name} was played")
        unchanged(lambda one=name: operator.runs_of(one), 3)
        runs = operator.runs_of(name)
        shapes.apply(f"{text} for {name}")
        eventually(lambda one=name, before=runs: operator.runs_of(one) > before, 30, name)


@pytest.mark.parametrize("everywhere", [True, False], ids=["all-namespaces", "one-namespace"])
def test_a_kind_is_followed_under_each_definition(
    cluster: Cluster, start: Start, shapes: Shapes, tmp_path: Path, everywhere: bool
) -> None:
    operator = begin(start, cluster, tmp_path, everywhere=everywhere)
    eventually(lambda: operator.lines("Kind is not served: is its CRD installed?"))
    for kind, name, field in (("Watcher", "watching", "watched"), ("Poller", "polling", "polled")):
        cluster.apply(
            {
                "apiVersion": f"{GROUP}/v1alpha1",
                "kind": kind,
                "metadata": {"name": name},
                "spec": {"behave": "succeed", "text": "a", field: "shape"},
            }
        )
    for plural, namespaced in (
        ("shapes", True),
        ("shapes", False),
        ("figures", True),
    ):
        shapes.define(plural, namespaced=namespaced)
        check_played(shapes, operator, f"{plural} {namespaced}")
        check_followed(shapes, operator, f"{plural} {namespaced}")
    assert operator.process.poll() is None
    assert not operator.lines("Reconciler error", name="shape")


def test_a_version_that_is_not_served_for_a_while_is_followed_again(
    cluster: Cluster, start: Start, shapes: Shapes, tmp_path: Path
) -> None:
    shapes.define("shapes", namespaced=True)
    operator = begin(start, cluster, tmp_path, everywhere=True)
    check_played(shapes, operator, "served")
    shapes.serve(served=False)
    runs = operator.runs_of("shape")
    shapes.apply("not served", version="v1alpha0")
    unchanged(lambda: operator.runs_of("shape"), 3)
    shapes.serve(served=True)
    eventually(lambda: operator.runs_of("shape") > runs, 30, "the change meanwhile is played")
    check_played(shapes, operator, "served again")
