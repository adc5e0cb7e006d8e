# SPDX-License-Identifier: Apache-2.0
"""What an overlay leads to, as one file for the role `operator`, which needs no kustomize.

Reads the part of kustomize's language that ``deploy/`` uses: resources, components, and JSON
patches that add. A test compares the outcome with kustomize's own.
"""

from pathlib import Path
from typing import Any

import yaml

from deploy.generate.rights import Json
from deploy.generate.roles import dumped

_KNOWN = {"apiVersion", "kind", "namespace", "resources", "components", "patches"}
_HEADER = """\
# SPDX-License-Identifier: Apache-2.0
# Made by `make rbac` from deploy/overlays/{overlay}; do not edit.
"""


class OverlayError(Exception):
    """A kustomization uses what is not read here; the message names it."""


def files(root: Path, made: dict[str, str]) -> dict[str, str]:
    """Path and text of the role's file for each overlay.

    Args:
        root: the repository's folder.
        made: files under ``deploy/`` that are about to be written, by path from the root.
    """
    overlays = sorted(
        path.parent for path in (root / "deploy/overlays").glob("*/kustomization.yaml")
    )
    return {
        f"roles/operator/files/{overlay.name}.yaml": _text(overlay.name, build(overlay, root, made))
        for overlay in overlays
    }


def build(folder: Path, root: Path, made: dict[str, str]) -> list[Json]:
    """The manifests of a kustomization.

    Raises:
        OverlayError: it uses a field or a patch that is not read here.
    """
    kustomization = _read(folder / "kustomization.yaml", root, made)[0]
    if unknown := set(kustomization) - _KNOWN:
        message = f"{folder / 'kustomization.yaml'}: {', '.join(sorted(unknown))} is not read"
        raise OverlayError(message)
    manifests: list[Json] = []
    for resource in kustomization.get("resources", []):
        path = folder / resource
        manifests += build(path, root, made) if path.is_dir() else _read(path, root, made)
    for component in kustomization.get("components", []):
        manifests = _with_component(folder / component, root, made, manifests)
    return manifests


def _with_component(
    folder: Path, root: Path, made: dict[str, str], manifests: list[Json]
) -> list[Json]:
    together = [*manifests, *build(folder, root, made)]
    for patch in _read(folder / "kustomization.yaml", root, made)[0].get("patches", []):
        target = patch["target"]
        for manifest in together:
            identity = (manifest["kind"], manifest["metadata"]["name"])
            if identity == (target["kind"], target["name"]):
                _patch(manifest, yaml.safe_load(patch["patch"]))
    return together


def _patch(manifest: Json, operations: list[Json]) -> None:
    for operation in operations:
        if operation["op"] != "add":
            message = f"a patch that does not add: {operation}"
            raise OverlayError(message)
        *way, last = operation["path"].strip("/").split("/")
        place: Any = manifest
        for step in way:
            place = place[int(step)] if isinstance(place, list) else place[step]
        if isinstance(place, list):
            place.insert(len(place) if last == "-" else int(last), operation["value"])
        else:
            place[last] = operation["value"]


def _read(path: Path, root: Path, made: dict[str, str]) -> list[Json]:
    name = path.resolve().relative_to(root.resolve()).as_posix()
    text = made.get(name) or path.read_text(encoding="utf-8")
    return [document for document in yaml.safe_load_all(text) if document]


def _text(overlay: str, manifests: list[Json]) -> str:
    # One document: ansible-test takes no others in a collection.
    return f"{_HEADER.format(overlay=overlay)}---\n{dumped(manifests)}"
