# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a plan selects in the cluster."""

from __future__ import annotations

from ...module_utils.clients.kubernetes.selecting import Selection
from ...module_utils.workload.plans import Prune


def prunable(chosen: Prune | None) -> list[Selection]:
    """Return what selects the objects that are deleted if they are no longer desired."""
    if chosen is None:
        return []
    return [
        Selection(
            kind["api_version"],
            kind["kind"],
            chosen.namespace,
            chosen.labels,
            owner_uid=chosen.owner_uid,
            unowned=chosen.unowned,
            named=kind.get("named", ""),
        )
        for kind in chosen.kinds
    ]


def users(chosen: Prune) -> list[Selection]:
    """Return what selects the objects that keep alive what they mention by name."""
    return [
        Selection(
            kind["api_version"],
            kind["kind"],
            chosen.namespace,
            chosen.labels,
            named=kind.get("named", ""),
        )
        for kind in chosen.unless_used_by
    ]
