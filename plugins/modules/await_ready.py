# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: await_ready
short_description: "Internal: wait until a set of a MatrixOne cluster serves"
version_added: 0.1.0
author: MatrixOne maintainers (@matrixorigin)
description:
  - Observes the workload and the Pods of a LogSet, DNSet, CNSet, ProxySet or WebUI until they serve
    what the resource asks for, and shows what it waits for whenever that changes.
  - The resource need not be in the cluster; it may have been played by a playbook.
  - While it waits for a LogSet or DNSet, it replaces Pods of an earlier template, as
    M(matrixorigin.matrixone.roll) does. While it waits for compute nodes of a pool, it opens the
    readiness gates of those that HAKeeper knows, as M(matrixorigin.matrixone.cn_stores) does.
  - What somebody holds back on purpose, by C(updateStrategy.partition) or C(pauseUpdate), and what
    depends on that, is not waited for.
extends_documentation_fragment:
  - matrixorigin.matrixone.internal
  - matrixorigin.matrixone.connection
attributes:
  check_mode:
    description: It does not wait then.
    support: full
  diff_mode:
    description: It has nothing to show.
    support: none
options:
  resource:
    description: The resource.
    type: dict
    required: true
  plan:
    description: What was decided for it, from the filter P(matrixorigin.matrixone.plan#filter).
    type: dict
    required: true
  log_set:
    description:
      - The LogSet that a CNSet depends on; left out where the log service is an external one.
    type: dict
  timeout:
    description: Seconds to wait at most.
    type: int
    default: 600
"""

EXAMPLES = r"""
- name: Wait until the log service serves
  matrixorigin.matrixone.await_ready:
    resource: "{{ logset_resource }}"
    plan: "{{ logset_plan }}"
    timeout: 300
"""

RETURN = r"""
seconds:
  description: How long it took.
  returned: success
  type: float
held:
  description: What is held back on purpose, and by what; empty if nothing is.
  returned: success
  type: str
  sample: "held at partition 2: 1/3 log stores run what the spec asks for"
"""
