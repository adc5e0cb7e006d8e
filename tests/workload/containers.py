# SPDX-License-Identifier: Apache-2.0
"""Folders in which start scripts run as they would in a container."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from tests.support import resources as r
from tests.support.installed import installed
from tests.support.places import ROOT

TOOLS = [
    *("awk", "cat", "cp", "cut", "date", "grep"),
    *("hostname", "mkdir", "mv", "od", "sha256sum", "timeout"),
]
DOUBLES = ("nslookup", "hostname", "sleep")
"""Programs that tests replace. Busybox's shell runs its own, whatever PATH says, so the script
calls them by their path here."""
FLAVOURS = ("busybox", "mawk", "gawk")
REPORT = f"""#!{sys.executable}
import json, os, sys
config = open(sys.argv[sys.argv.index("-cfg") + 1]).read()
print("\\n@@" + json.dumps({{"argv": sys.argv, "config": config, "cwd": os.getcwd()}}))
"""


class Container:
    """A folder that looks to a start script like the root of its container."""

    def __init__(self, root: Path, flavour: str, role: str) -> None:
        self.root, self.flavour = root, flavour
        self.script = ROOT / "roles" / role / "files" / "start.sh"
        self.path = root / "path"
        self.env = {"START_ROOT": str(root), "PATH": str(self.path), "NAMESPACE": "prod"}
        for folder in ("path", "tmp", "var/lib/matrixone", "etc"):
            (root / folder).mkdir(parents=True, exist_ok=True)
        self._tools()
        self.program("nslookup", "#!/bin/sh\nexit 0\n", self.path)
        self.program("sleep", "#!/bin/sh\nexec /bin/sleep 0.1\n", self.path)
        self.write("etc/resolv.conf", "nameserver 127.0.0.1\nsearch first.example svc.example\n")
        self.program("mo-service", REPORT, root)

    def _tools(self) -> None:
        for tool in TOOLS:
            is_flavoured = tool == "awk" or self.flavour == "busybox"
            (self.path / tool).symlink_to(installed(self.flavour if is_flavoured else tool))

    def program(self, name: str, text: str, folder: Path) -> None:
        """Put an executable somewhere."""
        target = folder / name
        target.unlink(missing_ok=True)
        target.write_text(text)
        target.chmod(0o755)

    def write(self, path: str, text: str) -> None:
        """Put a file somewhere under the root."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def shell(self) -> list[str]:
        """Return the command of the shell."""
        if self.flavour == "busybox":
            return [installed("busybox"), "sh"]
        return [str(shutil.which("dash") or shutil.which("sh"))]

    def run(self, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
        """Run the start script."""
        text = self.script.read_text()
        for name in DOUBLES:
            text = re.sub(rf"\b{name} ?(?=[1\"$)])", rf"{self.path}/{name} ", text)
        self.write("start.sh", text)
        return subprocess.run(
            [*self.shell(), str(self.root / "start.sh"), *args],
            env={**self.env, **env},
            cwd=self.root / "var/lib/matrixone",
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def report(self, *args: str, **env: str) -> dict[str, Any]:
        """Run the start script to its end and return what mo-service saw."""
        done = self.run(*args, **env)
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        found: dict[str, Any] = json.loads(done.stdout.rpartition("\n@@")[2])
        found["toml"] = tomllib.loads(found["config"])
        found["output"] = done.stdout
        return found


def log_container(tmp_path: Path, flavour: str, subject: r.Json | None = None) -> Container:
    container = Container(tmp_path, flavour, "logset")
    objects = r.render(subject or r.logset())
    bootstrap = r.find(objects, "ConfigMap", "mo-log-bootstrap")["data"]
    gossip = r.find(objects, "ConfigMap", "mo-log-gossip")["data"]
    container.write("etc/logservice/logservice.toml", r.config_text(objects))
    container.write("etc/bootstrap/bootstrap.toml", bootstrap["bootstrap.toml"])
    for name, text in gossip.items():
        container.write(f"etc/gossip/{name}", text)
    container.env |= {
        "POD_NAME": "mo-log-1",
        "POD_IP": "10.1.2.3",
        "HEADLESS_SERVICE_NAME": "mo-log-headless",
        "DNS_TIMEOUT": "20",
    }
    return container


def set_container(tmp_path: Path, flavour: str, role: str, subject: r.Json) -> Container:
    container = Container(tmp_path, flavour, role)
    container.write("etc/matrixone/config/config.toml", r.config_text(r.render(subject)))
    return container
