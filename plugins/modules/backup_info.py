# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: backup_info
short_description: List backups
version_added: 0.2.0
author: MatrixOne maintainers (@matrixorigin)
description:
  - Returns the records of all complete backups below a prefix or folder, whoever made them. Remains
    of interrupted attempts are left out.
  - It lists the prefix or folder with everything in it and reads the records only. Whether the
    files are whole is what O(matrixorigin.matrixone.backup#module:verify) tells.
extends_documentation_fragment:
  - matrixorigin.matrixone.store
  - matrixorigin.matrixone.store.location
attributes:
  check_mode:
    description: It changes nothing.
    support: full
  diff_mode:
    description: It has nothing to show.
    support: none
options:
  location:
    description: Where to look.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: List the backups of all databases
  matrixorigin.matrixone.backup_info:
    location:
      s3:
        path: backups
        region: eu-central-1
  register: found
"""

RETURN = r"""
backups:
  description: The records, as they stand in C(matrixone-backup.json), the oldest first.
  returned: success
  type: list
  elements: dict
  contains:
    path:
      description: Where it is, C(BUCKET/PREFIX) or a folder.
      type: str
      returned: always
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
