# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps of a pass over a LogSet."""

from __future__ import annotations

from ...module_utils.logservice.health import Question, question
from ..checking.shared import APPLY, BEGIN, GROW, REPORT, rolls
from ..checking.snapshot import Snapshot, Step


def _asks(snapshot: Snapshot) -> bool:
    """Tell whether HAKeeper has to be asked."""
    workload, pods = snapshot.workload, snapshot.pods
    if workload is None:
        return False
    return question(snapshot.resource, workload, pods, snapshot.now) is not Question.NONE


STEPS = (
    BEGIN,
    Step("Replace lost log stores and let surplus ones leave", _asks),
    GROW,
    APPLY,
    Step("Replace log stores of an earlier template", rolls),
    REPORT,
)
