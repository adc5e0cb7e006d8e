# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: pitr
short_description: Keep older versions of rows, and restore those of a moment
version_added: 0.2.0
author: MatrixOne maintainers (@matrixorigin)
description:
  - Lets MatrixOne keep all versions of the rows of an account, a database, a table or of all
    accounts for some time, by the statement C(CREATE PITR) (point-in-time recovery).
  - With O(state=restored), replaces an account, a database or a table by what was there at a
    moment in that time.
  - Moments before the range was created or changed are rejected. The database accepts them, but
    the versions may be gone.
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
    description: Shows the record of the range.
    support: full
options:
  name:
    description: Name of the range, in lower-case letters, digits and C(_).
    type: str
    required: true
  state:
    description: >-
      Whether the range exists. V(restored) replaces what is there each time that the task is run,
      so it always reports a change.
    type: str
    choices: [present, absent, restored]
    default: present
  keep:
    description: >-
      For how many O(unit) versions are kept, from 1 to 100. Required with O(state=present).
    type: int
  unit:
    description: Unit of O(keep).
    type: str
    choices: [hours, days, months, years]
    default: days
  at:
    description: >-
      The moment to restore, in RFC 3339 with a zone. Fractions of seconds are cut off. Required
      with O(state=restored).
    type: str
"""

EXAMPLES = r"""
- name: Keep all versions for a week
  matrixorigin.matrixone.pitr:
    name: week
    keep: 7
    login_host: mo-proxy.shop.svc
    login_user: dump
    login_password: "{{ root_password }}"

- name: Restore a database as it was before somebody deleted rows
  matrixorigin.matrixone.pitr:
    name: week
    state: restored
    database: shop
    at: "2026-11-23T10:15:00Z"
    login_host: mo-proxy.shop.svc
    login_user: dump
    login_password: "{{ root_password }}"
"""

RETURN = r"""
pitr:
  description: The range; the one that there was, if it was dropped. Empty if there is none.
  returned: success
  type: dict
  contains:
    name:
      description: Its name.
      type: str
      returned: always
    level:
      description: V(cluster), V(account), V(database) or V(table).
      type: str
      returned: always
    account:
      description: The account, or empty for all of them.
      type: str
      returned: always
    database:
      description: The database, or empty for all of the account.
      type: str
      returned: always
    table:
      description: The table, or empty for all of the database.
      type: str
      returned: always
    keep:
      description: How many units of time versions are kept.
      type: int
      returned: always
    unit:
      description: The unit.
      type: str
      returned: always
    since:
      description: When it was created or changed; the earliest moment that can be restored.
      type: str
      returned: always
      sample: "2026-11-20T08:00:00Z"
reason:
  description: >-
    Why it failed, in one word, V(LoginFailed), V(Unreachable), V(StatementFailed), V(NotThere),
    V(Referenced) and V(ReferenceMissing) (foreign keys of or to other tables are in the way),
    V(Different) (a range of this name covers something else), V(OutOfRange), V(OtherZone) or
    V(InvalidTask).
  returned: failure
  type: str
"""
