# SPDX-License-Identifier: Apache-2.0
"""Databases that answer what no database would: log service, compute nodes, and SQL."""
