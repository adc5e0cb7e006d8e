# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a BackupJob beyond its schema, and with the template of a BackupSchedule."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...admission.pod_security import Level, asked_mistakes
from ...admission.pods import OVERLAY
from ...admission.sets import overlay_mistakes
from ...admission.shapes import Mistake
from ...api import durations
from ...api.errors import InvalidSpec
from ...api.fields import Fields
from ...location import locations
from ..folder_mounts import require_mountable
from ..manifest import INCREMENTAL
from ..task import jobs
from ..verification.observing import verification_mistakes


def job_mistakes(spec: Fields) -> Iterator[Mistake]:
    """Yield what is wrong with the spec of a BackupJob."""
    yield from mistakes_in(spec)
    if spec.raw("verify") is not None:
        yield from verification_mistakes(spec.table("verify"))
    try:
        source = spec.table("source")
        if not (source.text("clusterRef") or source.text("cnSetRef")):
            raise source.refuse("clusterRef", "must be set, or cnSetRef")
        if spec.raw("verify") is not None and not spec.table("source").text("clusterRef"):
            raise spec.refuse("verify", "can be given only where source has clusterRef")
        if (spec.text("type") == INCREMENTAL) != bool(spec.table("base").data):
            raise spec.refuse("base", "must be given for type incremental, and only for it")
    except InvalidSpec as error:
        yield Mistake(error.field_path, error.message)


def mistakes_in(spec: Fields) -> Iterator[Mistake]:
    """Yield what is wrong with what a BackupJob and a template have in common.

    Args:
        spec: of a BackupJob, or the template of a BackupSchedule.
    """
    yield from overlay_mistakes(OVERLAY, f"{spec.path}.overlay", spec.raw("overlay"))
    try:
        locations.from_fields(spec.table("target"), locations.TARGET)
        require_mountable(spec.table("target"))
        jobs.Settings.of(spec, "any")
        durations.seconds(spec, "ttl")
        if spec.choice("engine", ("matrixone", "mo_br"), "matrixone") == "mo_br":
            raise spec.refuse("engine", "mo_br is not supported; use matrixone")
    except InvalidSpec as error:
        yield Mistake(error.field_path, error.message)


def unsafe_in(spec: Fields, level: Level) -> Iterator[Mistake]:
    """Yield what a spec asks for in Pods beyond a level of Pod security.

    Args:
        spec: of a BackupJob, or the template of a BackupSchedule.
        level: that the Pods must meet.
    """
    # Its target mounts a volume as the shared storage of a set does.
    asked = {"overlay": spec.raw("overlay"), "sharedStorage": spec.raw("target")}
    for mistake in asked_mistakes(spec.path, asked, level):
        yield replace(mistake, field=mistake.field.replace(".sharedStorage", ".target"))
