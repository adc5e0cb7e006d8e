# SPDX-License-Identifier: Apache-2.0
"""Which changes lead to a run: of objects, of what they own, name or are named by."""
