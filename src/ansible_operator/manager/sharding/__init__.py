# SPDX-License-Identifier: Apache-2.0
"""Several processes of one operator that all reconcile: each runs the objects of its shards."""

from ansible_operator.manager.sharding.election import ShardedElection

__all__ = ["ShardedElection"]
