# SPDX-License-Identifier: Apache-2.0
"""Words."""


def shout(text):
    return text.upper()
