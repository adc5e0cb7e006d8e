# SPDX-License-Identifier: Apache-2.0
"""Shapes of what schemas and CEL rules cannot say, for all kinds. Pure functions."""
