# SPDX-License-Identifier: Apache-2.0
"""Proving a backup: a cluster restored from it is read, then deleted."""
