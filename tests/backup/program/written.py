# SPDX-License-Identifier: Apache-2.0
"""Write backups as MatrixOne and the program leave them, without a database."""

import hashlib
from collections.abc import Mapping

from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup import manifest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.manifest import (
    Base,
    Manifest,
    Origin,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.program import (
    blocks,
    listings,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.objectstore.folder import (
    FolderStore,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.objectstore.interface import (
    ObjectStore,
)

TIMESTAMP = "1795374148998300310-1"
HAKEEPER = b"state of HAKeeper"


def put(store: ObjectStore, key: str, content: bytes) -> None:
    """Write a file as the database would: in blocks on a file system."""
    in_blocks = isinstance(store, FolderStore) and key.startswith(("tae/", "hakeeper/"))
    stored = b"".join(blocks.encode([content])) if in_blocks else content
    store.write(key, [stored], len(stored))


def backup(
    store: ObjectStore,
    name: str,
    files: Mapping[str, bytes],
    *,
    older: Mapping[str, bytes] | None = None,
    base: Base | None = None,
) -> Manifest:
    """Write a whole backup.

    Args:
        store: of its folder.
        name: its id.
        files: content by path below ``tae/``; those in ``ckp/`` have no checksum in the list.
        older: files of the database that the base has.
        base: of an incremental one.
    """
    statement(store, files, older=older, kind="increment" if base else "")
    own = {f"tae/{path}": _sum(text) for path, text in files.items() if path.startswith("ckp/")}
    put(store, listings.OWN_SUMS, listings.sums_text(own))
    record = Manifest(
        id=name,
        type=manifest.INCREMENTAL if base else manifest.FULL,
        timestamp=TIMESTAMP,
        base=base,
        source=Origin("MatrixOneCluster", "ns", "mo"),
        started_at="2026-11-22T19:02:27Z",
        completed_at="2026-11-22T19:02:30Z",
        size=sum(map(len, files.values())),
        files=len(files),
        matrixone_version="8.0.30-MatrixOne-v1.3.0",
    )
    put(store, manifest.FILE, manifest.to_json(record).encode())
    return record


def statement(
    store: ObjectStore,
    files: Mapping[str, bytes],
    *,
    older: Mapping[str, bytes] | None = None,
    kind: str = "",
) -> None:
    """Write what the database itself writes, see `backup`."""
    for path, content in files.items():
        put(store, f"tae/{path}", content)
    lines = [
        f"{path},{len(content)},{'' if path.startswith('ckp/') else _sum(content)},true,1-0\n"
        for path, content in files.items()
    ] + [f"{path},{len(content)},,false,1-0\n" for path, content in (older or {}).items()]
    for key, content in (
        ("mo_meta", b"version,0823,\n"),
        ("hakeeper/hk_data", HAKEEPER),
        ("tae/tae_list", "".join(lines).encode()),
        ("tae/tae_sum", f"2026-11-22 19:02:28,1,{TIMESTAMP},{kind}\n".encode()),
    ):
        put(store, key, content)
        put(store, f"{key}.sha256", hashlib.sha256(content).digest())


def erase(store: ObjectStore, *keys: str) -> None:
    """Delete objects as somebody does who asks nobody; everything if none is named."""
    for page in list(store.erasable()):
        store.erase([item for item in page if not keys or item.key in keys])
    store.tidy()


def _sum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
