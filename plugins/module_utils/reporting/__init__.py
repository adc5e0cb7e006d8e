# SPDX-License-Identifier: Apache-2.0
"""How status is reported: conditions, the closed list of reasons, events. Pure functions."""
