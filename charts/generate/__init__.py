# SPDX-License-Identifier: Apache-2.0
"""Makes the parts of the charts that follow from other files: ``python -m charts.generate``."""
