# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps of a pass by kind, in the order of the role's tasks.

The order stands here and in the task files, and a test compares the two: a task that acts and has
no step, so that the check would never find it needed, fails it.
"""

from __future__ import annotations

from ...module_utils.api import names
from ..cluster.steps import STEPS as CLUSTER
from ..compute.steps import STEPS as COMPUTE
from ..logservice.steps import STEPS as LOG_SERVICE
from ..transaction.steps import STEPS as TRANSACTION
from ..workload.steps import STEPS as PLAIN

STEPS = {
    names.CLUSTER: CLUSTER,
    names.LOG_SET: LOG_SERVICE,
    names.DN_SET: TRANSACTION,
    names.CN_SET: COMPUTE,
    names.PROXY_SET: PLAIN,
    names.WEB_UI: PLAIN,
}
