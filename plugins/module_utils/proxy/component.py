# SPDX-License-Identifier: Apache-2.0
"""What is particular to a ProxySet."""

from __future__ import annotations

from typing import Any

from ..api import names
from ..api.types import Manifest, References, Resource
from ..reporting.set_facts import Findings
from ..workload.component import Component, SetPass
from .rendering import render_proxyset


class Proxies(Component):
    """Proxies."""

    kind = names.PROXY_SET
    client_port = names.PORT_SQL

    def render(self, resource: Resource, script: str, references: References) -> list[Manifest]:
        """Return every object of a ProxySet."""
        return render_proxyset(resource, start_script=script, references=references)

    def status(self, seen: SetPass, findings: Findings) -> dict[str, Any]:
        """Return the fields of the status that only a ProxySet has."""
        return {**super().status(seen, findings), "labelSelector": seen.label_selector}
