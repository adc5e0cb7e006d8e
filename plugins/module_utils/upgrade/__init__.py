# SPDX-License-Identifier: Apache-2.0
"""Upgrades of a database across releases: their checks, known paths, its catalog. Pure functions.

The transaction node is the point of no return: an older one cannot read what a newer has written.
"""
