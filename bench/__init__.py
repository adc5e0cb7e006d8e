# SPDX-License-Identifier: Apache-2.0
"""Scenarios that load operators on a real API server, and what they cost; see README.md."""
