# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: restore
short_description: Copy a backup to the storage of a new cluster
version_added: 0.2.0
author: MatrixOne maintainers (@matrixorigin)
description:
  - Copies a backup, with the backups that it continues, to where a new cluster is going to have its
    shared storage, and compares every file with its checksum. The cluster is created afterwards,
    with this storage and C(spec.logService.initialConfig.restoreFrom) V(hk_data).
  - The target must hold nothing. A copy that was interrupted is continued. One that is complete is
    left alone, since a cluster may run on it; this is recorded in the target.
extends_documentation_fragment:
  - matrixorigin.matrixone.store
  - matrixorigin.matrixone.store.files
  - matrixorigin.matrixone.store.source
  - matrixorigin.matrixone.store.target
attributes:
  check_mode:
    description: Reads the lists of the backup and looks at the target, without writing anything.
    support: full
  diff_mode:
    description: Shows the ID of the backup that the target holds.
    support: full
options:
  source:
    description: Where the backup is.
    type: dict
    required: true
  target:
    description: C(sharedStorage) of the new cluster. It must hold nothing.
    type: dict
    required: true
  id:
    description: ID that the backup must have. Any is restored by default.
    type: str
"""

EXAMPLES = r"""
- name: Copy the newest backup to a new prefix
  matrixorigin.matrixone.restore:
    source:
      s3:
        path: "{{ (found.backups | last).path }}"
        region: eu-central-1
    target:
      s3:
        path: databases/restored
        region: eu-central-1
"""

RETURN = r"""
id:
  description: ID of the backup that the target holds, or would hold.
  returned: success
  type: str
backup:
  description: The record of the backup, as it stands in C(matrixone-backup.json).
  returned: success; empty if nothing was copied now
  type: dict
  contains:
    id:
      description: ID of the backup.
      type: str
      returned: always
    type:
      description: V(full) or V(incremental).
      type: str
      returned: always
    base:
      description: C(path) and C(id) of the backup that it continues.
      type: dict
      returned: for an incremental backup
    startedAt:
      description: Time before the statement. Rows that were acknowledged before are in the backup.
      type: str
      returned: always
    completedAt:
      description: Time when it was proven whole.
      type: str
      returned: always
    size:
      description: Bytes of its files, without those of its base.
      type: int
      returned: always
    files:
      description: Number of its files.
      type: int
      returned: always
    source:
      description: What was backed up.
      type: dict
      returned: always
    matrixoneVersion:
      description: Version of the database.
      type: str
      returned: always
    timestamp:
      description: The moment of the backup as the database has it.
      type: str
      returned: always
    formatVersion:
      description: Of this record.
      type: int
      returned: always
reason:
  description: >-
    Why it failed, in one word, such as V(TargetNotEmpty), V(AccessDenied), V(Unreachable),
    V(ObjectCorrupt) or V(ChainBroken).
  returned: failure
  type: str
retryable:
  description: Whether the same task may succeed later, with nothing changed.
  returned: failure
  type: bool
"""
