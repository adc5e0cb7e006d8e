# SPDX-License-Identifier: Apache-2.0
"""StorageClasses of a test bed and the process that serves them."""

import os
import sys

from testbed.api import ApiClient, Json
from testbed.certificates import Authority
from testbed.places import SOURCE
from testbed.processes import Launcher
from testbed.state import State
from testbed.volumes import PROVISIONER

_DEFAULT = "storageclass.kubernetes.io/is-default-class"


def _storage_class(name: str, binding: str, default: str) -> Json:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name, "annotations": {_DEFAULT: default}},
        "provisioner": PROVISIONER,
        "reclaimPolicy": "Delete",
        "volumeBindingMode": binding,
        "allowVolumeExpansion": True,
    }


# `standard` binds at once and follows a pod to any node, like network storage; `local` binds with
# the first pod and stays on its node, like a disk.
_CLASSES = {
    "standard": _storage_class("standard", "Immediate", "true"),
    "local": _storage_class("local", "WaitForFirstConsumer", "false"),
}


def start(state: State, launcher: Launcher, client: ApiClient) -> None:
    """Make the StorageClasses and start the provisioner."""
    places = launcher.places
    authority = Authority.open(places.pki)
    kubeconfig = authority.kubeconfig(
        authority.folder / "provisioner.conf", state.server, "provisioner", "system:masters"
    )
    places.volumes.mkdir(parents=True, exist_ok=True)
    launcher.start(
        "provisioner",
        [sys.executable, "-m", "testbed.provisioner", kubeconfig, places.volumes],
        env={"PYTHONPATH": os.pathsep.join([str(SOURCE.parent), *filter(None, sys.path)])},
    )
    for name, wanted in _CLASSES.items():
        client.apply(f"/apis/storage.k8s.io/v1/storageclasses/{name}", wanted)
