# SPDX-License-Identifier: Apache-2.0
"""What the process serves: the plays' API proxy, metrics, probes, the metrics API, webhooks."""
