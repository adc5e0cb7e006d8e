# SPDX-License-Identifier: Apache-2.0
"""The servers of the process: the plays' API proxy, metrics, probes, the metrics API, webhooks."""
