# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lookup that keeps what it is given."""

import json

from ansible.plugins.lookup import LookupBase
from ansible_collections.acme.tools.plugins.module_utils.keeping import look_and_keep


class LookupModule(LookupBase):
    def run(self, terms, variables=None, **kwargs):
        return [json.dumps(look_and_keep(terms[0]))]
