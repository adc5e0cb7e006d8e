# SPDX-License-Identifier: Apache-2.0
"""Search paths of playbooks and roles."""

from collections.abc import Mapping
from pathlib import Path

from ansible_operator.watches.model import PlayPath

SYSTEM_COLLECTIONS = "/usr/share/ansible/collections"


def role_candidates(role: str, cwd: Path, environ: Mapping[str, str]) -> list[Path]:
    """All places where a role may be, in the order in which they are tried."""
    if Path(role).is_absolute():
        return [Path(role)]
    candidates: list[Path] = []
    parts = role.split(".")
    if len(parts) == 3 and all(parts):
        namespace, collection, name = parts
        candidates += [
            folder / "ansible_collections" / namespace / collection / "roles" / name
            for folder in _collection_folders(environ)
        ]
    for folder in _split(environ.get("ANSIBLE_ROLES_PATH", "")):
        candidates += [folder / role, folder / "roles" / role]
    return [*candidates, cwd / "roles" / role]


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
            in_collection = candidate.parts[-5:-4] == ("ansible_collections",)
            return PlayPath(
                role=str(candidate.absolute()),
                role_name=role if in_collection else candidate.name,
            )
    return PlayPath(role=role, role_name=role)
