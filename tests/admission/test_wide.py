# SPDX-License-Identifier: Apache-2.0
"""Whatever spec is let through, Kubernetes takes every object of it, and a second apply is none.

WIDE_EXAMPLES tells how many specs of a cluster are tried; hundreds find what a few do not.
"""

import copy
import json
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.admission.pod_security import (
    Level,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.errors import InvalidSpec
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.kubernetes import (
    connection,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.kubernetes.applying import (
    Writer,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.kubernetes.errors import (
    ApiError,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.kubernetes.outcomes import (
    Change,
    identity,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.kubernetes.session import (
    open_session,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.kinds import (
    kind_of,
    render_everything,
)
from hypothesis import HealthCheck, Phase, given, settings

from testbed.bed import TestBed
from tests.admission.specs import Json, spec_of
from tests.crds.manifests import minimal
from tests.support.places import ROOT

pytestmark = pytest.mark.api
EXAMPLES = int(os.environ.get("WIDE_EXAMPLES", "60"))
SCRIPTS = {
    kind: (ROOT / "roles" / kind / "files" / "start.sh").read_text()
    for kind in ("logset", "dnset", "cnset", "proxyset")
}
PATIENT = settings(
    max_examples=EXAMPLES,
    derandomize=True,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture
def writer(fake_testbed: TestBed) -> Writer:
    """Try things on the API server, and keep none of them."""
    fake_testbed.kubectl("apply", "--server-side", "--force-conflicts", "-f", str(ROOT / "crds"))
    options = connection.resolve_options({"kubeconfig": str(fake_testbed.kubeconfig)}, {})
    return Writer(open_session(options), dry_run=True)


def admitted(writer: Writer, resource: Json) -> Json | None:
    """Return a resource with its defaults, as it would be stored; None if it is refused."""
    try:
        stored = copy.deepcopy(dict(writer.create_once(resource).after or {}))
    except ApiError:
        return None
    return None if kind_of(stored).judge.refuses(stored, Level.PRIVILEGED) else stored


def tried(writer: Writer, resource: Json) -> bool:
    """Try all that an admitted resource leads to; tell whether it is admitted.

    Raises:
        AssertionError: the API server refuses an object, or would change it again.
    """
    stored = admitted(writer, resource)
    if stored is None:
        return False
    stored["metadata"] = {key: stored["metadata"][key] for key in ("name", "namespace")}
    try:
        for manifest in render_everything(stored, start_scripts=SCRIPTS):
            after = writer.apply(manifest).after
            assert after is not None
            again = replace(writer, listed={identity(manifest): after}).apply(manifest)
            assert again.change is Change.UNCHANGED, json.dumps(manifest)
    except (ApiError, InvalidSpec, AssertionError) as error:
        raise AssertionError(f"{error}\nof {json.dumps(resource, indent=1)}") from error
    return True


def placed(namespace: str, spec: Json) -> Json:
    """Return a cluster that begins as the least one and has the parts of a spec besides."""
    resource = minimal("MatrixOneCluster")
    resource["metadata"]["namespace"] = namespace
    resource["spec"] = laid_over(resource["spec"], spec)
    return resource


def laid_over(base: Any, change: Any) -> Any:
    if isinstance(base, dict) and isinstance(change, dict):
        return {**base, **{key: laid_over(base.get(key), value) for key, value in change.items()}}
    return change


def one_part(spec: Json) -> list[Json]:
    """Return specs with one part of a spec each: what is refused must not hide the rest."""
    kept = ("logService", "tn", "proxy", "webui", "cnGroups", "connectionSecret")
    common = {key: value for key, value in spec.items() if key not in {*kept, "dn", "tp", "ap"}}
    return [common, *({key: spec[key]} for key in kept if key in spec)]


def test_what_admission_lets_through_is_what_kubernetes_takes(
    writer: Writer, fake_namespace: str
) -> None:
    counted: Counter[bool] = Counter()
    failures: list[str] = []

    @PATIENT
    @given(spec_of("MatrixOneCluster"))
    def every(spec: Json) -> None:
        for part in (spec, *one_part(spec)):
            counted[judged(lambda part=part: tried(writer, placed(fake_namespace, part)))] += 1

    def judged(attempt: Callable[[], bool]) -> bool:
        try:
            return attempt()
        except AssertionError as failure:
            failures.append(str(failure))
            return True

    every()
    assert not failures, f"{len(failures)} of {counted}:\n" + "\n\n".join(failures[:5])
    assert counted[True] >= EXAMPLES, counted
