# SPDX-License-Identifier: Apache-2.0
"""Pools of compute nodes, claims and claim sets: pure decisions."""
