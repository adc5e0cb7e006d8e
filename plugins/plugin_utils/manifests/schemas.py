# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The schemas of our kinds, from the CRDs that the collection contains."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from ...module_utils.admission.shapes import Mistake, look_for, shortened
from ...module_utils.admission.unknown_fields import unknown_fields
from ...module_utils.api.errors import InvalidSpec
from ...module_utils.clients.kubernetes.kinds import describe

_FOLDER = Path(__file__).resolve().parents[3] / "crds"


def unknown_fields_of(resource: Mapping[str, Any]) -> list[Mistake]:
    """Return the fields of a resource of ours that its CRD does not have.

    Args:
        resource: an object with ``apiVersion`` and ``kind``. For a kind that is none of ours there
            is no schema here, and nothing is said of it.
    """
    schema = _schema(str(resource.get("apiVersion")), str(resource.get("kind")))
    return shortened(look_for(unknown_fields(resource, schema))) if schema else []


def refuse_unknown_fields(resource: Mapping[str, Any]) -> None:
    """Look for fields that the CRD of a resource of ours does not have.

    Raises:
        InvalidSpec: There are some; it names the first.
    """
    for mistake in unknown_fields_of(resource):
        raise InvalidSpec(mistake.field, mistake.message)


def told(resource: Mapping[str, Any], mistakes: Iterable[Mistake]) -> str:
    """Return the mistakes of a resource as the message of an error."""
    return f"{describe(resource)}: {'; '.join(map(str, mistakes))}"


@functools.cache  # ansible-operator: kept, schemas are the same for all objects
def _schema(api_version: str, kind: str) -> Mapping[str, Any] | None:
    """Return ``openAPIV3Schema`` of a kind of ours; None of others."""
    group, _slash, version = api_version.partition("/")
    path = _FOLDER / f"{group}_{kind.lower()}s.yaml"
    # What a user writes as kind or group must not become the path of another file.
    if path.parent != _FOLDER or not path.is_file():
        return None
    definition = _read(path)
    if definition["spec"]["names"]["kind"] != kind:
        return None
    for entry in definition["spec"]["versions"]:
        if entry["name"] == version:
            schema: Mapping[str, Any] = entry["schema"]["openAPIV3Schema"]
            return schema
    return None


def _read(path: Path) -> Any:
    loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load(path.read_text(encoding="utf-8"), Loader=loader)  # noqa: S506 - a safe loader
