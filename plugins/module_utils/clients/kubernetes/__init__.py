# SPDX-License-Identifier: Apache-2.0
"""A small Kubernetes client for actions: JSON over one HTTP session, no generated models.

Only actions import this package; rendering, status and planning never do.
"""
