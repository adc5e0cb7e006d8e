# SPDX-License-Identifier: Apache-2.0
"""docs/early-cluster.md says what is so."""

import re

from ansible_collections.matrixorigin.matrixone.plugins.module_utils.early import rendering as early
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.early.events import (
    EarlyEvent,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.reporting.reasons import (
    EarlyReason,
)

from tests.early.resources import ANNOTATION
from tests.support.places import ROOT

PAGE = (ROOT / "docs" / "early-cluster.md").read_text()
SCHEMA = (ROOT / "crds" / "schema" / "matrixonecluster_early.yaml").read_text()


def test_every_row_has_a_test_that_names_it() -> None:
    rows = re.findall(r"^\| T(\d+) \| .* \| `(\w+)` \|$", PAGE, flags=re.MULTILINE)
    written = "".join(path.read_text() for path in (ROOT / "tests/early").glob("test_*.py"))

    assert [int(number) for number, _ in rows] == list(range(1, 45))
    for number, test in rows:
        assert f"def {test}(" in written
        assert f"t{int(number):02}_" in f"{test}_", f"T{number} is not in the name of {test}"


def test_every_reason_is_documented() -> None:
    for event in EarlyEvent:
        assert f"`{event.value}`" in PAGE
    for reason in EarlyReason:
        assert re.search(rf"\b{reason.value}\b", SCHEMA)


def test_every_annotation_is_documented() -> None:
    known = (
        early.ANNOTATION_RUNTIME,
        early.ANNOTATION_LOG_TO_VOLUME,
        early.ANNOTATION_CLUSTER_DOMAIN,
    )
    for annotation in known:
        assert f"| `{annotation.removeprefix(ANNOTATION + '/')}` |" in PAGE
