# SPDX-License-Identifier: Apache-2.0
"""Makes the operator's roles out of ``deploy/rights.yaml``: ``python -m deploy.generate``."""
