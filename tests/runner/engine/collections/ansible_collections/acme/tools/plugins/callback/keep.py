# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A callback that keeps what the play's variables say, and prints what it finds."""

import json

from ansible.plugins.callback import CallbackBase
from ansible_collections.acme.tools.plugins.module_utils.keeping import look_and_keep

DOCUMENTATION = """
    name: keep
    type: notification
    short_description: Keeps what it is given
    description: A part of tests.
"""


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "acme.tools.keep"
    CALLBACK_NEEDS_ENABLED = True

    def v2_playbook_on_play_start(self, play):
        given = play.get_variable_manager().extra_vars
        what = given["what"] if given["keeper"] == "callback" else ""
        self._display.display("KEEP " + json.dumps(look_and_keep(str(what))))
