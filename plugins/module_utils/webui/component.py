# SPDX-License-Identifier: Apache-2.0
"""What is particular to a WebUI."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ..admission.sets import set_mistakes
from ..admission.shapes import Mistake
from ..api import names
from ..api.errors import InvalidSpec
from ..api.fields import Fields
from ..api.types import Manifest
from ..workload.component import Component, SetJudge, SetRenderer, SetStart
from .rendering import images, render_webui


def _render(start: SetStart) -> list[Manifest]:
    return render_webui(start.resource, references=start.dependencies)


def _mistakes(path: str, spec: Mapping[str, Any]) -> Iterator[Mistake]:
    yield from set_mistakes(path, spec)
    try:
        images(Fields(path, dict(spec)))
    except InvalidSpec as error:
        yield Mistake(error.field_path, error.message, value=spec.get("image"))


DASHBOARD: Final = Component(
    kind=names.WEB_UI,
    has_stores=True,
    client_port=names.PORT_WEB,
    renderer=SetRenderer(render=_render),
    judge=SetJudge(mistakes=_mistakes, names_version=False),
)
