# SPDX-License-Identifier: Apache-2.0
"""WebUI: the dashboard. Pure functions."""
