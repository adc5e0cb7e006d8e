# SPDX-License-Identifier: Apache-2.0
"""The Kubernetes client reads its configuration with libyaml: every run reads its kubeconfig."""

import contextlib
import functools
import importlib
import types

import yaml


def install() -> None:
    """Have the client use libyaml, if both are installed."""
    with contextlib.suppress(ImportError):
        kube_config = importlib.import_module("kubernetes.config.kube_config")
        if not yaml.__with_libyaml__:
            return
        fast = types.SimpleNamespace(**vars(yaml))
        fast.safe_load = functools.partial(yaml.load, Loader=yaml.CSafeLoader)
        vars(kube_config)["yaml"] = fast
