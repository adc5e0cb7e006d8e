# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: root_credential
short_description: "Internal: set the password of the root user of a database to that of its Secret"
version_added: 0.1.0
author: MatrixOne maintainers (@matrixorigin)
description:
  - A database takes the root credential from a Secret when it starts for the first time. This sets
    the one that the Secret has now.
  - What the database accepts is recorded in the Secret C(CLUSTER-credential-accepted). If there is
    none, the current credential is recorded, and the database is not asked. Otherwise it is
    asked only when user or password differ.
  - If the new login works already, it is only recorded. Otherwise the previous one is used to
    change it, so that this can be interrupted at any moment and run again. The other one of the
    built-in users C(dump) and C(root) gets the new password, too, if it has the old one.
  - Passwords are printable ASCII.
  - A database that cannot be reached, or refuses, is a result and no failure.
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
    description: The MatrixOneCluster.
    type: dict
    required: true
  service:
    description: Name of the Service behind which SQL is answered; empty while it is not.
    type: str
    default: ""
  dashboard:
    description: >-
      Deployment whose Pods read the credential when they start, and are replaced when it changes.
    type: str
    default: ""
  timeout:
    description: Seconds for all attempts to reach the database, of each of its questions.
    type: float
    default: 10
  required:
    description: >-
      Whether the task fails if the database does not have the credential of the Secret. Otherwise
      the reason is in the result.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Set the root credential of the database
  matrixorigin.matrixone.root_credential:
    resource: "{{ cluster }}"
    service: mo-proxy
  register: root
"""

RETURN = r"""
credential:
  description: What became of it, with the fields of C(LoginResult).
  returned: success
  type: dict
"""
