# SPDX-License-Identifier: Apache-2.0
"""Where the test bed keeps things: a cache that outlives test beds, one folder per test bed.

Both roots can be moved by environment variables, and nothing is written elsewhere.
"""

import os
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).resolve().parent

RESERVE_SECONDS = 30.0
"""How long the lock of ports and addresses is waited for."""


def cache_root() -> Path:
    """Return the folder of built binaries and images (``TESTBED_CACHE``)."""
    chosen = os.environ.get("TESTBED_CACHE")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "matrixone-testbed"


def state_root() -> Path:
    """Return the folder that holds one folder per test bed (``TESTBED_STATE``)."""
    chosen = os.environ.get("TESTBED_STATE")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_STATE_HOME")
    return (Path(base) if base else Path.home() / ".local" / "state") / "matrixone-testbed"


def bed_lock(name: str) -> Path:
    """Return the lock of whoever changes a test bed."""
    return state_root() / f".{name}.lock"


def reservation_lock() -> Path:
    """Return the lock of whoever chooses ports and addresses that no other test bed has."""
    return state_root() / ".reserve"


@dataclass(frozen=True, slots=True)
class Places:
    """The paths of one test bed, all below ``root``."""

    root: Path

    @classmethod
    def of(cls, name: str) -> "Places":
        """Return the paths of the test bed called ``name``."""
        return cls(state_root() / name)

    @property
    def state(self) -> Path:
        """The state file; it exists from before the first to after the last side effect."""
        return self.root / "state.json"

    @property
    def kubeconfig(self) -> Path:
        """Kubeconfig of a cluster administrator."""
        return self.root / "kubeconfig"

    @property
    def processes(self) -> Path:
        """One record file per process."""
        return self.root / "processes"

    @property
    def logs(self) -> Path:
        """One log file per process."""
        return self.root / "logs"

    @property
    def pki(self) -> Path:
        """Keys, certificates and the kubeconfigs of components."""
        return self.root / "pki"

    @property
    def etcd(self) -> Path:
        """The data of etcd."""
        return self.root / "etcd"

    @property
    def volumes(self) -> Path:
        """One folder per PersistentVolume."""
        return self.root / "volumes"

    def node(self, name: str) -> Path:
        """Return the folder of a real node: its private /run, /var/lib, /var/log."""
        return self.root / "nodes" / name
