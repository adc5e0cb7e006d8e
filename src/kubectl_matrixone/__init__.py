# SPDX-License-Identifier: Apache-2.0
"""A plugin of kubectl for MatrixOne clusters. It reads and writes the API; it knows no roles."""
