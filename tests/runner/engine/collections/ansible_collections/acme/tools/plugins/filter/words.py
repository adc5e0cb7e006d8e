# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A filter of the collection."""


class FilterModule:
    def filters(self):
        return {"backwards": lambda text: text[::-1]}
