# SPDX-License-Identifier: Apache-2.0
"""Which object is reconciled next, by which worker, and when again."""
