# SPDX-License-Identifier: Apache-2.0
"""Take kubernetes.core out of PyPI's package ``ansible``, so that Ansible Galaxy is not needed.

Usage: kubernetes_core.py FOLDER-WITH-WHEEL ANSIBLE-COLLECTIONS-FOLDER
"""

import sys
import zipfile
from pathlib import Path

PREFIX = "ansible_collections/kubernetes/core/"


def main(wheels: Path, collections: Path) -> None:
    """Unpack the collection below a folder called ``ansible_collections``."""
    with zipfile.ZipFile(next(wheels.glob("ansible-*.whl"))) as wheel:
        wanted = [name for name in wheel.namelist() if name.startswith(PREFIX)]
        collections.parent.mkdir(parents=True, exist_ok=True)
        wheel.extractall(collections.parent, wanted)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
