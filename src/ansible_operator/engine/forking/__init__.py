# SPDX-License-Identifier: Apache-2.0
"""A warm process that forks, and the forks that are handed out: one library, one pool."""
