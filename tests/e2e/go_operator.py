# SPDX-License-Identifier: Apache-2.0
"""A stand-in for the Go operator and OpenKruise: it makes their objects around the real database.

Names, labels, owners, finalizers, claims, volumes and the ids of stores are those of a cluster that
the Go operator runs. The definitions of OpenKruise's kinds take whatever they are given, and what
its controllers would do is done here: create Pods and claims by name, take over those that belong
to nobody, and report. The configuration is what our renderer makes of the same resources, whose
keys are the same.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha1
from typing import Any, Self

from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api import names
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.digests import digest7
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.kinds import (
    render_everything,
)

from faults.simulation.controllers import owner_of
from testbed.api import ApiClient, ApiError
from testbed.bed import TestBed

Json = dict[str, Any]

_SYNC_SECONDS = 1.0
_STRATEGIC = "application/strategic-merge-patch+json"
_GATES = {
    "LogSet": ("InPlaceUpdateReady",),
    "DNSet": ("InPlaceUpdateReady",),
    "CNSet": ("matrixorigin.io/cn-store", "KruisePodReady", "InPlaceUpdateReady"),
    "ProxySet": ("InPlaceUpdateReady",),
}
_TABLES = {"LogSet": "logservice", "DNSet": "dn", "CNSet": "cn", "ProxySet": "proxy"}
_STATEFUL = ("LogSet", "DNSet")
_PLURALS = {
    "MatrixOneCluster": "matrixoneclusters",
    "LogSet": "logsets",
    "DNSet": "dnsets",
    "CNSet": "cnsets",
    "ProxySet": "proxysets",
    "BucketClaim": "bucketclaims",
}
_COMMON = """set -eu
mounted=%(mount)s/%(file)s
config=$(mktemp)
join() {
  sed '/^\\[%(table)s\\]$/q' "$mounted"
  cat
  sed '1,/^\\[%(table)s\\]$/d' "$mounted"
}
hash_uuid() {
  digest=$(printf '%%s\\n' "$1" | sha256sum | cut -c1-16)
  printf '%%s' "$digest" | od -An -v -tx1 | awk '
    { for (i = 1; i <= NF; i++) byte[++n] = $i }
    END { for (i = 1; i <= n; i += 2) {
      if (i == 5 || i == 7 || i == 9 || i == 11) printf "-"
      printf "%%s%%s", byte[i + 1], byte[i] } }'
}
fqdn=$POD_NAME.${HEADLESS_SERVICE_NAME:-none}.$NAMESPACE.svc
ordinal=${POD_NAME##*-}
"""
_KEYS = {
    "LogSet": """{
  sed '/^\\[logservice\\]$/d' /etc/gossip/gossip.toml
  printf 'uuid = "00000000-0000-0000-0000-0%%011x"\\n' "$ordinal"
  printf 'service-host = "%%s"\\n' "$fqdn"
  printf 'raft-port = 32000\\nlogservice-port = 32001\\ngossip-port = 32002\\n'
} | join >"$config"
sed '/^\\[logservice\\]$/d' /etc/bootstrap/bootstrap.toml >>"$config"
until nslookup "$fqdn" >/dev/null 2>&1 || nslookup "$fqdn.cluster.local" >/dev/null; do
  sleep 1
done
""",
    "DNSet": """{
  printf 'uuid = "00000000-0000-0000-0000-1%%011x"\\n' "$ordinal"
  printf 'service-address = "%%s:41010"\\nservice-host = "%%s"\\n' "$fqdn" "$fqdn"
} | join >"$config"
until nslookup "$fqdn" >/dev/null 2>&1 || nslookup "$fqdn.cluster.local" >/dev/null; do
  sleep 1
done
""",
    "CNSet": """{
  printf 'uuid = "%%s"\\nlisten-address = "0.0.0.0:6002"\\n' "$(hash_uuid "$fqdn")"
  printf 'service-address = "%%s:6002"\\nsql-address = "%%s:6001"\\n' "$POD_IP" "$POD_IP"
  printf 'service-host = "%%s"\\n' "$POD_IP"
} | join >"$config"
""",
    "ProxySet": """printf 'uuid = "%%s"\\n' "$(hash_uuid "$POD_NAME.$NAMESPACE.svc")" |
  join >"$config"
""",
}
_END = 'exec /mo-service -cfg "$config" "$@"\n'


def definitions() -> list[Json]:
    """Return the definitions of OpenKruise's kinds, as far as they are needed."""
    kinds = (("StatefulSet", "v1beta1"), ("CloneSet", "v1alpha1"))
    return [_definition(kind, version) for kind, version in kinds]


def _definition(kind: str, version: str) -> Json:
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    plural = f"{kind.lower()}s"
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.apps.kruise.io"},
        "spec": {
            "group": "apps.kruise.io",
            "names": {"kind": kind, "plural": plural, "listKind": f"{kind}List"},
            "scope": "Namespaced",
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {"spec": anything, "status": anything},
                        }
                    },
                    "subresources": {"status": {}},
                }
            ],
        },
    }


