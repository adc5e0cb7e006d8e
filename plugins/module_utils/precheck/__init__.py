# SPDX-License-Identifier: Apache-2.0
"""Whether a resource needs a pass: after an event, and between two of them."""
