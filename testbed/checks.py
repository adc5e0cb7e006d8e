# SPDX-License-Identifier: Apache-2.0
"""What a machine must have, asked before anything is begun."""

import os
import platform
from pathlib import Path

from testbed.errors import RequirementError
from testbed.places import state_root
from testbed.state import NodeKind

# Measured: a control plane takes 0.5 GiB; a real node 0.3, and a small MatrixOne 2.5 on top.
_MINIMUM_MEBIBYTES: dict[NodeKind, int] = {"fake": 800, "real": 1200}
_NODE_PLACES = ("/run", "/var/run", "/var/lib", "/var/log", "/proc")


def available_memory() -> int:
    """Return how many bytes of memory could be used without swapping."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) << 10
    return 0


def check_machine(nodes: NodeKind) -> None:
    """Refuse a machine that cannot run a test bed with such nodes.

    Raises:
        RequirementError: with the first thing that is missing.
    """
    if platform.system() != "Linux":
        raise RequirementError(
            "the test bed runs on Linux only: use KUBECONFIG with another cluster"
        )
    if nodes == "real" and os.geteuid() != 0:
        raise RequirementError(
            "real nodes need root (containers, network interfaces): "
            "use sudo, or fake nodes with --nodes fake"
        )
    # A node has private folders at these paths, so it could not see the test bed's.
    if nodes == "real" and any(state_root().resolve().is_relative_to(p) for p in _NODE_PLACES):
        raise RequirementError(
            f"real nodes cannot be kept in {state_root()}: set TESTBED_STATE to a folder "
            f"that is not below {', '.join(_NODE_PLACES)}"
        )
    wanted = _MINIMUM_MEBIBYTES[nodes]
    available = available_memory() >> 20
    if available < wanted:
        raise RequirementError(
            f"a test bed with {nodes} nodes needs {wanted} MiB of free memory, "
            f"{available} MiB are left: end other programs or test beds (`testbed list`)"
        )
