# SPDX-License-Identifier: Apache-2.0
"""MatrixoneCluster, the kind of the first operator. Pure functions."""
