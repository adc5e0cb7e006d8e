# SPDX-License-Identifier: Apache-2.0
"""Debian packages that real nodes and images require."""

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from testbed.errors import RequirementError
from testbed.progress import Progress

_CNI_FOLDERS = (Path("/usr/lib/cni"), Path("/opt/cni/bin"))
_CNI_PLUGINS = ("bridge", "host-local", "loopback", "portmap")
_APT_SECONDS = 900.0


def find_tool(name: str) -> str | None:
    """Return the path of a system tool; root's folders are searched for every user."""
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin:/usr/bin:/bin")


def cni_folder() -> Path | None:
    """Return the folder that holds the CNI plugins a node needs."""
    for folder in _CNI_FOLDERS:
        if all((folder / plugin).exists() for plugin in _CNI_PLUGINS):
            return folder
    return None


def static_busybox() -> Path | None:
    """Return a busybox that needs no libraries."""
    found = find_tool("busybox")
    if found is None:
        return None
    # A dynamically linked program names its loader near the beginning of the file.
    with Path(found).open("rb") as file:
        return None if b"ld-linux" in file.read(4096) else Path(found)


# What shows that a package, or something as good, is there.
NODE_PACKAGES: Mapping[str, Callable[[], object]] = {
    "containerd": lambda: find_tool("containerd") and find_tool("ctr"),
    "runc": lambda: find_tool("runc"),
    "containernetworking-plugins": cni_folder,
    "iptables": lambda: find_tool("iptables"),
    "conntrack": lambda: find_tool("conntrack"),
    "iproute2": lambda: find_tool("ip"),
}
IMAGE_PACKAGES: Mapping[str, Callable[[], object]] = {"busybox-static": static_busybox}
COMPILER_PACKAGES: Mapping[str, Callable[[], object]] = {
    "build-essential": lambda: find_tool("cc") and find_tool("make")
}


def _apt(*arguments: str) -> str:
    """Run apt-get; return what it said when it failed, else nothing."""
    result = subprocess.run(
        ["apt-get", "-q", "-o", "DPkg::Lock::Timeout=300", *arguments],
        env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
        capture_output=True,
        text=True,
        check=False,
        timeout=_APT_SECONDS,
    )
    lines = (result.stdout + result.stderr).strip().splitlines()
    return "" if result.returncode == 0 else " | ".join(lines[-3:])


def install(packages: Mapping[str, Callable[[], object]], progress: Progress) -> None:
    """Install the Debian packages that are missing; nothing happens when none is.

    Args:
        packages: a test for presence by package name.
        progress: told what is installed.

    Raises:
        RequirementError: some are missing and cannot be installed here.
    """
    missing = [name for name, present in packages.items() if not present()]
    if not missing:
        return
    remedy = f"apt-get install {' '.join(missing)}"
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise RequirementError(f"missing on this machine; as root: {remedy}")
    progress(f"installing {', '.join(missing)}")
    install_now = ("install", "-y", "--no-install-recommends", *missing)
    if _apt(*install_now):
        # Package lists may be old or not there at all.
        failure = _apt("update") or _apt(*install_now)
        if failure:
            raise RequirementError(f"`{remedy}` failed: {failure}")
    still = [name for name in missing if not packages[name]()]
    if still:
        raise RequirementError(f"{', '.join(still)}: installed, but what is needed is not there")
