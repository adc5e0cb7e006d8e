# SPDX-License-Identifier: Apache-2.0
"""What the status of each kind says: conditions, counts, addresses, events. Pure functions."""
