# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: requeue_after
short_description: "Internal: ask the operator for another pass after some time"
version_added: 0.1.0
author: MatrixOne maintainers (@matrixorigin)
description:
  - Asks the operator that plays the role to play it again after a while, even if nothing has
    changed until then.
  - Without an operator it does nothing.
extends_documentation_fragment:
  - matrixorigin.matrixone.internal
attributes:
  check_mode:
    description: It changes nothing.
    support: full
  diff_mode:
    description: It changes nothing.
    support: none
options:
  time:
    description: Hours, minutes and seconds, as V(15s), V(1m30s) or V(2h).
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Look again in a quarter of a minute
  matrixorigin.matrixone.requeue_after:
    time: 15s
"""

RETURN = r"""
period:
  description: The time that was asked for.
  returned: success
  type: str
"""