class GoOperator:
    """Makes and runs a cluster as the Go operator and OpenKruise do, until the end of the block.

    Args:
        bed: a test bed with a real node and the image of MatrixOne.
        namespace: where the cluster is.
        resource: the MatrixOneCluster.
    """

    def __init__(self, bed: TestBed, namespace: str, resource: Json) -> None:
        self._bed, self._namespace = bed, namespace
        self._resource = resource
        self._api = ApiClient(bed.kubeconfig)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.problems: list[str] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(60)

    def create(self) -> None:
        """Create the resources of the cluster and all objects that belong to them."""
        for one in definitions():
            self._bed.kubectl("apply", "-f", "-", input=json.dumps(one))
        self._bed.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=30s")
        cluster = self._create_resource({**self._resource, "metadata": self._meta_of_cluster()})
        self._create(_credential(self._namespace, cluster))
        self._report(cluster, {"credentialRef": {"name": "mo-credential"}})
        for found in self._children():
            self._create_set(found, cluster)

    def make_workloads(self) -> None:
        """Create what the sets lack, which is their workloads, as after a restart of it."""
        for found in self._children():
            kind, name = found["kind"], found["metadata"]["name"]
            live = self._api.request("GET", self._path_of(kind, name))
            for one in self._parts(live):
                with suppress(ApiError):  # it is there
                    self._create(one)
            self._create(self._workload(live))

    def _meta_of_cluster(self) -> Json:
        return {
            "name": "mo",
            "namespace": self._namespace,
            "finalizers": ["matrixorigin.io/matrixonecluster"],
        }

    def _children(self) -> list[Json]:
        metadata = {"name": "mo", "namespace": self._namespace}
        rendered = self._rendered({**self._resource, "metadata": metadata})
        return [one for one in rendered if one["kind"] in _TABLES]

    def _rendered(self, resource: Json) -> list[Json]:
        scripts = dict.fromkeys(("logset", "dnset", "cnset", "proxyset"), "#!/bin/sh\n")
        return list(render_everything(resource, start_scripts=scripts))

    def _create_set(self, found: Json, cluster: Json) -> None:
        kind, name = found["kind"], found["metadata"]["name"]
        metadata: Json = {
            "name": name,
            "namespace": self._namespace,
            "finalizers": [f"matrixorigin.io/{kind.lower()}"],
            "labels": {"matrixorigin.io/cluster": "mo"} if kind == "CNSet" else {},
            "ownerReferences": [owner_of(cluster)],
        }
        if kind == "LogSet":
            members = [
                {"ordinal": ordinal, "replicaId": 131072 + ordinal}
                for ordinal in range(found["spec"]["replicas"])
            ]
            text = json.dumps(members, separators=(",", ":"))
            metadata["annotations"] = {"logset.matrixorigin.io/bootstrap": text}
        live = self._create_resource({**found, "metadata": metadata})
        if kind == "LogSet" and found["spec"]["sharedStorage"].get("s3"):
            self._create_bucket_claim(live)
        for one in self._parts(live):
            self._create(one)
        self._create(self._workload(live))
        ready = [_condition("Ready", live), _condition("Synced", live)]
        self._report(live, {"conditions": ready})

    def _create_bucket_claim(self, log_set: Json) -> None:
        """Claim the path of the data as the Go operator does, for all sets of the cluster."""
        s3, uid = log_set["spec"]["sharedStorage"]["s3"], log_set["metadata"]["uid"]
        place = f"{s3['type']}-{s3['endpoint']}-{s3['path']}"
        label = sha1(place.encode(), usedforsecurity=False).hexdigest()
        sets = (("DN", "mo"), ("CN", "mo-tp"))
        claim = {
            "apiVersion": "core.matrixorigin.io/v1alpha1",
            "kind": "BucketClaim",
            "metadata": {
                "name": f"bucket-{uid}",
                "namespace": self._namespace,
                "labels": {"matrixorigin.io/bucket-unique-id": label},
                "annotations": {"bucket.matrixorigin.io/any-instance-running": "true"},
                "finalizers": [
                    "matrixorigin.io/bucket-data-finalizer",
                    *(f"matrixorigin.io/{k}-{digest7(f'{self._namespace}:{n}')}" for k, n in sets),
                ],
            },
            "spec": {"s3": s3, "logSetSpec": {"spec": {"containers": []}}},
        }
        live = self._create_resource(claim)
        bound = f"{self._namespace}/{log_set['metadata']['name']}"
        self._report(live, {"bindTo": bound, "state": "InUse"})

    def _parts(self, live: Json) -> Iterator[Json]:
        """Yield ConfigMaps and Services of a set."""
        metadata = {"name": "mo", "namespace": self._namespace}
        kind, name = live["kind"], live["metadata"]["name"]
        base = names.base_name(kind, name)
        labels = names.selector_labels(kind, name, self._namespace)
        for one in self._rendered({**self._resource, "metadata": metadata}):
            place = one["metadata"]
            if (place.get("labels") or {}).get(names.LABEL_COMPONENT) != kind:
                continue
            if place["labels"][names.LABEL_INSTANCE] != name:
                continue
            own = {"name": place["name"], "namespace": self._namespace, "labels": labels}
            own["ownerReferences"] = [owner_of(live)]
            if one["kind"] == "Service":
                yield {**one, "metadata": own}
            elif place["name"] == f"{base}-bootstrap":
                own.pop("labels")
                yield {**one, "metadata": own, "immutable": False}
            elif place["name"] == f"{base}-gossip":
                own.pop("labels")
                text = one["data"]["gossip.toml"]
                yield {**one, "metadata": own, "data": {"gossip.toml": text}}
            elif one["kind"] == "ConfigMap" and place["name"].startswith(f"{base}-config-"):
                own["name"] = f"{base}-config"
                yield {
                    "apiVersion": "v1",
                    "kind": "ConfigMap",
                    "metadata": own,
                    "data": _data(kind, one["data"]),
                }

    def _workload(self, live: Json) -> Json:
        kind, name, spec = live["kind"], live["metadata"]["name"], live["spec"]
        base = names.base_name(kind, name)
        labels = names.selector_labels(kind, name, self._namespace)
        stateful = kind in _STATEFUL
        made: Json = {
            "apiVersion": f"apps.kruise.io/{'v1beta1' if stateful else 'v1alpha1'}",
            "kind": "StatefulSet" if stateful else "CloneSet",
            "metadata": {
                "name": base,
                "namespace": self._namespace,
                "labels": labels,
                "ownerReferences": [owner_of(live)],
            },
            "spec": {
                "replicas": spec["replicas"],
                "selector": {"matchLabels": labels},
                "template": self._template(live, labels),
            },
        }
        if stateful:
            policy = {"whenDeleted": "Delete", "whenScaled": "Delete"}
            made["spec"]["persistentVolumeClaimRetentionPolicy"] = policy
            made["spec"]["serviceName"] = f"{base}-headless"
        if kind == "LogSet":
            size = {"requests": {"storage": spec["volume"]["size"]}}
            chosen = spec["volume"].get("storageClassName")
            kept = {"storageClassName": chosen} if chosen else {}
            made["spec"]["volumeClaimTemplates"] = [
                {
                    "metadata": {"name": "mo-data"},
                    "spec": {"accessModes": ["ReadWriteOnce"], "resources": size, **kept},
                }
            ]
        return made

    def _template(self, live: Json, labels: Json) -> Json:
        kind, name, spec = live["kind"], live["metadata"]["name"], live["spec"]
        base, overlay = names.base_name(kind, name), spec.get("overlay") or {}
        config = self._api.request(
            "GET", f"/api/v1/namespaces/{self._namespace}/configmaps/{base}-config"
        )
        suffix = next(key for key in config["data"] if ".toml-" in key).rpartition("-")[2]
        mount = "/etc/logservice" if kind == "LogSet" else "/etc/matrixone/config"
        mounts = [{"name": "config", "mountPath": mount, "readOnly": True}]
        volumes: list[Json] = [{"name": "config", "configMap": {"name": f"{base}-config"}}]
        if kind == "LogSet":
            mounts.append({"name": "mo-data", "mountPath": "/var/lib/matrixone"})
            for part in ("bootstrap", "gossip"):
                mounts.append({"name": part, "mountPath": f"/etc/{part}", "readOnly": True})
                volumes.append({"name": part, "configMap": {"name": f"{base}-{part}"}})
        container = {
            "name": "main",
            "image": spec["image"],
            "imagePullPolicy": "IfNotPresent",
            "command": ["/bin/sh", f"{mount}/start.sh"],
            "env": [
                *_environment(base),
                *_login(self._resource["spec"]["logService"]),
                *(overlay.get("env") or []),
            ],
            "resources": spec.get("resources") or {},
            "volumeMounts": [*mounts, *(overlay.get("volumeMounts") or [])],
        }
        if kind == "ProxySet":
            probe = {"tcpSocket": {"port": 6001}, "periodSeconds": 5, "failureThreshold": 2}
            container["readinessProbe"] = probe
        return {
            "metadata": {
                "labels": {**labels, "matrixorigin.io/cluster": "mo"},
                "annotations": {"matrixorigin.io/config-suffix": suffix},
                "finalizers": ["matrixorigin.io/cn-draining"] if kind == "CNSet" else [],
            },
            "spec": {
                "containers": [container],
                "volumes": [*volumes, *(overlay.get("volumes") or [])],
                "readinessGates": [{"conditionType": gate} for gate in _GATES[kind]],
                **({"subdomain": f"{base}-headless"} if kind != "ProxySet" else {}),
            },
        }

    # What OpenKruise does.

    def _run(self) -> None:
        while not self._stop.wait(_SYNC_SECONDS):
            try:
                self._sync()
            except ApiError as error:
                self.problems.append(str(error))

    def _sync(self) -> None:
        for version, plural in (("v1beta1", "statefulsets"), ("v1alpha1", "clonesets")):
            path = f"/apis/apps.kruise.io/{version}/namespaces/{self._namespace}/{plural}"
            try:
                listed = self._api.request("GET", path)["items"]
            except ApiError:
                continue
            for workload in listed:
                if not workload["metadata"].get("deletionTimestamp"):
                    self._sync_workload(f"{path}/{workload['metadata']['name']}", workload)

    def _sync_workload(self, path: str, workload: Json) -> None:
        spec, metadata = workload["spec"], workload["metadata"]
        selector = ",".join(f"{k}={v}" for k, v in spec["selector"]["matchLabels"].items())
        pods = self._api.request(
            "GET", f"/api/v1/namespaces/{self._namespace}/pods?labelSelector={selector}"
        )["items"]
        stateful = workload["kind"] == "StatefulSet"
        own = [pod for pod in pods if self._is_own(pod, workload)]
        if stateful:
            known = {pod["metadata"]["name"] for pod in pods}
            for ordinal in range(spec["replicas"]):
                if f"{metadata['name']}-{ordinal}" not in known:
                    self._create_pod(workload, f"{metadata['name']}-{ordinal}")
        else:
            for number in range(len(own), spec["replicas"]):
                self._create_pod(workload, f"{metadata['name']}-{metadata['uid'][:4]}{number}")
        for pod in own:
            self._open_gates(pod)
        ready = sum(_is_ready(pod) for pod in own)
        status = {
            "observedGeneration": metadata["generation"],
            "replicas": len(own),
            "updatedReplicas": len(own),
            "readyReplicas": ready,
        }
        if workload.get("status") != status:
            self._api.merge(f"{path}/status", {"status": status})

    def _is_own(self, pod: Json, workload: Json) -> bool:
        """Tell whether a workload runs a Pod; an Advanced StatefulSet takes over what is free."""
        metadata = pod["metadata"]
        owners = metadata.get("ownerReferences") or []
        if any(owner["uid"] == workload["metadata"]["uid"] for owner in owners):
            return True
        if workload["kind"] != "StatefulSet" or owners or metadata.get("deletionTimestamp"):
            return False
        path = f"/api/v1/namespaces/{self._namespace}/pods/{metadata['name']}"
        self._api.merge(path, {"metadata": {"ownerReferences": [owner_of(workload)]}})
        return True

    def _create_pod(self, workload: Json, name: str) -> None:
        spec, metadata = workload["spec"], workload["metadata"]
        template = json.loads(json.dumps(spec["template"]))
        labels = {**template["metadata"]["labels"], "controller-revision-hash": "kruise"}
        if workload["kind"] == "CloneSet":
            labels["apps.kruise.io/cloneset-instance-id"] = name.rpartition("-")[2]
        else:
            labels["statefulset.kubernetes.io/pod-name"] = name
            template["spec"]["hostname"] = name
            for claim in spec.get("volumeClaimTemplates") or []:
                self._claim(workload, claim, name)
                volume = claim["metadata"]["name"]
                source = {"claimName": f"{volume}-{name}"}
                template["spec"]["volumes"].append(
                    {"name": volume, "persistentVolumeClaim": source}
                )
        place = {
            **template["metadata"],
            "name": name,
            "namespace": self._namespace,
            "labels": labels,
            "ownerReferences": [owner_of(workload)],
        }
        if not metadata.get("deletionTimestamp"):
            self._create({"apiVersion": "v1", "kind": "Pod", **template, "metadata": place})

    def _claim(self, workload: Json, template: Json, pod: str) -> None:
        policy = workload["spec"]["persistentVolumeClaimRetentionPolicy"]
        owners = [owner_of(workload)] if policy["whenDeleted"] == "Delete" else []
        metadata = {
            "name": f"{template['metadata']['name']}-{pod}",
            "namespace": self._namespace,
            "labels": workload["spec"]["selector"]["matchLabels"],
            "ownerReferences": owners,
        }
        claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "spec": template["spec"]}
        with suppress(ApiError):
            self._create({**claim, "metadata": metadata})

    def _open_gates(self, pod: Json) -> None:
        gates = [one["conditionType"] for one in pod["spec"].get("readinessGates") or []]
        conditions = pod["status"].get("conditions") or []
        open_ = {one["type"] for one in conditions if one["status"] == "True"}
        closed = [gate for gate in gates if gate not in open_]
        if closed and pod["status"].get("phase") == "Running":
            path = f"/api/v1/namespaces/{self._namespace}/pods/{pod['metadata']['name']}/status"
            change = {"status": {"conditions": [{"type": g, "status": "True"} for g in closed]}}
            self._api.request("PATCH", path, change, _STRATEGIC)

    # Requests.

    def _path_of(self, kind: str, name: str = "") -> str:
        path = f"/apis/core.matrixorigin.io/v1alpha1/namespaces/{self._namespace}/{_PLURALS[kind]}"
        return f"{path}/{name}" if name else path

    def _create_resource(self, manifest: Json) -> Json:
        return self._api.request("POST", self._path_of(manifest["kind"]), manifest)

    def _report(self, live: Json, status: Json) -> None:
        path = self._path_of(live["kind"], live["metadata"]["name"])
        self._api.merge(f"{path}/status", {"status": status})

    def _create(self, manifest: Json) -> Json:
        group, kind = manifest["apiVersion"], manifest["kind"]
        prefix = f"/apis/{group}" if "/" in group else f"/api/{group}"
        path = f"{prefix}/namespaces/{self._namespace}/{kind.lower()}s"
        return self._api.request("POST", path, manifest)


