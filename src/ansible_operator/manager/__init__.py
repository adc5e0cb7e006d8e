# SPDX-License-Identifier: Apache-2.0
"""Starts everything in order, connects the rooms, ends everything in order."""
