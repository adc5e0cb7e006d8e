# SPDX-License-Identifier: Apache-2.0
"""What Kubernetes does about objects that the operator writes: workloads, Pods, volumes, Jobs.

Every Pod starts at once and is ready. A step does what the controllers do in about a second.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from typing import Any

from faults.simulation.server import ApiServer, Key

Json = dict[str, Any]
Program = Callable[[ApiServer, Json], bool]
"""Runs what a Job runs, as far as it comes in a step; returns whether it has ended."""
_PULL = "matrixorigin.io/image-pull"
"""Label of a Job that only pulls an image, which nodes do at once."""
_HASH = "controller-revision-hash"
_TEMPLATE_HASH = "pod-template-hash"


class Controllers:
    """The controllers and kubelets of a cluster.

    Attributes:
        starts: decides whether a Pod becomes ready; all do unless a test says otherwise.
        steps_to_end: of a Pod that was told to end; it is reported to be ready until then.
        program: what Jobs run; without one they run for ever.
    """

    def __init__(self, server: ApiServer) -> None:
        self._server = server
        self.starts: Callable[[Json], bool] = lambda _pod: True
        self.steps_to_end = 1
        self.program: Program | None = None
        self._ending: dict[str, int] = {}

    def step(self) -> bool:
        """Do what there is to do; return whether anything changed."""
        before = self._server.version
        self._collect_garbage()
        for key, found in self._server.of_kind("StatefulSet"):
            self._stateful_set(key, found)
        for key, found in self._server.of_kind("Deployment"):
            self._deployment(key, found)
        for key, found in self._server.of_kind("PersistentVolumeClaim"):
            self._claim(key, found)
        for key, found in self._server.of_kind("Job"):
            self._job(key, found)
        for key, found in self._server.of_kind("Pod"):
            self._pod(key, found)
        for key, found in self._server.of_kind("Service"):
            self._service(key, found)
        return self._server.version != before

    @property
    def is_busy(self) -> bool:
        """Whether a Pod is about to end: nothing changes, and that is not the end."""
        return any(
            found["metadata"].get("deletionTimestamp")
            for _key, found in self._server.of_kind("Pod")
        )

    def settle(self, steps: int = 40) -> None:
        """Let everything become quiet, as far as it does."""
        for _ in range(steps):
            if not self.step():
                return

    def _collect_garbage(self) -> None:
        uids = {one["metadata"]["uid"] for one in self._server.objects.values()}
        for key, found in list(self._server.objects.items()):
            owners = found["metadata"].get("ownerReferences") or []
            if owners and not any(one["uid"] in uids for one in owners):
                self._end(key, found)

    def _end(self, key: Key, found: Json) -> None:
        if found["metadata"].get("finalizers"):
            if not found["metadata"].get("deletionTimestamp"):
                now = self._server.timestamp()
                self._server.update(key, lambda one: one["metadata"].update(deletionTimestamp=now))
        elif key in self._server.objects:
            self._server.remove(key)

    # Workloads

    def _stateful_set(self, key: Key, found: Json) -> None:
        spec, name, namespace = found["spec"], found["metadata"]["name"], key[2]
        if found["metadata"].get("deletionTimestamp"):
            return
        replicas = spec.get("replicas", 1)
        revision = f"{name}-{_digest(spec['template'])}"
        status = found.get("status") or {}
        current = status.get("currentRevision") or revision
        self._adopt(found)
        self._retain(found)
        pods = {pod["metadata"]["name"]: pod for _, pod in self._owned("Pod", found)}
        partition = ((spec.get("updateStrategy") or {}).get("rollingUpdate") or {}).get(
            "partition", 0
        )
        for ordinal in range(replicas):
            pod = f"{name}-{ordinal}"
            self._claims_of(found, ordinal)
            if pod not in pods:
                labels = {_HASH: revision, "statefulset.kubernetes.io/pod-name": pod}
                labels["apps.kubernetes.io/pod-index"] = str(ordinal)
                self._create_pod(found, pod, namespace, labels)
        beyond = [pod for pod in pods if int(pod.rpartition("-")[2]) >= replicas]
        for pod in beyond:
            self._delete_pod(namespace, pod)
            self._scaled(found, int(pod.rpartition("-")[2]))
        kept = {pod: one for pod, one in pods.items() if pod not in beyond}
        outdated = sorted(
            pod for pod, one in kept.items() if one["metadata"]["labels"].get(_HASH) != revision
        )
        ready = [pod for pod, one in kept.items() if is_ready(one)]
        strategy = (spec.get("updateStrategy") or {}).get("type", "RollingUpdate")
        rolled = [pod for pod in outdated if int(pod.rpartition("-")[2]) >= partition]
        if strategy == "RollingUpdate" and rolled and len(ready) == len(kept) == replicas:
            self._delete_pod(namespace, rolled[-1])
        done = not outdated and len(kept) == replicas
        self._write_status(
            key,
            {
                "observedGeneration": found["metadata"]["generation"],
                "replicas": len(kept),
                "readyReplicas": len(ready),
                "availableReplicas": len(ready),
                "updatedReplicas": len(kept) - len(outdated),
                "currentReplicas": len(kept) if done else len(outdated),
                "currentRevision": revision if done else current,
                "updateRevision": revision,
                "collisionCount": 0,
            },
        )

    def _adopt(self, workload: Json) -> None:
        """Take over Pods of its name that nobody owns: those of a workload deleted without them."""
        name, namespace = workload["metadata"]["name"], workload["metadata"]["namespace"]
        for key, pod in self._server.of_kind("Pod"):
            named = key[2] == namespace and key[3].rpartition("-")[0] == name
            if named and not pod["metadata"].get("ownerReferences"):
                owners = [owner_of(workload)]
                metadata = {**pod["metadata"], "ownerReferences": owners}
                self._server.change(key, {**pod, "metadata": metadata})

    def _retain(self, workload: Json) -> None:
        """Let the claims of a workload go with it, or not, as its policy says."""
        policy = workload["spec"].get("persistentVolumeClaimRetentionPolicy") or {}
        wanted = [owner_of(workload)] if policy.get("whenDeleted") == "Delete" else []
        uid, name = workload["metadata"]["uid"], workload["metadata"]["name"]
        for key, claim in self._server.of_kind("PersistentVolumeClaim"):
            owners = claim["metadata"].get("ownerReferences") or []
            others = [one for one in owners if one["uid"] != uid]
            ours = key[2] == workload["metadata"]["namespace"] and f"-{name}-" in key[3]
            if ours and len(owners) - len(others) != len(wanted):
                metadata = {**claim["metadata"], "ownerReferences": [*others, *wanted]}
                self._server.change(key, {**claim, "metadata": metadata})

    def _claims_of(self, workload: Json, ordinal: int) -> None:
        metadata = workload["metadata"]
        for template in workload["spec"].get("volumeClaimTemplates") or []:
            name = f"{template['metadata']['name']}-{metadata['name']}-{ordinal}"
            place = ("v1", "PersistentVolumeClaim", metadata["namespace"], name)
            if self._server.key(*place) in self._server.objects:
                continue
            labels = {
                **(workload["spec"]["selector"].get("matchLabels") or {}),
                **(template["metadata"].get("labels") or {}),
            }
            made = {**template["metadata"], "name": name, "namespace": place[2], "labels": labels}
            policy = workload["spec"].get("persistentVolumeClaimRetentionPolicy") or {}
            if policy.get("whenDeleted") == "Delete":
                made["ownerReferences"] = [owner_of(workload)]
            claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": made}
            self._server.add({**claim, "spec": template["spec"]})

    def _scaled(self, workload: Json, ordinal: int) -> None:
        policy = workload["spec"].get("persistentVolumeClaimRetentionPolicy") or {}
        if policy.get("whenScaled") != "Delete":
            return
        metadata = workload["metadata"]
        for template in workload["spec"].get("volumeClaimTemplates") or []:
            name = f"{template['metadata']['name']}-{metadata['name']}-{ordinal}"
            key = self._server.key("v1", "PersistentVolumeClaim", metadata["namespace"], name)
            if key in self._server.objects:
                self._end(key, self._server.objects[key])

    def _deployment(self, key: Key, found: Json) -> None:
        """Keep one ReplicaSet per template, and only that of the present one has Pods."""
        spec, namespace = found["spec"], key[2]
        if found["metadata"].get("deletionTimestamp"):
            return
        digest = _digest(spec["template"])
        name = f"{found['metadata']['name']}-{digest}"
        replicas = spec.get("replicas", 1)
        sets = dict(self._owned("ReplicaSet", found))
        if not any(one["metadata"]["name"] == name for one in sets.values()):
            self._create_replica_set(found, name, digest)
            return
        pods: list[Json] = []
        for other in sets.values():
            pods += [pod for _, pod in self._owned("Pod", other)]
            if other["metadata"]["name"] == name:
                self._fill(other, name, replicas, digest)
        fresh = [one for one in pods if one["metadata"]["labels"][_TEMPLATE_HASH] == digest]
        ready = [one for one in fresh if is_ready(one)]
        old = [one for one in pods if one not in fresh]
        if len(ready) >= replicas:
            surplus = sorted(one["metadata"]["name"] for one in fresh)[replicas:]
            for pod in [one["metadata"]["name"] for one in old] + surplus:
                self._delete_pod(namespace, pod)
        available = {"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable"}
        progressing = {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"}
        self._write_status(
            key,
            {
                "observedGeneration": found["metadata"]["generation"],
                "replicas": len(pods),
                "updatedReplicas": len(fresh),
                "readyReplicas": len([one for one in pods if is_ready(one)]),
                "availableReplicas": len([one for one in pods if is_ready(one)]),
                "unavailableReplicas": max(0, replicas - len(ready)),
                "conditions": [available, progressing],
            },
        )

    def _create_replica_set(self, workload: Json, name: str, digest: str) -> None:
        template = json.loads(json.dumps(workload["spec"]["template"]))
        labels = {**(template["metadata"].get("labels") or {}), _TEMPLATE_HASH: digest}
        template["metadata"]["labels"] = labels
        self._server.add(
            {
                "apiVersion": "apps/v1",
                "kind": "ReplicaSet",
                "metadata": {
                    "name": name,
                    "namespace": workload["metadata"]["namespace"],
                    "labels": labels,
                    "ownerReferences": [owner_of(workload)],
                },
                "spec": {"template": template, "selector": workload["spec"]["selector"]},
            }
        )

    def _fill(self, replica_set: Json, name: str, replicas: int, digest: str) -> None:
        have = [pod for _, pod in self._owned("Pod", replica_set)]
        for _ in range(replicas - len(have)):
            pod = f"{name}-{_digest(self._server.version)[:5]}"
            place = replica_set["metadata"]["namespace"]
            self._create_pod(replica_set, pod, place, {_TEMPLATE_HASH: digest})

    # Pods and what they need

    def _create_pod(self, owner: Json, name: str, namespace: str, labels: Json) -> None:
        template = owner["spec"]["template"]
        metadata = {
            **(template.get("metadata") or {}),
            "name": name,
            "namespace": namespace,
            "labels": {**((template.get("metadata") or {}).get("labels") or {}), **labels},
            "ownerReferences": [owner_of(owner)],
        }
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
        self._server.add({**pod, "spec": template["spec"], "status": {"phase": "Pending"}})

    def _delete_pod(self, namespace: str, name: str) -> None:
        key = self._server.key("v1", "Pod", namespace, name)
        found = self._server.objects.get(key)
        if found is not None and not found["metadata"].get("deletionTimestamp"):
            now = self._server.timestamp()
            self._server.update(key, lambda one: one["metadata"].update(deletionTimestamp=now))

    def _pod(self, key: Key, found: Json) -> None:
        if found["metadata"].get("deletionTimestamp"):
            uid = found["metadata"]["uid"]
            self._ending[uid] = self._ending.get(uid, 0) + 1
            if self._ending[uid] >= self.steps_to_end:
                self._server.remove(key)
        elif (found.get("status") or {}).get("phase") == "Pending" and self.starts(found):
            now = self._server.timestamp()
            self._server.update(key, lambda one: run_pod(one, now))

    def _claim(self, key: Key, found: Json) -> None:
        asked = ((found["spec"].get("resources") or {}).get("requests") or {}).get("storage")
        status = {"phase": "Bound", "capacity": {"storage": asked}}
        if (found.get("status") or {}) == status:
            return
        volume = f"pv-{found['metadata']['uid']}"
        if ("v1", "persistentvolumes", "", volume) not in self._server.objects:
            claim = {"name": key[3], "namespace": key[2], "uid": found["metadata"]["uid"]}
            spec = {"claimRef": claim, "persistentVolumeReclaimPolicy": "Delete"}
            metadata = {"name": volume}
            manifest = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata}
            self._server.add({**manifest, "spec": spec})

        def bind(one: Json) -> None:
            one["spec"]["volumeName"] = volume
            one["status"] = status

        self._server.update(key, bind)

    def _service(self, key: Key, found: Json) -> None:
        if found["spec"].get("type") == "LoadBalancer":
            self._write_status(key, {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}})

    def _job(self, key: Key, found: Json) -> None:
        status = found.get("status") or {}
        if found["spec"].get("suspend") or status.get("conditions"):
            return
        if "startTime" not in status:
            started = {"startTime": self._server.timestamp()}
            self._server.update(key, lambda one: one.update(status=started))
        elif _PULL in (found["metadata"].get("labels") or {}) or (
            self.program and self.program(self._server, found)
        ):
            now = self._server.timestamp()
            done = [{"type": "Complete", "status": "True", "lastTransitionTime": now}]
            ended = {**status, "completionTime": now, "succeeded": 1, "conditions": done}
            self._server.update(key, lambda one: one.update(status=ended))

    def _owned(self, kind: str, owner: Json) -> Iterator[tuple[Key, Json]]:
        uid = owner["metadata"]["uid"]
        for key, found in self._server.of_kind(kind):
            owners = found["metadata"].get("ownerReferences") or []
            if any(one["uid"] == uid for one in owners):
                yield key, found

    def _write_status(self, key: Key, status: Json) -> None:
        self._server.update(key, lambda one: one.update(status=status))


def owner_of(found: Json) -> Json:
    """Return the reference of a controller to what it owns."""
    return {
        "apiVersion": found["apiVersion"],
        "kind": found["kind"],
        "name": found["metadata"]["name"],
        "uid": found["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def is_ready(pod: Json) -> bool:
    """Tell whether a Pod is ready and not about to end."""
    if pod["metadata"].get("deletionTimestamp"):
        return False
    conditions = (pod.get("status") or {}).get("conditions") or []
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def run_pod(pod: Json, now: str) -> None:
    """Let a Pod run and be ready, as its kubelet reports it."""
    containers = pod["spec"].get("containers") or []
    pod["spec"]["nodeName"] = "node-0"
    pod["status"] = {
        "phase": "Running",
        "startTime": now,
        "podIP": "192.0.2.1",
        "podIPs": [{"ip": "192.0.2.1"}],
        "conditions": [
            {"type": kind, "status": "True", "lastTransitionTime": now}
            for kind in ("PodScheduled", "Initialized", "ContainersReady", "Ready")
        ],
        "containerStatuses": [
            {
                "name": one.get("name"),
                "ready": True,
                "restartCount": 0,
                "state": {"running": {"startedAt": now}},
            }
            for one in containers
        ],
    }


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:9]
