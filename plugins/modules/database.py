# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: database
short_description: "Internal: create or drop the database of a Database"
version_added: 0.3.0
author: MatrixOne maintainers (@matrixorigin)
description:
  - Creates a database unless it is there. One that was there and is not any more is not created
    again, and one that somebody else has created is left alone.
  - If the resource has not changed since a check a short time ago, the database is not asked.
  - What the database refuses, or that it cannot be reached by the deadline, is a result and no
    failure.
requirements:
  - PyMySQL
extends_documentation_fragment:
  - matrixorigin.matrixone.internal
  - matrixorigin.matrixone.connection
attributes:
  check_mode:
    description: The database is not asked.
    support: partial
    details: SQL has no dry run.
  diff_mode:
    description: It has nothing to show.
    support: none
options:
  resource:
    description: The Database, with its status.
    type: dict
    required: true
  cluster:
    description: The MatrixOneCluster that it names.
    type: dict
    required: true
  service:
    description: Name of the Service behind which SQL is answered.
    type: str
    required: true
  state:
    description: Whether the database exists. With V(absent), it is dropped if it is the one that
      the resource stands for; another one of the same name stays.
    type: str
    choices: [present, absent]
    default: present
  timeout:
    description: Seconds for all that is asked of the database in one session.
    type: float
    default: 10
"""

EXAMPLES = r"""
- name: Create the database
  matrixorigin.matrixone.database:
    resource: "{{ shop }}"
    cluster: "{{ cluster }}"
    service: mo-proxy
  register: database
"""

RETURN = r"""
database:
  description: What came of it, for the filter C(report).
  returned: success
  type: dict
  contains:
    reason:
      description: Why the database is not as desired; empty if it is.
      type: str
      returned: always
    message:
      description: The same in a sentence.
      type: str
      returned: always
    unchanged:
      description: Whether the database was not asked for.
      type: bool
      returned: always
    number:
      description: Number of the database in MatrixOne's catalog.
      type: str
      returned: always
    checked:
      description: When somebody answered.
      type: str
      returned: always
    created:
      description: Whether it was created now.
      type: bool
      returned: always
    dropped:
      description: Whether it was dropped now.
      type: bool
      returned: always
    spared:
      description: Whether another database has its name, which was not dropped.
      type: bool
      returned: always
"""
