# SPDX-License-Identifier: Apache-2.0
"""Container images built without Docker and without a registry."""
