# SPDX-License-Identifier: Apache-2.0
"""Pools of compute nodes, claims and claim sets (extended.md §4): pure decisions."""
