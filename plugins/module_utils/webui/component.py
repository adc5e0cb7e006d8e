# SPDX-License-Identifier: Apache-2.0
"""What is particular to a WebUI."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..admission.sets import set_mistakes
from ..admission.shapes import Mistake
from ..api import names
from ..api.errors import InvalidSpec
from ..api.fields import Fields
from ..api.types import Manifest, References, Resource
from ..workload.component import Component
from .rendering import images, render_webui


class Dashboard(Component):
    """Web UI."""

    kind = names.WEB_UI
    has_stores = True
    client_port = names.PORT_WEB

    def render(self, resource: Resource, script: str, references: References) -> list[Manifest]:
        """Return every object of a WebUI, which has no start script."""
        del script
        return render_webui(resource, references=references)

    def mistakes(self, path: str, spec: Mapping[str, Any]) -> Iterator[Mistake]:
        """Yield what is wrong with a spec beyond its schema."""
        yield from set_mistakes(path, spec)
        try:
            images(Fields(path, dict(spec)))
        except InvalidSpec as error:
            yield Mistake(error.field_path, error.message, value=spec.get("image"))

    def version_warnings(self, spec: Mapping[str, Any]) -> Iterator[str]:
        """Yield nothing: its versions are not those of MatrixOne."""
        del spec
        yield from ()
