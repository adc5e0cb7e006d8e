# SPDX-License-Identifier: Apache-2.0
"""What a test bed could leave on a machine."""

import re
import subprocess
from pathlib import Path

_SYSTEM_FOLDERS = (
    "/run/containerd",
    "/run/netns",
    "/var/lib/cni",
    "/var/lib/kubelet",
    "/var/log/containers",
    "/var/log/pods",
    "/etc/cni",
)
_SETTINGS = (
    "fs/inotify/max_user_watches",
    "vm/overcommit_memory",
    "vm/panic_on_oom",
    "kernel/panic",
    "kernel/panic_on_oops",
    "net/ipv4/ip_forward",
    "net/ipv4/conf/all/route_localnet",
)


def _output(*argv: str) -> str:
    answer = subprocess.run(argv, capture_output=True, text=True, check=False)
    return answer.stdout


def system() -> dict[str, object]:
    """Facts about the whole machine that no test bed may change."""
    rules = re.sub(r"^#.*$|\[\d+:\d+\]", "", _output("iptables-save"), flags=re.MULTILINE)
    return {
        "iptables": rules.strip(),
        "named network namespaces": _output("ip", "netns", "list"),
        "folders": [path for path in _SYSTEM_FOLDERS if Path(path).exists()],
        "settings": {name: Path("/proc/sys", name).read_text() for name in _SETTINGS},
    }


def of(identity: str, folder: Path) -> dict[str, list[str]]:
    """Everything on this machine that belongs to one test bed."""
    marks = (str(folder).encode(), f"MATRIXONE_TESTBED={identity}".encode())
    processes = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            text = (entry / "environ").read_bytes() + (entry / "cmdline").read_bytes()
        except OSError:
            continue
        # The tests' own interpreters name the folder too, in TESTBED_STATE.
        if marks[1] in text or marks[0] in (entry / "cmdline").read_bytes():
            processes.append(f"{entry.name} {text[-200:]!r}")
    mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    interfaces = [path.name for path in Path("/sys/class/net").iterdir()]
    routes = _output("ip", "route", "show", "table", "all").splitlines()
    return {
        "processes": processes,
        "mounts": [line for line in mounts if str(folder) in line],
        "interfaces": [name for name in interfaces if identity in name],
        "routes": [line for line in routes if identity in line],
        "control groups": [str(path) for path in Path("/sys/fs/cgroup").glob(f"**/*{identity}*")],
        "folders": [str(folder)] if folder.exists() else [],
    }


def none(found: dict[str, list[str]]) -> bool:
    """Whether nothing was found at all."""
    return not any(found.values())
