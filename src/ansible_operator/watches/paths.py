# SPDX-License-Identifier: Apache-2.0
"""Search paths of playbooks and roles."""

import os
from collections.abc import Mapping
from pathlib import Path

from ansible_operator.watches.model import PlayPath

SYSTEM_COLLECTIONS = "/usr/share/ansible/collections"


def role_candidates(role: str, cwd: Path, environ: Mapping[str, str]) -> list[Path]:
    """All places where a role may be, in the order in which they are tried.

    Last comes the path itself: the Go runner takes what exists in its working folder.
    """
    if Path(role).is_absolute():
        return [Path(role)]
    candidates: list[Path] = []
    parts = role.split(".")
    if len(parts) == 3 and all(parts):
        namespace, collection, name = parts
        candidates += [
            cwd / folder / "ansible_collections" / namespace / collection / "roles" / name
            for folder in _collection_folders(environ)
        ]
    for folder in _split(environ.get("ANSIBLE_ROLES_PATH", "")):
        candidates += [cwd / folder / role, cwd / folder / "roles" / role]
    return [*candidates, cwd / "roles" / role, cwd / role]


def _split(value: str) -> list[Path]:
    return [Path(part) for part in value.split(":") if part]


def _collection_folders(environ: Mapping[str, str]) -> list[Path]:
    if named := environ.get("ANSIBLE_COLLECTIONS_PATH", ""):
        return _split(named)
    home = Path(environ.get("HOME", "")) / ".ansible" / "collections"
    return [Path(SYSTEM_COLLECTIONS), home]


def resolve(playbook: str, role: str, cwd: Path, environ: Mapping[str, str]) -> PlayPath:
    """Find a playbook or a role; what is not found stays as written."""
    if playbook:
        return PlayPath(playbook=str(cwd / playbook))
    if not role:
        return PlayPath()
    for candidate in role_candidates(role, cwd, environ):
        if candidate.exists():
            path = Path(os.path.normpath(candidate.absolute()))
            in_collection = path.parts[-5:-4] == ("ansible_collections",) and "/" not in role
            return PlayPath(role=str(path), role_name=role if in_collection else path.name)
    return PlayPath(role=role, role_name=role)
