# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the proxies of a set answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ...module_utils.api import names
from ...module_utils.clients.greeting import ungreeted
from ...module_utils.clients.kubernetes.session import Session
from ...module_utils.clients.matrixone import Deadline
from ...module_utils.reporting.health import Health
from ...module_utils.reporting.pods import is_ready

_MUTE: Final = "it accepts connections, but does not greet clients"


def observe_proxies(
    session: Session,
    resource: Mapping[str, Any],
    pods: Sequence[Mapping[str, Any]],
    deadline: Deadline,
    now: float,
) -> Health:
    """Connect to each ready proxy of a ProxySet as a client would, and wait for its greeting."""
    del session, resource, now
    addresses = {
        pod["metadata"]["name"]: (pod["status"]["podIP"], names.PORT_SQL)
        for pod in pods
        if is_ready(pod)
        and not pod["metadata"].get("deletionTimestamp")
        and pod["status"].get("podIP")
    }
    return Health(silent=dict.fromkeys(ungreeted(addresses, deadline.remaining()), _MUTE))
