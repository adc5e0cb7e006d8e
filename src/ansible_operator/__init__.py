# SPDX-License-Identifier: Apache-2.0
"""A drop-in, fast runner for Ansible operators.

Layers, each importing only what is to its right: ``cli -> manager -> options -> serve | loop ->
engine -> kube -> watches -> metrics | logs -> errors`` (held by import-linter, see pyproject.toml).
It knows Kubernetes and Ansible, and nothing of any particular operator.
"""

__version__ = "0.2.0"
