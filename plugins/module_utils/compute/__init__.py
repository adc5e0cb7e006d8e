# SPDX-License-Identifier: Apache-2.0
"""CNSet: compute nodes, their stores in HAKeeper, their drain. Pure functions."""
