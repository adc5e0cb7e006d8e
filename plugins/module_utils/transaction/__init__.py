# SPDX-License-Identifier: Apache-2.0
"""DNSet: the transaction node and the shard that it serves. Pure functions."""
