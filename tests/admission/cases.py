# SPDX-License-Identifier: Apache-2.0
"""What schemas cannot say, as a table: overlays, configurations, updates."""

from typing import Any

Json = dict[str, Any]

PROBE = {"tcpSocket": {"port": 6001}}
SAFE = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
SIDECAR = {"name": "side", "image": "busybox:1", "securityContext": SAFE}
AFFINITY = "podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution"


def _nested(path: str, value: Any) -> Json:
    for name in reversed(path.split(".")):
        value = {name: value}
    return value


def _volume(**fields: Any) -> Json:
    return {"volumes": [{"name": "v", **fields}]}


def _env(**fields: Any) -> Json:
    return {"env": [{"name": "A", **fields}]}


def _mount(name: str) -> Json:
    return {"volumeMounts": [{"name": name, "mountPath": "/x"}]}


def _side(**fields: Any) -> Json:
    return {"sidecarContainers": [{**SIDECAR, **fields}]}


def _node_term(**fields: Any) -> Json:
    place = "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
    return _nested(place, {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", **fields}]}]})


def _claim(**spec: Any) -> Json:
    usual = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return {"volumeClaims": [{"metadata": {"name": "more"}, "spec": {**usual, **spec}}]}


def _spread(**fields: Any) -> Json:
    usual = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    return {"topologySpreadConstraints": [{**usual, **fields}]}


#: overlays that Kubernetes refuses, with the field and the beginning of the message
REFUSED_OVERLAYS: list[tuple[Json, str]] = [
    (_mount("nowhere"), "volumeMounts[0].name: there is no volume 'nowhere'"),
    (
        _side(**_mount("nowhere")),
        "sidecarContainers[0].volumeMounts[0].name: there is no volume 'nowhere'",
    ),
    (_env(name="A=B"), "env[0].name: must be the name of a variable"),
    (_env(value=1), "env[0].value: must be a text, not a number"),
    (
        _env(value="1", valueFrom={"fieldRef": {"fieldPath": "metadata.name"}}),
        "env[0]: value and valueFrom are mutually exclusive",
    ),
    (_env(valueFrom={}), "env[0].valueFrom: must have exactly one source"),
    (_env(valueFrom={"secretKeyRef": {"name": "s"}}), "env[0].valueFrom.secretKeyRef.key: must"),
    (_env(valueFrom={"fieldRef": {}}), "env[0].valueFrom.fieldRef.fieldPath: must be set"),
    ({"envFrom": [{"prefix": "x"}]}, "envFrom[0]: one of configMapRef, secretRef must be set"),
    (
        {"envFrom": [{"configMapRef": {"name": "a"}, "secretRef": {"name": "b"}}]},
        "envFrom[0]: configMapRef and secretRef are mutually exclusive",
    ),
    ({"livenessProbe": {"periodSeconds": 5}}, "livenessProbe: one of exec, httpGet, tcpSocket"),
    (
        {"readinessProbe": {**PROBE, "exec": {"command": ["true"]}}},
        "readinessProbe: exec and tcpSocket are mutually exclusive",
    ),
    ({"readinessProbe": {"tcpSocket": {"port": 0}}}, "readinessProbe.tcpSocket.port: must be at"),
    ({"readinessProbe": {"tcpSocket": {"port": "6001"}}}, "readinessProbe.tcpSocket.port: must be"),
    ({"readinessProbe": {"httpGet": {"path": "/"}}}, "readinessProbe.httpGet.port: must be set"),
    (
        {"readinessProbe": {"httpGet": {"port": 80, "scheme": "http"}}},
        "readinessProbe.httpGet.scheme: must be one of HTTP, HTTPS, not 'http'",
    ),
    ({"livenessProbe": {**PROBE, "periodSeconds": -1}}, "livenessProbe.periodSeconds: must be at"),
    ({"livenessProbe": {**PROBE, "periodSeconds": "5"}}, "livenessProbe.periodSeconds: must be a"),
    (
        {"startupProbe": {**PROBE, "successThreshold": 2}},
        "startupProbe.successThreshold: must be at most 1",
    ),
    ({"livenessProbe": {"exec": {"command": []}}}, "livenessProbe.exec.command: must be set"),
    ({"lifecycle": {"preStop": {}}}, "lifecycle.preStop: one of exec, httpGet, tcpSocket, sleep"),
    (
        {"mainContainerSecurityContext": {"runAsUser": -1}},
        "mainContainerSecurityContext.runAsUser: must be at least 0",
    ),
    (
        {"mainContainerSecurityContext": {"privileged": True, "allowPrivilegeEscalation": False}},
        "mainContainerSecurityContext.allowPrivilegeEscalation: cannot be false",
    ),
    ({"securityContext": {"runAsUser": "root"}}, "securityContext.runAsUser: must be a whole"),
    (
        {"securityContext": {"seccompProfile": {"type": "Localhost"}}},
        "securityContext.seccompProfile.localhostProfile: must be set when type is Localhost",
    ),
    (
        {"securityContext": {"seccompProfile": {"type": "Default"}}},
        "securityContext.seccompProfile.type: must be one of Localhost",
    ),
    (
        {"volumes": [{"name": "my_volume", "emptyDir": {}}]},
        "volumes[0].name: must be a DNS label",
    ),
    (
        _volume(emptyDir={}, hostPath={"path": "/x"}),
        "volumes[0]: emptyDir and hostPath are mutually exclusive",
    ),
    (_volume(persistentVolumeClaim={}), "volumes[0].persistentVolumeClaim.claimName: must be set"),
    (_claim(accessModes=["Often"]), "volumeClaims[0].spec.accessModes[0]: must be one of"),
    (_claim(accessModes=[]), "volumeClaims[0].spec.accessModes: must be set"),
    (_claim(resources={}), "volumeClaims[0].spec.resources.requests: must be set"),
    (_side(name="my_side"), "sidecarContainers[0].name: must be a DNS label"),
    (_side(name="main"), "sidecarContainers[0].name: main is the operator's own container"),
    ({"initContainers": [{"name": "a"}]}, "initContainers[0].image: must be set"),
    (
        {"initContainers": [SIDECAR, SIDECAR]},
        "initContainers[1]: another element has the same name",
    ),
    (
        {"initContainers": [SIDECAR], "sidecarContainers": [SIDECAR]},
        "initContainers[0].name: a sidecar container is called side, too",
    ),
    (
        _side(ports=[{"containerPort": 70000}]),
        "sidecarContainers[0].ports[0].containerPort: must be at most 65535",
    ),
    (
        _side(resources={"requests": {"memory": "2Gi"}, "limits": {"memory": "1Gi"}}),
        "sidecarContainers[0].resources.requests.memory: must not be larger than the limit",
    ),
    (
        _side(resources={"requests": {"example.com/gpu": 1}}),
        "sidecarContainers[0].resources.requests.example.com/gpu: needs a limit",
    ),
    (
        _side(resources={"limits": {"example.com/gpu": "1500m"}}),
        "sidecarContainers[0].resources.limits.example.com/gpu: must be a whole number",
    ),
    (
        _side(resources={"limits": {"memory": "lots"}}),
        "sidecarContainers[0].resources.limits.memory: 'lots' is not a quantity",
    ),
    (
        _side(resources={"limits": {"ram": "1Gi"}}),
        "sidecarContainers[0].resources.limits: must be cpu, memory",
    ),
    (
        _side(volumeMounts=[{"name": "tmp", "mountPath": "/x"}] * 2),
        "sidecarContainers[0].volumeMounts[1]: another element has the same mountPath",
    ),
    ({"priorityClassName": "Very_High"}, "priorityClassName: must be a DNS name"),
    ({"serviceAccountName": "a b"}, "serviceAccountName: must be a DNS name"),
    (_node_term(operator="Is", values=["b"]), "affinity.nodeAffinity.requiredDuring"),
    (_node_term(operator="In"), "affinity.nodeAffinity.requiredDuring"),
    (_node_term(operator="Exists", values=["b"]), "affinity.nodeAffinity.requiredDuring"),
    (_nested(f"affinity.{AFFINITY}", [{}]), f"affinity.{AFFINITY}[0].topologyKey: must be set"),
    (
        {
            "affinity": {
                "podAffinity": {
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {"weight": 101, "podAffinityTerm": {"topologyKey": "zone"}}
                    ]
                }
            }
        },
        "affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: must be",
    ),
    ({"tolerations": [{"value": "x"}]}, "tolerations[0].operator: must be Exists when key is"),
    (
        {"tolerations": [{"key": "a", "operator": "Exists", "value": "b"}]},
        "tolerations[0].value: must be empty when operator is Exists",
    ),
    ({"tolerations": [{"key": "a", "effect": "Never"}]}, "tolerations[0].effect: must be one of"),
    (
        {"tolerations": [{"key": "a", "tolerationSeconds": 5}]},
        "tolerations[0].effect: must be NoExecute when tolerationSeconds is set",
    ),
    ({"hostAliases": [{"ip": "localhost"}]}, "hostAliases[0].ip: must be an IP address"),
    (_spread(maxSkew=0), "topologySpreadConstraints[0].maxSkew: must be at least 1"),
    (_spread(whenUnsatisfiable="Wait"), "topologySpreadConstraints[0].whenUnsatisfiable: must be"),
    (
        _spread(minDomains=2, whenUnsatisfiable="ScheduleAnyway"),
        "topologySpreadConstraints[0].minDomains: may only be set when",
    ),
    (
        {"dnsConfig": {"nameservers": ["10.0.0.1"] * 4}},
        "dnsConfig.nameservers: must not have more than 3 elements",
    ),
    ({"dnsConfig": {"nameservers": ["dns"]}}, "dnsConfig.nameservers[0]: must be an IP address"),
    ({"podLabels": {"a b": "c"}}, "podLabels: must be a label key such as app"),
    ({"podLabels": {"a": "b c"}}, "podLabels.a: must be a label value"),
    ({"podAnnotations": {"a b": "c"}}, "podAnnotations: must be a label key"),
]

#: overlays that Kubernetes takes, and that must not be refused here
ACCEPTED_OVERLAYS: list[Json] = [
    _mount("mo-data"),
    {**_claim(), **_mount("more")},
    {**_volume(emptyDir={}), **_side(volumeMounts=[{"name": "v", "mountPath": "/v"}])},
    {},
    {"livenessProbe": {}, "lifecycle": None, "securityContext": {}, "serviceAccountName": ""},
    _env(),
    _env(name="my.var-1", value="{{ not a template }}"),
    _env(valueFrom={"secretKeyRef": {"name": "s", "key": "k", "optional": True}}),
    _env(valueFrom={"resourceFieldRef": {"resource": "limits.cpu"}}),
    {"env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]},
    {"readinessProbe": {"httpGet": {"port": "http", "path": "/"}}},
    {"livenessProbe": {"grpc": {"port": 6001}, "terminationGracePeriodSeconds": 5}},
    {"lifecycle": {"preStop": {"sleep": {"seconds": 5}}}},
    {"volumes": [{"name": "v"}], "volumeMounts": [{"name": "v", "mountPath": "/v"}]},
    _volume(csi={"driver": "secrets.example.com"}),
    {
        "volumes": [{"name": "v", "emptyDir": {"sizeLimit": "1Gi"}}],
        "volumeMounts": [{"name": "v", "mountPath": "/a"}, {"name": "v", "mountPath": "/b"}],
    },
    _claim(),
    _side(ports=[{"containerPort": 80}, {"containerPort": 81}], restartPolicy=None),
    _side(resources={"requests": {"example.com/gpu": 1}, "limits": {"example.com/gpu": 1}}),
    _side(livenessProbe=PROBE, volumeMounts=[{"name": "config", "mountPath": "/c"}]),
    {"initContainers": [{**SIDECAR, "restartPolicy": "Always"}]},
    _node_term(operator="Gt", values=["4"]),
    _node_term(operator="DoesNotExist"),
    _nested(f"affinity.{AFFINITY}", [{"topologyKey": "kubernetes.io/hostname"}]),
    {"tolerations": [{"operator": "Exists"}, {"key": "a", "value": "b", "effect": "NoSchedule"}]},
    {"hostAliases": [{"ip": "fd00::1", "hostnames": ["a.example.com"]}]},
    _spread(labelSelector={"matchLabels": {"app": "x"}}),
    {"dnsConfig": {"options": [{"name": "ndots", "value": "2"}], "searches": ["example.com"]}},
    {"podLabels": {"example.com/team": "a_b.c", "empty": ""}},
    {"podAnnotations": {"example.com/Note": "{{ anything }}"}},
    {"mainContainerSecurityContext": {"runAsUser": 0, "capabilities": {"add": ["NET_ADMIN"]}}},
]

#: kind, changes, field and beginning of the message
REFUSED: list[tuple[str, Json, str]] = [
    ("LogSet", {"spec.config": "[log\n"}, "spec.config: is not valid TOML"),
    ("DNSet", {"spec.config": "a = 1\na = 2\n"}, "spec.config: is not valid TOML"),
    ("CNSet", {"spec.config": "a = 99999999999999999999\n"}, "spec.config: a: 9999999999999"),
    ("ProxySet", {"spec.config": "x"}, "spec.config: is not valid TOML"),
    (
        "DNSet",
        {"spec.config": "tn = {}\n[dn.x]\n"},
        "spec.config: config must not have both a [tn] and a [dn] table",
    ),
    (
        "CNSet",
        {"spec.pythonUdfSidecar": {"enabled": True, "overlay": _env(value=1)}},
        "spec.pythonUdfSidecar.overlay.env[0].value: must be a text",
    ),
    ("WebUI", {"spec.overlay": _env(value=1)}, "spec.overlay.env[0].value: must be a text"),
    (
        "ProxySet",
        {"spec.serviceAnnotations": {"no key!": "x"}},
        "spec.serviceAnnotations: must be a label key",
    ),
    (
        "WebUI",
        {"spec.serviceAnnotations": {"no key!": "x"}},
        "spec.serviceAnnotations: must be a label key",
    ),
    (
        "CNSet",
        {"spec.serviceType": "LoadBalancer", "spec.loadBalancerSourceRanges": ["::/0", "1:2/64"]},
        "spec.loadBalancerSourceRanges[1]: must be a network such as 192.0.2.0/24, not '1:2/64'",
    ),
    (
        "MatrixOneCluster",
        {
            "spec.cnGroups.0.serviceType": "LoadBalancer",
            "spec.cnGroups.0.loadBalancerClass": f"{'a' * 254}/b",
        },
        "spec.cnGroups[0].loadBalancerClass: must be a label key",
    ),
    ("WebUI", {"spec.image": "webui"}, "spec.image: must be <repository>:<tag>, from which both"),
    ("WebUI", {"spec.image": "host:5000/webui"}, "spec.image: must be <repository>:<tag>"),
    (
        "CNSet",
        {"spec.pythonUdfSidecar": {"enabled": True, "overlay": _mount("nowhere")}},
        "spec.pythonUdfSidecar.overlay.volumeMounts[0].name: there is no volume 'nowhere'",
    ),
    (
        "MatrixOneCluster",
        {"spec.proxy": {"replicas": 1, "overlay": _mount("nowhere")}},
        "spec.proxy.overlay.volumeMounts[0].name: there is no volume 'nowhere'",
    ),
    (
        "MatrixOneCluster",
        {"spec.webui": {"replicas": 1, "image": "webui"}},
        "spec.webui.image: must be <repository>:<tag>",
    ),
    ("MatrixOneCluster", {"spec.tn.config": "[tn"}, "spec.tn.config: is not valid TOML"),
    (
        "MatrixOneCluster",
        {"spec.cnGroups.0.overlay": {"podLabels": {"a": "b c"}}},
        "spec.cnGroups[0].overlay.podLabels.a: must be a label value",
    ),
    (
        "MatrixOneCluster",
        {"spec.logService.overlay": {"tolerations": [{"value": "x"}]}},
        "spec.logService.overlay.tolerations[0].operator: must be Exists",
    ),
    (
        "MatrixOneCluster",
        {"spec.proxy": {"replicas": 1, "config": "["}},
        "spec.proxy.config: is not valid TOML",
    ),
    ("WebUI", {"spec.config": "[broken"}, "spec.config: is not valid TOML"),
    (
        "ProxySet",
        {"spec.resources": {"claims": [{"name": "gpu"}]}},
        "spec.resources.claims[0].name: there is no resource claim 'gpu'",
    ),
    (
        "CNSet",
        {"spec.pythonUdfSidecar": {"enabled": True, "resources": {"claims": [{"name": "gpu"}]}}},
        "spec.pythonUdfSidecar.resources.claims[0].name: there is no resource claim 'gpu'",
    ),
    (
        "MatrixOneCluster",
        {"spec.cnGroups.0.resources": {"claims": [{"name": "gpu"}]}},
        "spec.cnGroups[0].resources.claims[0].name: there is no resource claim 'gpu'",
    ),
    (
        "LogSet",
        {"spec.overlay": _side(resources={"claims": [{"name": "gpu"}]})},
        "spec.overlay.sidecarContainers[0].resources.claims[0].name: there is no resource claim",
    ),
]

#: kind, changes before, changes after, what is said (empty: nothing)
UPDATES: list[tuple[str, Json, Json, str]] = [
    ("WebUI", {"spec.image": "webui"}, {"spec.replicas": 2}, ""),
    ("WebUI", {"spec.image": "webui"}, {"spec.image": "webui:1"}, ""),
    ("LogSet", {"spec.overlay": _mount("nowhere")}, {"spec.replicas": 5}, ""),
    ("LogSet", {}, {"spec.overlay": _mount("nowhere")}, "spec.overlay.volumeMounts[0].name: there"),
    ("LogSet", {}, {"spec.config": "[log"}, "spec.config: is not valid TOML"),
    ("LogSet", {"spec.config": "[log"}, {"spec.replicas": 5}, ""),
    ("LogSet", {"spec.config": "[log"}, {"metadata.labels": {"a": "b"}}, ""),
    ("LogSet", {"spec.config": "[log"}, {"spec.config": "[log "}, "spec.config: is not valid TOML"),
    ("LogSet", {"spec.config": "[log"}, {"spec.config": "[log]"}, ""),
    (
        "MatrixOneCluster",
        {"spec.tn.overlay": {"podLabels": {"a": "b c"}}},
        {"spec.cnGroups.0.replicas": 1},
        "",
    ),
    (
        "MatrixOneCluster",
        {"spec.tn.overlay": {"podLabels": {"a": "b c"}}},
        {"spec.tn.overlay": {"podLabels": {"a": "b d"}}},
        "spec.tn.overlay.podLabels.a: must be a label value",
    ),
]

S3_POLICY = "spec.sharedStorage.s3.s3RetentionPolicy"

#: kind, changes, a part of the warning
WARNINGS: list[tuple[str, Json, str]] = [
    ("MatrixOneCluster", {"spec.version": "nightly"}, "'nightly' names no version of MatrixOne"),
    ("LogSet", {"spec.image": "mo:nightly"}, "spec.semanticVersion: 'nightly' names no version"),
    ("LogSet", {"spec.replicas": 2}, "spec.replicas: 2 log stores do not survive the failure"),
    ("MatrixOneCluster", {"spec.logService.replicas": 2}, "spec.logService.replicas: 2 log stores"),
    (
        "CNSet",
        {"spec.sharedStorageCache": {"diskCacheSize": "1Gi"}},
        "spec.sharedStorageCache.diskCacheSize: without cacheVolume",
    ),
    (
        "MatrixOneCluster",
        {"spec.version": "1.3.0", "spec.proxy": {"replicas": 1, "image": "mo:v1.2.1"}},
        "spec.proxy.image: 1.2.1 beside 1.3.0",
    ),
    (
        "MatrixOneCluster",
        {"spec.version": "nightly", "spec.semanticVersion": "2.1.0", "spec.tn.image": "mo:3.0.0"},
        "spec.tn.image: 3.0.0 beside 2.1.0",
    ),
    (
        "LogSet",
        {"spec.config": "[logservice]\nlocality = 'zone:a'\n"},
        "spec.config: with a locality in [logservice]",
    ),
    (
        "MatrixOneCluster",
        {"spec.logService.config": "[logservice]\nlocality = 'zone:a;region:b'\n"},
        "spec.logService.config: with a locality in [logservice]",
    ),
]

#: kind, path, before (None to create), after, parts of the warnings
RETENTION: list[tuple[str, str, Json | None, Json, list[str]]] = [
    (
        "LogSet",
        "spec",
        None,
        {},
        [
            "Delete, the default, deletes the volumes",
            "Delete, the default, deletes the objects in bucket/mo",
        ],
    ),
    (
        "LogSet",
        "spec",
        None,
        {"spec.pvcRetentionPolicy": "Delete"},
        ["Delete deletes the volumes", "deletes the objects"],
    ),
    (
        "LogSet",
        "spec",
        None,
        {"spec.pvcRetentionPolicy": "Delete", S3_POLICY: "Retain"},
        ["deletes the volumes"],
    ),
    ("LogSet", "spec", None, {"spec.pvcRetentionPolicy": "Retain"}, []),
    ("LogSet", "spec", None, {S3_POLICY: "Retain"}, []),
    ("LogSet", "spec", {}, {}, []),
    ("LogSet", "spec", {}, {"spec.pvcRetentionPolicy": "Delete"}, []),
    (
        "LogSet",
        "spec",
        {"spec.pvcRetentionPolicy": "Retain"},
        {},
        ["deletes the volumes", "deletes the objects"],
    ),
    (
        "LogSet",
        "spec",
        None,
        {S3_POLICY: "Delete"},
        ["deletes the volumes", "Delete deletes the objects in bucket/mo"],
    ),
    ("LogSet", "spec", {}, {S3_POLICY: "Delete"}, []),
    ("LogSet", "spec", {S3_POLICY: "Delete"}, {S3_POLICY: "Delete"}, []),
    (
        "MatrixOneCluster",
        "spec.logService",
        None,
        {},
        ["deletes the volumes", "deletes the objects in bucket/mo"],
    ),
    (
        "MatrixOneCluster",
        "spec.logService",
        None,
        {"spec.logService.pvcRetentionPolicy": "Retain"},
        [],
    ),
    ("MatrixOneCluster", "spec.logService", {}, {"spec.version": "1.2.4"}, []),
]

STEPS: list[tuple[Json, Json, str]] = [
    ({"spec.version": "1.3.0"}, {"spec.version": "1.2.3"}, "1.2.3 is older than 1.3.0"),
    ({"spec.version": "2.0.0"}, {"spec.version": "v1.9.9-rc1"}, "1.9.9-rc1 is older than 2.0.0"),
    ({"spec.version": "1.3.0"}, {"spec.version": "1.10.0"}, ""),
    ({"spec.version": "1.3.0"}, {"spec.version": "1.3.0-hotfix"}, ""),
    ({"spec.version": "1.3.0"}, {"spec.nodeSelector": {"a": "b"}}, ""),
    ({"spec.version": "1.3.0"}, {"spec.version": "nightly", "spec.semanticVersion": "1.3.1"}, ""),
]
"""Updates of a cluster, and what is said of a step back."""
