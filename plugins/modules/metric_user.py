# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: metric_user
short_description: "Internal: create the SQL user that may read the metrics tables"
version_added: 0.1.0
author: MatrixOne maintainers (@matrixorigin)
description:
  - Creates the user C(mo_operator) with the role C(metric_reader) in the database of a cluster,
    with the password of the Secret C(CLUSTER-metric), which is created with a random one if there
    is none. Its role has to be named at login, as in C(sys:mo_operator:metric_reader).
  - If the Secret has been changed since, the user gets the new password. Otherwise nothing is
    done, and the database is not asked.
  - A database that cannot be reached by the deadline is a result and no failure.
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
    description: The MatrixOneCluster, with its status.
    type: dict
    required: true
  service:
    description: Name of the Service behind which SQL is answered.
    type: str
    required: true
  timeout:
    description: Seconds for all attempts to reach the database.
    type: float
    default: 10
"""

EXAMPLES = r"""
- name: Create the metric user
  matrixorigin.matrixone.metric_user:
    resource: "{{ cluster }}"
    service: mo-proxy
  register: metric_user
"""

RETURN = r"""
metrics:
  description: Content of C(status.clusterMetrics).
  returned: success
  type: dict
  contains:
    secretRef:
      description: Name of the Secret.
      type: dict
      returned: always
    secretVersion:
      description: The C(resourceVersion) of the Secret whose password the user has.
      type: str
      returned: always
    initialized:
      description: Whether the user has that password.
      type: bool
      returned: always
    message:
      description: Why not.
      type: str
      returned: when it has not
    since:
      description: Since when it has not, RFC 3339.
      type: str
      returned: when it has not
made:
  description: Whether the user was created, or got a new password, now.
  returned: success
  type: bool
retry:
  description: After which time to try again; it grows from 15 seconds to 10 minutes.
  returned: when the user has not the password
  type: str
  sample: 1m30s
"""
