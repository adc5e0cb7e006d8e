# SPDX-License-Identifier: Apache-2.0
"""What all passes do at the API server, and where they ask HAKeeper."""
