# SPDX-License-Identifier: Apache-2.0
"""The watches file: parsing, defaults, validation (runner.md §1)."""
