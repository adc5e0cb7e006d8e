# SPDX-License-Identifier: Apache-2.0
"""What is particular to a ProxySet."""

from __future__ import annotations

from typing import Any, Final

from ..api import names
from ..api.types import Manifest
from ..workload.component import Component, SetPass, SetRenderer, SetReporter, SetStart
from .rendering import render_proxyset


def _render(start: SetStart) -> list[Manifest]:
    return render_proxyset(start.resource, start_script=start.script, references=start.dependencies)


def _status(seen: SetPass) -> dict[str, Any]:
    return {"labelSelector": seen.label_selector}


PROXIES: Final = Component(
    kind=names.PROXY_SET,
    client_port=names.PORT_SQL,
    renderer=SetRenderer(render=_render),
    reporter=SetReporter(status=_status),
)
