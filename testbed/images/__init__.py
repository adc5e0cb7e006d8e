# SPDX-License-Identifier: Apache-2.0
"""Container images made without Docker and without a registry."""
