# SPDX-License-Identifier: Apache-2.0
"""Which programs a test bed needs and where they are found.

A program in the folder ``KUBEBUILDER_ASSETS`` or on ``PATH`` is used as it is; the others are built
from the modules in ``binaries/`` and kept in the cache.
"""

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from testbed.places import SOURCE, cache_root
from testbed.state import NodeKind

_KUBERNETES = "v1.36.3"
_OLDEST_MINOR = 34
_HELM = "v4.3.1"
_VERSITYGW = "v1.8.0"
_KUBERNETES_STAMP = " ".join(
    f"-X k8s.io/component-base/version.{key}={value}"
    for key, value in {"gitVersion": _KUBERNETES, "gitMajor": "1", "gitMinor": "36"}.items()
)


@dataclass(frozen=True, slots=True)
class Group:
    """Programs that are built from one Go module.

    Attributes:
        name: folder below ``binaries/``.
        packages: import path by program.
        stamp: linker flags beside ``-s -w``.
        native: C sources inside this Go module (path ``cgo/``) make a library it links.
        minutes: how long the first build takes on four cores, for the progress line.
    """

    name: str
    packages: Mapping[str, str]
    stamp: str = ""
    native: str = ""
    minutes: float = 1.0

    @property
    def folder(self) -> Path:
        """Folder of go.mod."""
        return SOURCE / "binaries" / self.name

    def digest(self) -> str:
        """Return what the sources and flags of this group amount to."""
        content = hashlib.sha256(repr((self.packages, self.stamp, self.native)).encode())
        for path in sorted(path for path in self.folder.rglob("*") if path.is_file()):
            name = path.relative_to(self.folder).as_posix()
            content.update(name.encode() + path.read_bytes())
        return content.hexdigest()[:12]


GROUPS = (
    Group(
        "etcd-kwok",
        {"etcd": "go.etcd.io/etcd/server/v3", "kwok": "sigs.k8s.io/kwok/cmd/kwok"},
        minutes=1.5,
    ),
    Group(
        "control-plane",
        {
            name: f"k8s.io/kubernetes/cmd/{name}"
            for name in (
                "kube-apiserver",
                "kube-controller-manager",
                "kube-scheduler",
                "kubectl",
                "kubelet",
                "kube-proxy",
            )
        },
        stamp=_KUBERNETES_STAMP,
        minutes=4,
    ),
    Group("coredns", {"coredns": "github.com/coredns/coredns"}, minutes=1.5),
    Group("node-init", {"node-init": "."}, minutes=0.1),
    # The database; `testbed.database` says which of them runs.
    Group(
        "matrixone-1.3",
        {"mo-service-1.3": "github.com/matrixorigin/matrixone/cmd/mo-service"},
        native="github.com/matrixorigin/matrixone",
        minutes=2.5,
    ),
    Group(
        "matrixone-2.0",
        {"mo-service-2.0": "github.com/matrixorigin/matrixone/cmd/mo-service"},
        native="github.com/matrixorigin/matrixone",
        minutes=4,
    ),
    # An S3 server, the add-on `testbed s3`.
    Group(
        "versitygw",
        {"versitygw": "github.com/versity/versitygw/cmd/versitygw"},
        stamp=f"-X main.Version={_VERSITYGW}",
    ),
    # What charts are installed with; no test bed runs it, tests do.
    Group(
        "helm",
        {"helm": "helm.sh/helm/v4/cmd/helm"},
        stamp=f"-X helm.sh/helm/v4/internal/version.version={_HELM}",
        minutes=1.5,
    ),
    # The engine of Prometheus, to see alerts fire; tests run it.
    Group("promql", {"promql": "."}, minutes=2),
    # What checks bundles for the Operator Lifecycle Manager; tests run it.
    Group(
        "operator-verify",
        {"operator-verify": "github.com/operator-framework/api/cmd/operator-verify"},
    ),
    # The database's own RPC code with scripted state and faults; no test bed runs them, tests do.
    Group(
        "rpc-peers",
        {"hakeeper-sim": "./cmd/hakeeper-sim", "hakeeper-real": "./cmd/hakeeper-real"},
        native="github.com/matrixorigin/matrixone",
        minutes=2.5,
    ),
)

_CONTROL_PLANE = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl")
_NODES: dict[NodeKind, tuple[str, ...]] = {
    "fake": ("kwok",),
    "real": ("kubelet", "kube-proxy", "coredns", "node-init"),
}


def programs_for(nodes: NodeKind) -> tuple[str, ...]:
    """Return the programs that a test bed with such nodes runs."""
    return _CONTROL_PLANE + _NODES[nodes]


def programs() -> tuple[str, ...]:
    """Return the names of all programs that can be built."""
    return tuple(program for group in GROUPS for program in group.packages)


def group_of(program: str) -> Group:
    """Return the group that a program is built in."""
    return next(group for group in GROUPS if program in group.packages)


def go_version() -> str | None:
    """Return the version of the Go toolchain (``go1.26.8``), or None without one."""
    if shutil.which("go") is None:
        return None
    answer = subprocess.run(
        ["go", "env", "GOVERSION"], capture_output=True, text=True, check=False, cwd=SOURCE
    )
    return answer.stdout.strip() or None


def cached_folder(group: Group) -> Path | None:
    """Return the cache folder of a group's programs for the Go version at hand.

    Without Go a folder that any version has filled will do; None when there is none.
    """
    root = cache_root() / "bin"
    prefix = f"{group.name}-{group.digest()}"
    version = go_version()
    if version:
        return root / f"{prefix}-{version}"
    return next(iter(sorted(root.glob(f"{prefix}-go*"), reverse=True)), None)


_VERSION = re.compile(r"\bv1\.(\d+)\.\d+")


def _fits(program: Path) -> bool:
    """Return whether a Kubernetes program is not too old for the others; Debian's kubectl is."""
    if not program.name.startswith("kube"):
        return True
    argument = ["version", "--client"] if program.name == "kubectl" else ["--version"]
    answer = subprocess.run([program, *argument], capture_output=True, text=True, check=False)
    match = _VERSION.search(answer.stdout)
    return match is not None and int(match[1]) >= _OLDEST_MINOR


def _given(program: str) -> Path | None:
    folders = [os.environ.get("KUBEBUILDER_ASSETS"), *os.environ.get("PATH", "").split(os.pathsep)]
    for folder in filter(None, folders):
        found = shutil.which(program, path=folder)
        if found and _fits(Path(found)):
            return Path(found).resolve()
    return None


def locate(programs: Iterable[str]) -> tuple[dict[str, Path], list[str]]:
    """Find programs without building any.

    Returns:
        Paths of those found, and the names of those that have to be built.
    """
    found: dict[str, Path] = {}
    missing: list[str] = []
    folders: dict[str, Path | None] = {}
    for program in programs:
        path = _given(program)
        if path is None:
            group = group_of(program)
            if group.name not in folders:
                folders[group.name] = cached_folder(group)
            folder = folders[group.name]
            path = folder / program if folder else None
        if path and os.access(path, os.X_OK):
            found[program] = path
        else:
            missing.append(program)
    return found, missing
