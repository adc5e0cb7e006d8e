# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: cn_claim_set
short_description: "Internal: create and delete the claims of a CNClaimSet"
version_added: 0.2.0
author: MatrixOne maintainers (@matrixorigin)
description:
  - Runs one pass over a CNClaimSet. It creates claims that are missing, replaces those that lost
    their Pod, deletes those that are too many, those without a Pod first, and replaces claims of
    Pods of an earlier template one by one.
extends_documentation_fragment:
  - matrixorigin.matrixone.internal
  - matrixorigin.matrixone.connection
attributes:
  check_mode:
    description: It does nothing.
    support: partial
    details: Claims have names that are made when they are created.
  diff_mode:
    description: It has nothing to show.
    support: none
options:
  resource:
    description: The CNClaimSet, as it is in the cluster.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Create and delete claims
  matrixorigin.matrixone.cn_claim_set:
    resource: "{{ cnclaimset_resource }}"
  register: cnclaimset_claims
"""

RETURN = r"""
claims:
  description: How the pass ended; empty in check mode and for a set that is paused.
  returned: success
  type: dict
  contains:
    status:
      description: Fields of the status of the set, without its conditions.
      type: dict
      returned: always
    done:
      description: Number of writes by what they do.
      type: dict
      returned: always
    errors:
      description: What the API server refused.
      type: list
      elements: str
      returned: always
    unfinished:
      description: Whether another pass is needed at once.
      type: bool
      returned: always
"""
