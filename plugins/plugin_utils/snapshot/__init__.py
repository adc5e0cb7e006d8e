# SPDX-License-Identifier: Apache-2.0
"""Snapshots and point-in-time recovery of a running database, through SQL."""
