# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps of a pass over a set that has none of its own: ProxySet and WebUI."""

from __future__ import annotations

from ..checking.shared import APPLY, BEGIN, REPORT

STEPS = (BEGIN, APPLY, REPORT)
