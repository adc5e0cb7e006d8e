# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A filter that keeps what it is given."""

import json

from ansible_collections.acme.tools.plugins.module_utils.keeping import look_and_keep


class FilterModule:
    def filters(self):
        return {"keep": lambda what: json.dumps(look_and_keep(str(what)))}
