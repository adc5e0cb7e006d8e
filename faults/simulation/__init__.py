# SPDX-License-Identifier: Apache-2.0
"""A Kubernetes in memory, and the roles of the collection played in this process.

The plugins that run are the real ones; only what they ask over a network is played.
"""
