# SPDX-License-Identifier: Apache-2.0
"""Databases of a cluster as resources, from the spec to the status."""
