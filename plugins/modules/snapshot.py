# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: snapshot
short_description: Take, drop or restore a snapshot of a database
version_added: 0.2.0
author: MatrixOne maintainers (@matrixorigin)
description:
  - Takes a snapshot of an account or of all of them, by the statement C(CREATE SNAPSHOT). That
    takes no time and copies nothing; MatrixOne keeps the versions of rows of this moment until the
    snapshot is dropped. They can be read by C({SNAPSHOT = 'name'}) after a table's name.
  - With O(state=restored), replaces an account, a database or a table by what the snapshot has of
    it.
extends_documentation_fragment:
  - matrixorigin.matrixone.login
  - matrixorigin.matrixone.versions
attributes:
  check_mode:
    description: >-
      Logs in to the database and checks that the statement would have what it needs, without
      changing anything.
    support: full
  diff_mode:
    description: Shows the record of the snapshot.
    support: full
options:
  name:
    description: Name of the snapshot, in lower-case letters, digits and C(_).
    type: str
    required: true
  state:
    description: >-
      Whether the snapshot exists. V(restored) replaces what is there each time that the task is
      run, so it always reports a change.
    type: str
    choices: [present, absent, restored]
    default: present
"""

EXAMPLES = r"""
- name: Take a snapshot before a migration
  matrixorigin.matrixone.snapshot:
    name: before_migration
    login_host: mo-proxy.shop.svc
    login_user: dump
    login_password: "{{ root_password }}"

- name: Restore one table
  matrixorigin.matrixone.snapshot:
    name: before_migration
    state: restored
    database: shop
    table: orders
    login_host: mo-proxy.shop.svc
    login_user: dump
    login_password: "{{ root_password }}"

- name: Drop the snapshot, so that its storage can be used again
  matrixorigin.matrixone.snapshot:
    name: before_migration
    state: absent
    login_host: mo-proxy.shop.svc
    login_user: dump
    login_password: "{{ root_password }}"
"""

RETURN = r"""
snapshot:
  description: >-
    The snapshot; the one that it had, if it was dropped. Empty if there is none.
  returned: success
  type: dict
  contains:
    name:
      description: Its name.
      type: str
      returned: always
    level:
      description: V(account) or V(cluster).
      type: str
      returned: always
    account:
      description: The account, or empty for all of them.
      type: str
      returned: always
    taken_at:
      description: The moment, in RFC 3339 and UTC.
      type: str
      returned: always
      sample: "2026-11-23T10:15:00.123456Z"
reason:
  description: >-
    Why it failed, in one word, V(LoginFailed), V(Unreachable), V(StatementFailed), V(NotThere),
    V(Referenced) and V(ReferenceMissing) (foreign keys of or to other tables are in the way),
    V(Different) (a snapshot of this name covers something else) or V(InvalidTask).
  returned: failure
  type: str
"""
