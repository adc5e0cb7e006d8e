# SPDX-License-Identifier: Apache-2.0
"""The kind of the first operator, MatrixoneCluster: rows T1 to T44 of seeds.md A12 and A13.5.

The number in a test's name is that of its row; docs/early-cluster.md lists them.
"""
