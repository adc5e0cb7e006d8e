# SPDX-License-Identifier: Apache-2.0
"""The Kubernetes client of a play: whatever K8S_AUTH_KUBECONFIG says."""

import os

from kubernetes import config
from kubernetes.dynamic import DynamicClient


def resources():
    """All kinds of the API server."""
    file = os.environ["K8S_AUTH_KUBECONFIG"]
    return DynamicClient(config.new_client_from_config(config_file=file)).resources
