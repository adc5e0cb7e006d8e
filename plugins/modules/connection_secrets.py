# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: connection_secrets
short_description: "Internal: write the Secrets that tell applications how to connect to a database"
version_added: 0.1.0
author: MatrixOne maintainers (@matrixorigin)
description:
  - Applications read address, user, password and certificates from these Secrets. This writes those
    that a MatrixOneCluster asks for, and gives up those that it does not ask for any more.
  - The login is that of the Secret in C(spec.connectionSecret.userSecretRef) or, without it, of the
    root user as the database accepts it.
  - A Secret of somebody else is never changed. What cannot be written is a result and no failure.
extends_documentation_fragment:
  - matrixorigin.matrixone.internal
  - matrixorigin.matrixone.connection
attributes:
  check_mode:
    description: The API server tries each change and keeps none.
    support: partial
    details: A Secret whose login would only be created by the run is not looked at.
  diff_mode:
    description: Shows which keys change. Values are masked.
    support: full
options:
  resource:
    description: The MatrixOneCluster.
    type: dict
    required: true
  connection:
    description: What the plan of the cluster has as C(connection).
    type: dict
    required: true
  required:
    description: >-
      Whether the task fails if a Secret is not as it should be. Otherwise the reason is in the
      result.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Write the Secrets that tell applications how to connect
  matrixorigin.matrixone.connection_secrets:
    resource: "{{ cluster }}"
    connection: "{{ plan.connection }}"
  register: written
"""

RETURN = r"""
connection:
  description: What became of them, with the fields of C(ConnectionResult).
  returned: success
  type: dict
changes:
  description: What happened, as C(Kind namespace/name) and one of created, changed, deleted.
  returned: success
  type: list
  elements: str
"""
