# SPDX-License-Identifier: Apache-2.0
"""ProxySet: the proxy in front of compute nodes. Pure functions."""
