# SPDX-License-Identifier: Apache-2.0
"""A namespace of a test bed and what is in it."""

from typing import Any

from testbed.bed import TestBed
from tests.support.api import Api, Json, conditions, holds
from tests.support.places import CRDS
from tests.support.waiting import eventually

KINDS = "statefulset,deployment,service,configmap,secret,pvc,poddisruptionbudget,networkpolicy"
CHILDREN = "logset,dnset,cnset,proxyset,webui"


class Namespace:
    """Reads and writes objects over HTTP; kubectl is for what a user would see of it."""

    def __init__(self, bed: TestBed, name: str) -> None:
        self.bed, self.name = bed, name
        self.api = Api(bed.kubeconfig)

    def kubectl(self, *arguments: str, **how: Any) -> str:
        return self.bed.kubectl("-n", self.name, *arguments, **how)

    def apply(self, resource: Json) -> None:
        """Apply an object, in this namespace unless it names another."""
        self.api.apply(resource, self.name, force=True)

    def patch(self, kind: str, name: str, change: Json) -> None:
        """Apply a JSON merge patch."""
        self.api.merge(kind, self.name, name, change)

    def annotate(self, kind: str, name: str, **annotations: str | None) -> None:
        """Set annotations, or remove those that are None."""
        self.patch(kind, name, {"metadata": {"annotations": annotations}})

    def get(self, kind: str, name: str) -> Json:
        """Return an object; empty if there is none."""
        return self.api.get(kind, self.name, name)

    def listed(self, kinds: str, labels: str = "") -> list[Json]:
        return self.api.listed(kinds, self.name, labels)

    def names(self, kinds: str, labels: str = "") -> set[str]:
        """Return the names as ``kubectl get -o name`` does, but for what Kubernetes puts there."""
        found = self.api.names(kinds, self.name, labels)
        return {name for name in found if not name.endswith("kube-root-ca.crt")}

    def conditions(self, kind: str, name: str) -> dict[str, Json]:
        return conditions(self.get(kind, name))

    def condition(self, kind: str, name: str, wanted: str) -> Json:
        """Return a condition; empty if there is none of that type."""
        return self.conditions(kind, name).get(wanted, {})

    def wait(
        self, condition: str, kind: str = "mo", name: str = "mo", seconds: float = 120.0
    ) -> Json:
        """Wait as ``kubectl wait --for=condition=…`` does, and return the object."""

        def look() -> Json:
            found = self.get(kind, name)
            return found if found and holds(found, condition) else {}

        what = f"{condition} of {kind} {name}"
        return eventually(look, seconds, what, otherwise=lambda: self._state(kind, name))

    def _state(self, kind: str, name: str) -> str:
        found = self.conditions(kind, name).values()
        return "; ".join(
            f"{one['type']}={one['status']} {one.get('reason')}: {one.get('message')}"
            for one in found
        )

    def versions(self) -> dict[str, str]:
        return {
            f"{one['kind']}/{one['metadata']['name']}": one["metadata"]["resourceVersion"]
            for one in self.listed(f"mo,{CHILDREN},{KINDS}")
        }

    def events(self) -> list[Json]:
        """Return the Events, oldest first."""
        return sorted(self.listed("events.events.k8s.io"), key=lambda one: str(one["eventTime"]))


def install(bed: TestBed) -> None:
    """Install the CRDs as `make install` does and wait until they are served."""
    bed.kubectl("apply", "--server-side", "--force-conflicts", "-f", str(CRDS))
    api = Api(bed.kubeconfig)
    ours = [path.stem.partition("_") for path in CRDS.glob("*.yaml")]
    for group, _, plural in ours:
        eventually(lambda crd=f"{plural}.{group}": holds(api.get("crd", "", crd), "Established"))
