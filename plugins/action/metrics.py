# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action behind M(matrixorigin.matrixone.metrics); documented in plugins/modules/metrics.py."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ansible.plugins.action import ActionBase

URL: Final = "ANSIBLE_OPERATOR_METRICS_API"
"""Environment variable that the operator sets for plays."""
_TIMEOUT: Final = 5.0


class ActionModule(ActionBase):
    """Hand metrics to the operator that plays the role, which exposes them."""

    TRANSFERS_FILES = False
    _requires_connection = False
    _supports_async = False

    def run(self, tmp: None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send all metrics in one request; that they are not taken is only a warning."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        spec = {"metrics": {"type": "list", "elements": "dict", "required": True}}
        _validation, arguments = self.validate_argument_spec(argument_spec=spec)
        result.update(changed=False, reported=0)
        url = os.environ.get(URL, "")
        if self._task.check_mode or not url.startswith("http://127.0.0.1:"):
            return result
        metrics = arguments["metrics"]
        refusal = _sent(url, metrics) if metrics else ""
        if refusal:
            result["warnings"] = [f"metrics are not reported: {refusal}"]
        else:
            result["reported"] = len(metrics)
        return result


def _sent(url: str, metrics: Sequence[Mapping[str, Any]]) -> str:
    """Send metrics; return why they were not taken, empty if they were."""
    body = json.dumps(metrics).encode()
    request = urllib.request.Request(url, data=body, method="POST")  # noqa: S310 - on loopback
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(request, timeout=_TIMEOUT):
            return ""
    except urllib.error.HTTPError as error:
        return f"{error.code} {error.read(500).decode(errors='replace').strip()}"
    except OSError as error:
        return str(error)
