# SPDX-License-Identifier: Apache-2.0
"""`make demo`: from a fresh machine to a MatrixOne cluster that answers SQL.

It uses the test bed, the runner and `kubectl` from the outside, as a user would.
"""
