# SPDX-License-Identifier: Apache-2.0
"""MatrixOneCluster: its children, its credentials, its status. Pure functions."""
