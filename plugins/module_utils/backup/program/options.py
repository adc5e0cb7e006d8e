# SPDX-License-Identifier: Apache-2.0
"""Options of the actions about backups, and the files in which the program expects secrets."""

from __future__ import annotations

import posixpath
import uuid
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from ...api.certificates import CERTIFICATE
from ...api.fields import Fields
from ...location import locations
from ...location.locations import FolderLocation, Location, S3Location

Options = Mapping[str, Any]

_NAMESPACE: Final = uuid.UUID("5f0c6f3e-0f0b-4f53-9a0a-6d6f2d6f6272")
_KEYS: Final = {
    "access_key": "AWS_ACCESS_KEY_ID",
    "secret_key": "AWS_SECRET_ACCESS_KEY",
    "session_token": "AWS_SESSION_TOKEN",
}
_CERTIFICATES: Final = "ca.crt"

LOCATION: Final[dict[str, Any]] = {
    "type": "dict",
    "options": {
        "s3": {
            "type": "dict",
            "options": {
                "path": {"type": "str", "required": True},
                "type": {"type": "str", "choices": list(locations.TYPES), "default": "aws"},
                "endpoint": {"type": "str"},
                "region": {"type": "str"},
                "access_key": {"type": "str", "no_log": True},
                "secret_key": {"type": "str", "no_log": True},
                "session_token": {"type": "str", "no_log": True},
                "certificates": {"type": "str"},
            },
            "required_together": [["access_key", "secret_key"]],
            "required_by": {"session_token": ["access_key"]},
        },
        "file_system": {
            "type": "dict",
            "options": {
                "path": {"type": "str", "required": True},
                "server_path": {"type": "str"},
            },
        },
    },
    "mutually_exclusive": [["s3", "file_system"]],
    "required_one_of": [["s3", "file_system"]],
}
"""Argument spec of a location; ``documentation`` is in ``doc_fragments/store.py``."""


def location_of(name: str, options: Options, role: str) -> Location:
    """Return the location that an option describes, by the rules for those of resources.

    Args:
        name: of the option, for messages.
        options: its value.
        role: under which its secrets are in files.

    Raises:
        InvalidSpec: it cannot be used.
    """
    folder = options.get("file_system")
    if folder:
        table = {"fileSystem": {"path": folder["path"]}}
        place = locations.from_fields(Fields(name, table), role)
        seen = posixpath.normpath(folder.get("server_path") or folder["path"])
        return replace(place, server_path=seen) if isinstance(place, FolderLocation) else place
    s3 = options["s3"]
    given = {key: s3[key] for key in ("path", "type", "endpoint", "region") if s3.get(key)}
    if s3.get("access_key"):
        given["secretRef"] = {"name": role}
    if s3.get("certificates"):
        given["certificateRef"] = {"name": role, "files": [_CERTIFICATES]}
    return locations.from_fields(Fields(name, {"s3": given}), role)


def write_secrets(folder: Path, role: str, options: Options) -> None:
    """Write keys and certificates of a location where the program looks for them.

    Args:
        folder: that only this user can read.
        role: under which they are.
        options: the option with the location.
    """
    s3 = options.get("s3") or {}
    keys = {file: s3[key] for key, file in _KEYS.items() if s3.get(key)}
    if keys:
        _write(folder / role, keys)
    if s3.get("certificates"):
        _write(folder / f"{role}-ca", {_CERTIFICATES: s3["certificates"]})


def write_login(folder: Path, user: str, password: str, certificates: str = "") -> None:
    """Write the login of a database where the program looks for it.

    Args:
        folder: that only this user can read.
        user: of the database.
        password: of the user.
        certificates: in PEM, by which the database proves what it is; empty without TLS.
    """
    _write(folder / "login", {"username": user, "password": password})
    if certificates:
        _write(folder / "tls", {CERTIFICATE: certificates})


def _write(folder: Path, values: Mapping[str, str]) -> None:
    folder.mkdir(mode=0o700)
    for name, value in values.items():
        (folder / name).write_text(value, encoding="utf-8")


def id_of(verb: str, *places: Location) -> str:
    """Return an id that the same task has in each run: made of the addresses that it is about.

    It is no id of a backup: another backup may be at the address tomorrow.
    """
    return str(uuid.uuid5(_NAMESPACE, " ".join((verb, *map(_full, places)))))


def _full(place: Location) -> str:
    server = place.url if isinstance(place, S3Location) else "file://"
    return f"{server.rstrip('/')}/{place.address.strip('/')}"
