# SPDX-License-Identifier: Apache-2.0
"""LogSet: bootstrap, failover, scaling, shards. Pure functions."""
