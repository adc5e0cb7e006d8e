# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation that the modules share which serve the roles of this collection alone."""

from __future__ import annotations


class ModuleDocFragment:
    """What a module is not: an interface of the collection."""

    DOCUMENTATION = r"""
attributes:
  interface:
    description: Whether options and results stay as they were released.
    support: none
    details: Internal. They change with the roles of this collection, in any release.
"""
