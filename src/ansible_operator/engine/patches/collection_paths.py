# SPDX-License-Identifier: Apache-2.0
"""Where roles and playbooks of collections lie."""

import contextlib
from pathlib import Path

from ansible.utils.collection_loader import AnsibleCollectionConfig
from ansible.utils.collection_loader._collection_finder import (
    _get_collection_name_from_path,
    _get_collection_role_path,
)


def is_in_collection(path: str) -> bool:
    """Whether a file belongs to an installed collection."""
    return bool(_get_collection_name_from_path(path))


def role_path(name: str) -> Path | None:
    """The directory of a role of a collection, by its full name."""
    with contextlib.suppress(Exception):  # a collection may be missing or broken
        located = _get_collection_role_path(name)
        return Path(located[1]) if located else None
    return None


def search_beside(*folders: str) -> None:
    """Search for collections beside playbooks in these folders alone."""
    AnsibleCollectionConfig.playbook_paths = [folder.encode() for folder in folders]
