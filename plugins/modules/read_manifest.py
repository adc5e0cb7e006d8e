# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: read_manifest
short_description: Read the resources of a manifest as kubectl reads them
version_added: 0.3.0
author: MatrixOne maintainers (@matrixorigin)
description:
  - Reads a YAML file as kubectl does. It may have several documents and lists of objects; dates
    stay texts, and nothing in it is evaluated as a template.
  - Without a file, the fields of one resource are variables of the play, as after
    C(-e @cluster.yaml). They are not evaluated either.
  - The playbooks of this collection begin with it.
attributes:
  check_mode:
    description: It changes nothing.
    support: full
  diff_mode:
    description: It changes nothing.
    support: none
options:
  kinds:
    description: Kinds of the resources to return; a manifest without any of them is an error.
    type: list
    elements: str
    required: true
  file:
    description: >-
      The manifest; a relative path refers to the folder in which C(ansible-playbook) was started.
    type: path
  namespace:
    description: Namespace of resources that name none.
    type: str
    default: default
  others:
    description:
      - Return the objects of other kinds instead, such as the Secrets that stand beside a cluster.
        Use C(no_log) with it.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Read the clusters of a file
  matrixorigin.matrixone.read_manifest:
    file: clusters.yaml
    kinds: [MatrixOneCluster]
  register: manifest_read
"""

RETURN = r"""
resources:
  description: The resources of O(kinds) in the order of the manifest.
  returned: O(others) is false
  type: list
  elements: dict
objects:
  description: The objects of other kinds.
  returned: O(others) is true
  type: list
  elements: dict
"""
