# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: read_back
short_description: Read every table of a database and compare answers
version_added: 0.2.0
author: MatrixOne maintainers (@matrixorigin)
description:
  - Reads every value of every table, runs statements and compares their answers. It is meant for a
    database that was restored from a backup, and is the full proof of that backup; the database
    leaves out, without an error, objects that it does not find while it makes a backup, and starts
    without them.
  - It fails if a table cannot be read or an answer differs, after it has looked at all of them.
  - The tables are those that the user sees. Those of other accounts (tenants) need a user of each.
notes:
  - It runs on the controller, in Ansible's own process.
extends_documentation_fragment:
  - matrixorigin.matrixone.login
requirements:
  - python >= 3.11
  - PyMySQL >= 1.1, on the controller
attributes:
  check_mode:
    description: It changes nothing, unless a statement of O(checks) does.
    support: full
  diff_mode:
    description: It has nothing to show.
    support: none
options:
  login_user:
    description: A user who may read all tables.
    type: str
    required: true
  checks:
    description: Statements, and what they must return.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description: What the check is called in messages. Defaults to the statement.
        type: str
      sql:
        description: The statement. It must read only.
        type: str
        required: true
      rows:
        description: >-
          The rows that it must return, in this order, compared as text; V(null) is NULL. Without
          it, the statement only must not fail.
        type: list
        elements: list
  timeout:
    description: Seconds for all of it.
    type: int
    default: 3600
  parallelism:
    description: How many tables are read at a time.
    type: int
    default: 2
"""

EXAMPLES = r"""
- name: Prove that the restored database is complete
  matrixorigin.matrixone.read_back:
    login_host: restored-proxy.shop.svc
    login_user: dump
    login_password: "{{ root_password }}"
    checks:
      - name: orders of last year
        sql: select count(*) from shop.orders where year(placed) = 2025
        rows: [[18233]]
"""

RETURN = r"""
tables:
  description: Number of tables that were read.
  returned: when the database answered
  type: int
rows:
  description: Number of their rows.
  returned: when the database answered
  type: int
bytes:
  description: Bytes of their values.
  returned: when the database answered
  type: int
problems:
  description: What could not be read, or differs.
  returned: when the database answered
  type: list
  elements: str
reason:
  description: Why nothing was read, V(LoginFailed), V(Unreachable) or V(DeadlineExceeded).
  returned: failure
  type: str
retryable:
  description: Whether the same task may succeed later, with nothing changed.
  returned: failure
  type: bool
"""
