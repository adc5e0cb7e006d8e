# SPDX-License-Identifier: Apache-2.0
"""A drop-in, fast runner for Ansible operators.

Layers, each importing only what stands to its right:
``cli -> manager -> serve | loop -> engine -> kube -> (watches, metrics, errors)``.
It knows Kubernetes and Ansible, and nothing of any particular operator.
"""

__version__ = "0.1.0"
