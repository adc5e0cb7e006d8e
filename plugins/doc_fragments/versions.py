# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation that the modules about snapshots and recovery ranges share."""

from __future__ import annotations


class ModuleDocFragment:
    """The login, what is covered, and how it is restored."""

    DOCUMENTATION = r"""
options:
  account:
    description: >-
      The account (tenant). Defaults to the one of O(login_user). Only the account C(sys) may name
      others.
    type: str
  cluster:
    description: All accounts instead of one. Only the account C(sys) may do this.
    type: bool
    default: false
  database:
    description: A database of the account.
    type: str
  table:
    description: A table of O(database).
    type: str
  login_user:
    description: An administrator of the account, in the form C(USER) or C(ACCOUNT:USER).
    type: str
    required: true
  timeout:
    description: Seconds for all of it.
    type: int
    default: 3600
requirements:
  - python >= 3.11
  - PyMySQL >= 1.1, on the controller
notes:
  - It runs on the controller, in Ansible's own process. It needs neither Kubernetes nor an
    operator.
  - Older versions of rows are on the storage of the database itself, and are lost with it. Only
    M(matrixorigin.matrixone.backup) writes a copy elsewhere.
  - A restore replaces, in one transaction, what is there. Databases that were created afterwards
    are deleted if an account is restored, and its users, roles and passwords are those of then.
    Stop clients before, and make a backup.
  - Names of databases and tables must consist of letters, digits, C(_) and C($), because the
    database pastes them into statements of its own.
"""
