# SPDX-License-Identifier: Apache-2.0
"""Backups: where they are, what they hold, and the work on them. Pure functions."""
