# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation that the modules share which log in to a database."""

from __future__ import annotations


class ModuleDocFragment:
    """Where the database answers, and how it proves what it is."""

    DOCUMENTATION = r"""
options:
  login_host:
    description: Host that answers SQL, as the controller reaches it.
    type: str
    required: true
  login_port:
    description: Port that answers SQL.
    type: int
    default: 6001
  login_password:
    description: The password.
    type: str
    required: true
  login_certificates:
    description: >-
      Certificates in PEM, one of which the database must have, or be certified by. The login is
      over TLS then, or fails; without them, it is without TLS. Names are not compared.
    type: str
"""
