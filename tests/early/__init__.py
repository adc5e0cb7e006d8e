# SPDX-License-Identifier: Apache-2.0
"""The kind of the first operator, MatrixoneCluster.

The number in a test's name is that of its row; docs/early-cluster.md lists them.
"""
