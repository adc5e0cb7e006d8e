# SPDX-License-Identifier: Apache-2.0
"""A transaction node that was silent is restarted once, when it is back."""

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.timestamps import (
    timestamp,
    unix_time,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.transaction.silence import (
    Silence,
    Step,
    next_step,
)

from tests.support.builders import NOW, pod

PRESENT = unix_time(NOW)
UNHEARD = "matrixorigin.io/store-unheard"


def node(age=3600.0, unheard_age=None, **metadata):
    """Return a Pod whose process is that old, and the process that was silent."""
    found = pod("mo-dn-0")
    found["status"]["containerStatuses"] = [
        {"name": "main", "state": {"running": {"startedAt": timestamp(PRESENT - age)}}}
    ]
    found["metadata"].update(metadata)
    if unheard_age is not None:
        found["metadata"]["annotations"] = {UNHEARD: timestamp(PRESENT - unheard_age)}
    return found


@pytest.mark.parametrize(
    ("subject", "silent", "step"),
    [
        (node(), 0.5, Step.NOTHING),
        (node(), None, Step.NOTHING),
        (node(), 10.5, Step.RECORD),
        (node(), Silence(10.5), Step.NOTHING),
        (node(unheard_age=3600), 30.0, Step.NOTHING),
        (node(unheard_age=3600), 0.5, Step.RESTART),
        (node(unheard_age=3600), None, Step.NOTHING),
        (node(age=20, unheard_age=3600), 0.5, Step.NOTHING),
        (node(age=8), 25.0, Step.NOTHING),
        (node(unheard_age=3600, deletionTimestamp=NOW), 0.5, Step.NOTHING),
    ],
    ids=[
        "heard",
        "unknown",
        "silent",
        "silent like all compute nodes",
        "still silent",
        "back",
        "unknown since",
        "restarted since",
        "the silence is that of its predecessor",
        "being deleted",
    ],
)
def test_steps(subject, silent, step):
    """What it remembers of others is wrong; only a new process forgets."""
    silence = Silence(silent, isolated=True) if isinstance(silent, float) else silent
    assert next_step(subject, silence, PRESENT) is step
