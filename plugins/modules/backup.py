# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: backup
short_description: Make, verify or delete a backup of a database
version_added: 0.2.0
author: MatrixOne maintainers (@matrixorigin)
description:
  - Lets a database write a backup by its statement C(BACKUP), then reads every file again, compares
    sizes and checksums with the database's list, and writes the record C(matrixone-backup.json),
    last. A prefix or folder without this record holds no backup.
  - A backup is identified by its address. One that is there is left alone; one whose play has ended
    in the middle, on this machine, is deleted and made again. One that a play on another machine
    has begun is left alone, until it is deleted by O(state=absent). What anybody else has written
    is never touched.
  - Backups that a BackupJob of the operator has made have another O(id); pass it to delete or
    verify one.
extends_documentation_fragment:
  - matrixorigin.matrixone.store
  - matrixorigin.matrixone.store.files
  - matrixorigin.matrixone.store.target
  - matrixorigin.matrixone.store.storage
attributes:
  check_mode:
    description: >-
      Logs in to the database and looks at the target, without writing anything, and fails if the
      backup could not be made.
    support: full
  diff_mode:
    description: Shows the record of the backup.
    support: full
options:
  target:
    description: Where the backup is. It must hold nothing else.
    type: dict
    required: true
  state:
    description: Whether the backup is made or deleted.
    type: str
    choices: [present, absent]
    default: present
  base:
    description: >-
      Path of another complete backup of the same database on the same store, as
      M(matrixorigin.matrixone.backup_info) returns it. The backup is incremental then and holds
      what has changed since. Restoring it requires the base.
    type: str
  id:
    description: >-
      ID that the backup has or gets. Defaults to that of the backup that plays have made at the
      address, else to a new one; with O(state=absent), any backup at the address is deleted.
    type: str
  login_host:
    description: Host that answers SQL, as the controller reaches it. Required with
      O(state=present).
    type: str
  login_port:
    description: Port that answers SQL.
    type: int
    default: 6001
  login_user:
    description: An administrator of the database. Required with O(state=present).
    type: str
  login_password:
    description: The password. Required with O(state=present).
    type: str
  login_certificates:
    description: >-
      Certificates in PEM, one of which the database must have, or be certified by. The login is
      over TLS then, or fails; without them, it is without TLS. Names are not compared.
    type: str
  storage:
    description: >-
      The shared storage of the database. A target inside it or around it is rejected. Keys are
      not used.
    type: dict
  source:
    description: What is backed up, for the record.
    type: dict
    suboptions:
      kind:
        description: MatrixOneCluster or CNSet.
        type: str
      namespace:
        description: Its namespace.
        type: str
      name:
        description: Its name.
        type: str
  verify:
    description: >-
      Whether a backup that is there is read again and compared with its checksums. A new one
      always
      is.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Make a full backup
  matrixorigin.matrixone.backup:
    login_host: mo-proxy.shop.svc
    login_user: dump
    login_password: "{{ root_password }}"
    target:
      s3:
        path: backups/mo/full
        region: eu-central-1
        access_key: "{{ access_key }}"
        secret_key: "{{ secret_key }}"
  register: full

- name: Make an incremental backup on it
  matrixorigin.matrixone.backup:
    login_host: mo-proxy.shop.svc
    login_user: dump
    login_password: "{{ root_password }}"
    base: backups/mo/full
    target:
      s3:
        path: backups/mo/monday
        region: eu-central-1
        access_key: "{{ access_key }}"
        secret_key: "{{ secret_key }}"

- name: Delete a backup with its files
  matrixorigin.matrixone.backup:
    target: {s3: {path: backups/mo/monday, region: eu-central-1}}
    state: absent
"""

RETURN = r"""
backup:
  description: >-
    The record of the backup, as it stands in C(matrixone-backup.json); of a deleted one, the one
    that
    it had. Empty if there is none.
  returned: success
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