def _data(kind: str, rendered: Json) -> Json:
    """Return the ConfigMap's data in the layout with the digest in the key."""
    file = names.CONFIG_FILES.get(kind, names.CONFIG_FILE)
    text, key = rendered[file], f"{file}-{digest7(rendered[file])}"
    mount = "/etc/logservice" if kind == "LogSet" else "/etc/matrixone/config"
    values = {"mount": mount, "file": key, "table": _TABLES[kind]}
    return {"start.sh": (_COMMON + _KEYS[kind]) % values + _END, key: text}


def _environment(base: str) -> list[Json]:
    fields = {"POD_NAME": "metadata.name", "NAMESPACE": "metadata.namespace"}
    fields |= {"POD_IP": "status.podIP"}
    return [
        *({"name": k, "valueFrom": {"fieldRef": {"fieldPath": v}}} for k, v in fields.items()),
        {"name": "HEADLESS_SERVICE_NAME", "value": f"{base}-headless"},
    ]


def _login(spec: Json) -> list[Json]:
    s3 = (spec.get("sharedStorage") or {}).get("s3") or {}
    secret = (s3.get("secretRef") or {}).get("name")
    keys = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY") if secret else ()
    login = [
        {"name": key, "valueFrom": {"secretKeyRef": {"name": secret, "key": key}}} for key in keys
    ]
    return [*login, {"name": "AWS_REGION", "value": s3.get("region") or "us-west-2"}]


def _credential(namespace: str, cluster: Json) -> Json:
    metadata = {
        "name": "mo-credential",
        "namespace": namespace,
        "ownerReferences": [owner_of(cluster)],
    }
    login = {"username": "dump", "password": "111"}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": login}


def _condition(kind: str, live: Json) -> Json:
    return {
        "type": kind,
        "status": "True",
        "reason": "empty",
        "message": "",
        "lastTransitionTime": live["metadata"]["creationTimestamp"],
        "observedGeneration": live["metadata"]["generation"],
    }


def _is_ready(pod: Json) -> bool:
    conditions = pod["status"].get("conditions") or []
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
