# SPDX-License-Identifier: Apache-2.0
"""Starts all parts in order, connects the packages, ends all parts in order."""
