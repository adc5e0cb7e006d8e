# SPDX-License-Identifier: Apache-2.0
"""Generates the operator's roles from ``deploy/rights.yaml``: ``python -m deploy.generate``."""
