# SPDX-License-Identifier: Apache-2.0
"""Every kind that a role plays is in the registry, with a name for all that is derived from it."""

from pathlib import Path

import yaml
from ansible_collections.matrixorigin.matrixone.plugins.module_utils import kinds
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api import names
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.plain import plain
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.cluster.planning import (
    ClusterPlan,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.workload.plans import (
    Plan,
    Prune,
)

WATCHES = Path(__file__).resolve().parents[2] / "watches.yaml"


def test_the_registry_has_the_kinds_that_are_watched() -> None:
    watched = {watch["kind"] for watch in yaml.safe_load(WATCHES.read_text())}

    assert watched == set(kinds.KINDS)


def test_each_set_has_names_for_its_workload_and_pods() -> None:
    for kind in kinds.SETS:
        assert names.base_name(kind, "mo").startswith("mo-")
        assert names.WORKLOADS[kind] in {"StatefulSet", "Deployment"}
        assert names.NOUNS[kind]


def test_a_plan_survives_variables_of_ansible() -> None:
    """Roles hand a plan from filter to filter; nothing of it may be lost or misspelled."""
    prune = Prune(kinds=[{"api_version": "v1", "kind": "Service"}], namespace="prod")
    plan = ClusterPlan(
        waiting_for="waiting for LogSet mo", create_only=["Secret/mo"], prune=prune, rotation=True
    )
    variables = plain(plan.variables())

    assert variables["waitingFor"] == "waiting for LogSet mo"
    assert variables["createOnly"] == ["Secret/mo"]
    assert plain(ClusterPlan.read(variables).variables()) == variables
    assert Plan.read({}) == Plan()
