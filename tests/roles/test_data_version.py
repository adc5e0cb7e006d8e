# SPDX-License-Identifier: Apache-2.0
"""Lowering the version across a minor release is refused once a transaction node has started."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.namespaces import Namespace
from tests.support.waiting import eventually

from .conftest import tiny_cluster

pytestmark = pytest.mark.api

Json = dict[str, Any]
MATRIXONE = "matrixorigin/matrixone"
DATA = "matrixorigin.io/data-version"
COMPONENTS = ("LogSet", "DNSet", "CNSet", "ProxySet")
REFUSED = "MatrixOne 3.0.18 cannot read the data that 3.1.0 has written"


@pytest.fixture(scope="module")
def cluster(space: Namespace, operator: Path) -> Iterator[Json]:
    """A cluster of 3.0.18 that serves; deleted at the end."""
    resource = tiny_cluster(space.name)
    space.apply(resource)
    space.wait("Ready")
    space.wait("Synced")
    yield resource
    space.kubectl("delete", "mo", "--all", "--ignore-not-found", "--timeout=120s")


def changed_to(space: Namespace, cluster: Json, version: str, **tn: Any) -> None:
    """Apply the cluster with another version, and other fields of its transaction node.

    On fake nodes there is neither a backup nor a catalog.
    """
    resource = copy.deepcopy(cluster)
    waived = ["Backup", "Catalog", "Rehearsal", "Canary"]
    waiver = {"to": tn.get("semanticVersion", version), "checks": waived}
    resource["spec"] |= {"version": version, "upgrade": {"waive": waiver}}
    resource["spec"]["tn"] |= tn
    space.apply(resource)


def tags(space: Namespace, *components: str) -> set[str]:
    """Return the tags of the images that some components run, or all."""
    return {
        one["spec"]["containers"][0]["image"].rpartition(":")[2]
        for component in components or COMPONENTS
        for one in space.listed("pods", f"matrixorigin.io/component={component}")
    }


def recorded(space: Namespace) -> tuple[str, str]:
    """Return the version that has written the data, by the set and by its cluster."""
    dn_set, whole = space.get("dnset", "mo")["status"], space.get("mo", "mo")["status"]
    return dn_set.get("dataVersion", ""), whole.get("tn", {}).get("dataVersion", "")


def refused(space: Namespace, kind: str) -> Json:
    """Return the condition Synced of a resource once its present spec is refused."""
    found = space.get(kind, "mo")
    synced = space.condition(kind, "mo", "Synced")
    present = synced.get("observedGeneration") == found["metadata"]["generation"]
    return synced if present and synced.get("reason") == "InvalidSpec" else {}


def require_serving_an_earlier_spec(space: Namespace, kind: str) -> None:
    found, ready = space.get(kind, "mo"), space.condition(kind, "mo", "Ready")
    assert (ready["status"], ready["reason"]) == ("True", "InvalidSpec")
    assert ready["observedGeneration"] < found["metadata"]["generation"]


def test_a_raise_that_has_started_nothing_may_be_taken_back(space, cluster):
    """An image that cannot be pulled has written nothing, whichever version it would be."""
    eventually(lambda: recorded(space) == ("3.0.18", "3.0.18"))
    broken = {"image": f"{MATRIXONE}:broken", "semanticVersion": "9.9.9"}
    changed_to(space, cluster, "3.0.18", **broken)
    stuck = eventually(lambda: _true(space.condition("dnset", "mo", "Degraded")))
    assert "before mo-dn-0 is replaced: ImagePullBackOff" in stuck["message"]
    assert space.get("dnset", "mo")["status"]["version"] == "3.0.18"

    changed_to(space, cluster, "3.0.18")
    space.wait("Synced")
    space.wait("Ready")
    assert tags(space) == {"3.0.18"}
    assert recorded(space) == ("3.0.18", "3.0.18")


def _true(condition: Json) -> Json:
    return condition if condition.get("status") == "True" else {}


def test_within_a_minor_release_the_version_goes_up_and_down(space, cluster):
    for tag in ("3.0.22", "3.0.18"):
        changed_to(space, cluster, "3.0.18", image=f"{MATRIXONE}:{tag}")
        space.wait("Synced")
        assert tags(space, "DNSet") == {tag}
    eventually(lambda: recorded(space) == ("3.0.22", "3.0.22"))


def test_lowering_across_a_minor_release_is_refused_until_it_is_reverted(space, cluster):
    """Nothing is touched: the database serves with the spec before, and its status says so."""
    changed_to(space, cluster, "3.1.0")
    space.wait("Synced")
    eventually(lambda: recorded(space) == ("3.1.0", "3.1.0"))
    pods = space.names("pods")

    changed_to(space, cluster, "3.0.18")

    synced = eventually(lambda: refused(space, "mo"))
    assert synced["message"].startswith(f"spec.version: {REFUSED}")
    require_serving_an_earlier_spec(space, "mo")
    assert (space.names("pods"), tags(space)) == (pods, {"3.1.0"})
    assert space.get("dnset", "mo")["spec"]["image"].endswith(":3.1.0")

    changed_to(space, cluster, "3.1.0")
    space.wait("Synced")
    space.wait("Ready")
    assert (space.names("pods"), tags(space)) == (pods, {"3.1.0"})


def test_a_set_refuses_it_by_itself(space, cluster):
    """As when its cluster is paused, or there is none."""
    space.kubectl("annotate", "mo", "mo", "matrixorigin.io/paused=true")
    image = space.get("dnset", "mo")["spec"]["image"]
    before = space.get("pod", "mo-dn-0")["metadata"]["uid"]

    _set_image(space, image.replace("3.1.0", "3.0.18"))

    synced = eventually(lambda: refused(space, "dnset"))
    assert synced["message"].startswith(f"spec.image: {REFUSED}")
    require_serving_an_earlier_spec(space, "dnset")
    assert space.get("pod", "mo-dn-0")["metadata"]["uid"] == before

    space.kubectl("annotate", "mo", "mo", "matrixorigin.io/paused-")
    space.wait("Synced")
    space.wait("Ready")
    assert space.get("dnset", "mo")["spec"]["image"] == image
    assert space.get("pod", "mo-dn-0")["metadata"]["uid"] == before


def _set_image(space: Namespace, image: str) -> None:
    patch = f'{{"spec":{{"image":"{image}"}}}}'
    space.kubectl("patch", "dnset", "mo", "--type=merge", "-p", patch)


def test_who_knows_better_says_so_by_an_annotation(space, cluster):
    """The record follows it, so that it can be removed again."""
    changed_to(space, cluster, "3.1.0", image=f"{MATRIXONE}:3.0.18")
    synced = eventually(lambda: refused(space, "mo"))
    assert synced["message"].startswith(f"spec.tn.image: {REFUSED}")

    space.kubectl("annotate", "mo", "mo", f"{DATA}=3.0.18")

    space.wait("Synced")
    assert tags(space, "DNSet") == {"3.0.18"}
    eventually(lambda: recorded(space) == ("3.0.18", "3.0.18"))
    space.kubectl("annotate", "mo", "mo", f"{DATA}-")
    eventually(lambda: DATA not in (space.get("dnset", "mo")["metadata"].get("annotations") or {}))
    space.wait("Synced")
    assert recorded(space) == ("3.0.18", "3.0.18")
