# SPDX-License-Identifier: Apache-2.0
"""The configuration files of a real node's programs."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

import yaml

from testbed import cgroups
from testbed.certificates import Authority
from testbed.images.recipes import PAUSE
from testbed.network import node_address, pod_range
from testbed.packages import cni_folder
from testbed.places import Places
from testbed.state import State

# Seen from inside the node only; a path below the node's folder could be too long for a socket.
SOCKET = "/run/containerd/containerd.sock"


_BRIDGE_FILTER = Path("/proc/sys/net/bridge/bridge-nf-call-iptables")
_KUBELET = {
    "clusterDomain": "cluster.local",
    "resolvConf": "",
    "cgroupDriver": "cgroupfs",
    "cgroupsPerQOS": True,
    "enforceNodeAllocatable": [],
    "failCgroupV1": False,
    "failSwapOn": False,
    "localStorageCapacityIsolation": False,
    "oomScoreAdj": 0,
    "maxPods": 240,
    # Pods are kept while the machine has any memory and space left at all.
    "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1%"},
    "imageGCHighThresholdPercent": 100,
    "nodeStatusUpdateFrequency": "5s",
    "kubeAPIQPS": 500,
    "kubeAPIBurst": 1000,
    "eventRecordQPS": 0,
}


@dataclass(frozen=True, slots=True)
class NodeFiles:
    """Where one node's files are, and writes them.

    Attributes:
        state: the test bed.
        index: number of the node.
    """

    state: State
    index: int

    @property
    def name(self) -> str:
        """Name of the node."""
        return self.state.node_names[self.index]

    @property
    def folder(self) -> Path:
        """Folder of everything that belongs to the node."""
        return Places.of(self.state.name).node(self.name)

    @property
    def authority(self) -> Authority:
        """Issues the node's certificates."""
        return Authority.open(Places.of(self.state.name).pki)

    def containerd(self) -> Path:
        """Write containerd's configuration, and that of the pod network."""
        self._cni()
        content = f"""version = 2
root = {_toml(self.folder / "containerd")}
state = "/run/containerd"
oom_score = 0
disabled_plugins = [
  "io.containerd.internal.v1.opt",
  "io.containerd.snapshotter.v1.aufs",
  "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.snapshotter.v1.zfs",
]

[grpc]
address = "{SOCKET}"

[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "{PAUSE}"
# Where CAP_SYS_RESOURCE is missing, runc could not lower the score and no pod would start.
restrict_oom_score_adj = true
# A profile would stay loaded in the kernel after the node is deleted.
disable_apparmor = true

[plugins."io.containerd.grpc.v1.cri".containerd]
default_runtime_name = "runc"
snapshotter = "{_snapshotter(self.folder)}"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
SystemdCgroup = false

[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = {_toml(cni_folder() or "/usr/lib/cni")}
conf_dir = {_toml(self.folder / "cni")}
"""
        return self._write("containerd.toml", content)

    def _cni(self) -> None:
        network = {
            "cniVersion": "0.4.0",
            "name": "testbed",
            "plugins": [
                {
                    "type": "bridge",
                    "bridge": "cni0",
                    "isGateway": True,
                    # A pod may reach itself through its own Service.
                    "hairpinMode": True,
                    "ipam": {
                        "type": "host-local",
                        "dataDir": "/var/lib/cni/addresses",
                        "ranges": [[{"subnet": pod_range(self.state, self.index)}]],
                        "routes": [{"dst": "0.0.0.0/0"}],
                    },
                },
                {"type": "portmap", "capabilities": {"portMappings": True}},
            ],
        }
        self._write("cni/10-testbed.conflist", json.dumps(network, indent=2))

    def kubelet(self) -> tuple[Path, Path]:
        """Write kubelet's configuration; return it and its kubeconfig."""
        address = node_address(self.state, self.index)
        certificate, key = self.authority.issue(
            f"{self.name}-server", self.name, "", [self.name, address]
        )
        content = {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "containerRuntimeEndpoint": f"unix://{SOCKET}",
            "address": address,
            "tlsCertFile": str(certificate),
            "tlsPrivateKeyFile": str(key),
            "authentication": {
                "anonymous": {"enabled": False},
                "x509": {"clientCAFile": str(self.authority.folder / "ca.crt")},
            },
            "clusterDNS": [address],
            "cgroupRoot": cgroups.of_node(self.state, self.name),
            **_KUBELET,
        }
        kubeconfig = self.authority.kubeconfig(
            self.authority.folder / f"{self.name}.conf",
            self.state.server,
            f"system:node:{self.name}",
            "system:nodes",
        )
        return self._write("kubelet.yaml", yaml.safe_dump(content)), kubeconfig

    def kube_proxy(self) -> Path:
        """Write kube-proxy's configuration."""
        kubeconfig = self.authority.kubeconfig(
            self.authority.folder / "proxy.conf", self.state.server, "system:kube-proxy"
        )
        # Zeros: these limits belong to the whole machine and are left as they are.
        conntrack = {
            "maxPerCore": 0,
            "min": 0,
            "tcpEstablishedTimeout": "0s",
            "tcpCloseWaitTimeout": "0s",
        }
        content = {
            "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
            "kind": "KubeProxyConfiguration",
            "clientConnection": {"kubeconfig": str(kubeconfig), "qps": 500, "burst": 1000},
            "hostnameOverride": self.name,
            "mode": "iptables",
            "iptables": {
                "minSyncPeriod": "0s",
                "localhostNodePorts": False,
                # Without this kernel module, an answer from a pod on the same bridge would reach
                # the caller under another address than the Service's.
                "masqueradeAll": not _BRIDGE_FILTER.exists(),
            },
            "detectLocalMode": "BridgeInterface",
            "detectLocal": {"bridgeInterface": "cni0"},
            "conntrack": conntrack,
        }
        return self._write("kube-proxy.yaml", yaml.safe_dump(content))

    def coredns(self) -> Path:
        """Write the configuration of the node's name server."""
        kubeconfig = self.authority.kubeconfig(
            self.authority.folder / "dns.conf", self.state.server, "dns", "system:masters"
        )
        content = f"""cluster.local:53 in-addr.arpa:53 {{
  bind {node_address(self.state, self.index)}
  errors
  kubernetes cluster.local in-addr.arpa {{
    kubeconfig {kubeconfig}
    pods insecure
    ttl 1
  }}
}}
.:53 {{
  bind {node_address(self.state, self.index)}
  errors
  template ANY ANY {{
    rcode NXDOMAIN
  }}
}}
"""
        return self._write("Corefile", content)

    def _write(self, name: str, content: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        # kube-proxy ends when its file is written, even with the same content.
        if not path.exists() or path.read_text() != content:
            path.write_text(content)
        return path


def _toml(path: Path | str) -> str:
    return json.dumps(str(path))


def _snapshotter(folder: Path) -> str:
    """Return how containerd stacks images; overlays do not stack on an overlay, so copies do."""
    answer = subprocess.run(
        ["stat", "--file-system", "--format=%T", folder],
        capture_output=True,
        text=True,
        check=False,
    )
    return "native" if answer.stdout.strip() == "overlayfs" else "overlayfs"
