# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: database_user
short_description: "Internal: create, change or drop the SQL user of a DatabaseUser"
version_added: 0.3.0
author: MatrixOne maintainers (@matrixorigin)
description:
  - Brings a user of a database to what a DatabaseUser asks for, with the password of its Secret,
    which is created with a random one if none is named. The privileges are those of a role that
    only this user has.
  - If neither the resource nor the Secret has changed since a check a short time ago, the database
    is not asked.
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
    description: The DatabaseUser, with its status.
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
    description: Whether the user exists. With V(absent), the role and a Secret that was created for
      it go, too. A user that was not created for the resource stays.
    type: str
    choices: [present, absent]
    default: present
  timeout:
    description: Seconds for all that is asked of the database in one session.
    type: float
    default: 10
"""

EXAMPLES = r"""
- name: Create the user
  matrixorigin.matrixone.database_user:
    resource: "{{ user }}"
    cluster: "{{ cluster }}"
    service: mo-proxy
  register: database_user
"""

RETURN = r"""
user:
  description: What came of it, for the filter C(report).
  returned: success
  type: dict
  contains:
    reason:
      description: Why the user is not as desired; empty if it is.
      type: str
      returned: always
    message:
      description: The same in a sentence.
      type: str
      returned: always
    unchanged:
      description: Whether the database was not asked.
      type: bool
      returned: always
    secret:
      description: Name of the Secret with the password.
      type: str
      returned: always
    version:
      description: The C(resourceVersion) of the Secret whose password the user has.
      type: str
      returned: always
    granted:
      description: The privileges, one text for each place.
      type: list
      elements: str
      returned: always
    missing:
      description: Databases and tables that are not there.
      type: list
      elements: str
      returned: always
    checked:
      description: When the database answered.
      type: str
      returned: always
    created:
      description: Whether the user was created now.
      type: bool
      returned: always
    changes:
      description: How many statements were run.
      type: int
      returned: always
"""
