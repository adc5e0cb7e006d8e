# SPDX-License-Identifier: Apache-2.0
"""DatabaseUser: an SQL user of a cluster, and what it may do there."""
