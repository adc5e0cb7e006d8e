# SPDX-License-Identifier: Apache-2.0
"""Names, keys, ports and paths: the words that rendering, roles and database agree on."""

from __future__ import annotations

import re
from typing import Final

from .errors import InvalidSpec

GROUP: Final = "core.matrixorigin.io"
API_VERSION: Final = f"{GROUP}/v1alpha1"
PART_OF: Final = "matrixone"
MANAGED_BY: Final = "matrixorigin.matrixone"
FIELD_MANAGER: Final = "matrixone-operator"
"""Owner of the fields that are applied."""
DEFAULT_IMAGE_REPOSITORY: Final = "matrixorigin/matrixone"
DEFAULT_OPERATOR_VERSION: Final = "1.4.0"
DEFAULT_SERVICE_ARGS: Final = ("-debug-http=:6060",)
DEFAULT_GODEBUG: Final = "madvdontneed=1,gctrace=2"

LOG_SET: Final = "LogSet"
DN_SET: Final = "DNSet"
CN_SET: Final = "CNSet"
PROXY_SET: Final = "ProxySet"
WEB_UI: Final = "WebUI"
CLUSTER: Final = "MatrixOneCluster"
BACKUP_JOB: Final = "BackupJob"
BACKUP: Final = "Backup"
BACKUP_SCHEDULE: Final = "BackupSchedule"
RESTORE_JOB: Final = "RestoreJob"
CN_POOL: Final = "CNPool"
CN_CLAIM: Final = "CNClaim"
CN_CLAIM_SET: Final = "CNClaimSet"
BUCKET_CLAIM: Final = "BucketClaim"
DATABASE_USER: Final = "DatabaseUser"
DATABASE: Final = "Database"
EARLY: Final = "MatrixoneCluster"
"""The kind of the first operator; it has a group of its own, and another capital letter."""
EARLY_GROUP: Final = "matrixone.matrixorigin.cn"
EARLY_API_VERSION: Final = f"{EARLY_GROUP}/v1alpha1"

SUFFIXES: Final = {
    LOG_SET: "-log",
    DN_SET: "-dn",
    CN_SET: "-cn",
    PROXY_SET: "-proxy",
    WEB_UI: "-webui",
    EARLY: "",
}
"""What a kind adds to the owner's name to make the base name of its objects."""
WORKLOADS: Final = {
    LOG_SET: "StatefulSet",
    DN_SET: "StatefulSet",
    CN_SET: "Deployment",
    PROXY_SET: "Deployment",
    WEB_UI: "Deployment",
    EARLY: "StatefulSet",
}
"""The kind of the workload that runs the Pods of a kind."""
NOUNS: Final = {
    LOG_SET: "log stores",
    DN_SET: "transaction nodes",
    CN_SET: "compute nodes",
    PROXY_SET: "proxies",
    WEB_UI: "web UI pods",
    EARLY: "databases",
}
"""What the Pods of a kind are called."""

LABEL_NAMESPACE: Final = "matrixorigin.io/namespace"
LABEL_INSTANCE: Final = "matrixorigin.io/instance"
LABEL_COMPONENT: Final = "matrixorigin.io/component"
LABEL_CLUSTER: Final = "matrixorigin.io/cluster"
LABEL_RESTORING: Final = "matrixorigin.io/restoring"
"""On a claim that was created for a restore, before any LogSet: the uid of the cluster."""
LABEL_DRAINED: Final = "matrixorigin.io/drained"
"""``true`` on a CNSet that is deleted, once its drain is over: it needs no proxies any more."""
LABEL_CANARY: Final = "matrixorigin.io/canary"
"""``true`` on the CNSet that tries a new version before the groups of its cluster get it."""

ANNOTATION_UNCLAIMED: Final = "bucket.matrixorigin.io/unclaimed"
"""``true`` on a LogSet, or its cluster: it gets no BucketClaim, and its data are never deleted by
one. Whoever sets it deletes the data."""
ANNOTATION_ADOPT: Final = "bucket.matrixorigin.io/adopt"
"""On a BucketClaim: the uid in the mark of another claim, whose path this one takes over."""
ANNOTATION_WAS_RUNNING: Final = "bucket.matrixorigin.io/any-instance-running"
"""``true`` on a BucketClaim once a Pod was ready: before, its LogSet has written nothing."""
ANNOTATION_UNHEARD: Final = "matrixorigin.io/store-unheard"
"""On a Pod: start of its process of which HAKeeper had not heard for too long."""
ANNOTATION_UNANSWERED: Final = "matrixorigin.io/store-unanswered"
"""On a Pod: start of its process that answered no login after the transaction node restarted."""
ANNOTATION_BOOTSTRAP: Final = "logset.matrixorigin.io/bootstrap"
ANNOTATION_INCARNATIONS: Final = "logset.matrixorigin.io/incarnations"
ANNOTATION_SHARED_STORAGE: Final = "logset.matrixorigin.io/shared-storage"
"""On the claim of a log store: where the data are that its log belongs to."""
ANNOTATION_DATA_VERSION: Final = "matrixorigin.io/data-version"
"""On a DNSet, or its cluster: the version that has written its data, whatever the status says."""
ANNOTATION_SEMANTIC_VERSION: Final = "matrixorigin.io/semantic-version"
ANNOTATION_RUNS_VERSION: Final = "matrixorigin.io/runs-version"
"""On a RestoreJob: the version of MatrixOne that is going to run on what it restores."""
ANNOTATION_OPERATOR_VERSION: Final = "matrixorigin.io/operator-version"
ANNOTATION_RESTARTED: Final = "matrixorigin.io/restartedAt"
"""On a resource: a new value replaces its Pods, as a change of its spec does."""
ANNOTATION_CLUSTER_RESTARTED: Final = "matrixorigin.io/cluster-restarted-at"
"""On the Pods of a cluster: the value of `ANNOTATION_RESTARTED` on the cluster.

It has a name of its own, so that restarts of a cluster and of its sets do not hide each other."""
ANNOTATION_AWAKE_REPLICAS: Final = "matrixorigin.io/awake-replicas"
"""On a set of a cluster that sleeps: how many Pods somebody else had scaled it to before."""
ANNOTATION_FENCED: Final = "matrixorigin.io/fenced"
"""On a cluster: clients are kept off, nothing is changed or deleted. Its components get it too."""
ANNOTATION_CERTIFICATE: Final = "matrixorigin.io/tls-certificate"
"""On the template of Pods: the fingerprint of the certificate that they have read."""
ANNOTATION_CN_LABEL: Final = "matrixone.cloud/cn-label"
LABEL_POOL: Final = "pool.matrixorigin.io/pool-name"
"""On a Pod: the CNPool that creates and deletes it, and sets its store in HAKeeper."""
ANNOTATION_POOL_POLICY: Final = "pool.matrixorigin.io/management-policy"
ANNOTATION_POOL_IN_PLACE: Final = "pool.matrixorigin.io/in-place-rolling"
ANNOTATION_SCRAPE: Final = "prometheus.io/scrape"
ANNOTATION_SCRAPE_PORT: Final = "prometheus.io/port"
ANNOTATION_KEEP: Final = "matrixorigin.io/keep"
"""Set to "true" on an object that must outlive its owner: it gets no owner reference."""
ANNOTATION_CREDENTIAL_REFUSAL: Final = "matrixorigin.io/credential-refusal"
"""On the Secret with what a database accepts: what it refused instead, as JSON."""
ANNOTATION_CREDENTIAL_VERSION: Final = "matrixorigin.io/credential-version"
"""The resourceVersion of the Secret with the root credential that an object was created for."""

CONDITION_CN_STORE: Final = "matrixorigin.io/cn-store"

PORT_RAFT: Final = 32000
PORT_LOG: Final = 32001
PORT_GOSSIP: Final = 32002
PORT_LOGTAIL: Final = 32003
PORT_TN: Final = 41010
PORT_LOCK: Final = 6003
PORT_SQL: Final = 6001
PORT_CN: Final = 6002
PORT_METRICS: Final = 7001
PORT_DEBUG: Final = 6060
PORT_UDF: Final = 50051
PORT_WEB: Final = 8001
PORT_WEB_BACKEND: Final = 8007
PORT_RANGE: Final = 20
"""A TN or CN takes its services' ports one after the other from its port base; when one is in use
it tries the next, through at most this many (MatrixOne: address manager)."""

DATA_MOUNT: Final = "/var/lib/matrixone"
DATA_DIR: Final = "/var/lib/matrixone/data"
DISK_CACHE_DIR: Final = "/var/lib/matrixone/disk-cache"
LOG_CONFIG_MOUNT: Final = "/etc/logservice"
CONFIG_MOUNT: Final = "/etc/matrixone/config"
BOOTSTRAP_MOUNT: Final = "/etc/bootstrap"
GOSSIP_MOUNT: Final = "/etc/gossip"
SHARDS_MOUNT: Final = "/etc/matrixone/shards"
S3_SSL_MOUNT: Final = "/etc/s3-ssl"
TLS_MOUNT: Final = "/etc/matrixone/tls"
BINARY_MOUNT: Final = "/matrixone/bin"
TEMP_MOUNT: Final = "/tmp"  # noqa: S108 - a mount point inside the container
OWN_MOUNTS: Final = (
    BINARY_MOUNT,
    BOOTSTRAP_MOUNT,
    CONFIG_MOUNT,
    DATA_MOUNT,
    GOSSIP_MOUNT,
    LOG_CONFIG_MOUNT,
    S3_SSL_MOUNT,
    SHARDS_MOUNT,
    TEMP_MOUNT,
    TLS_MOUNT,
)
"""Where Pods of the database have volumes of the operator."""

VOLUME_DATA: Final = "mo-data"
VOLUME_CONFIG: Final = "config"
VOLUME_BOOTSTRAP: Final = "bootstrap"
VOLUME_GOSSIP: Final = "gossip"
VOLUME_SHARDS: Final = "shards"
VOLUME_S3_SSL: Final = "s3-ssl"
VOLUME_TLS: Final = "tls"
VOLUME_BINARY: Final = "tmpfs"
VOLUME_TEMP: Final = "tmp"
VOLUME_SHARED: Final = "shared"

CONTAINER_MAIN: Final = "main"
CONTAINER_UDF: Final = "python-udf"

CONFIG_FILES: Final = {LOG_SET: "logservice.toml"}
"""Key of the TOML in a kind's ConfigMap where it is not config.toml."""
CONFIG_FILE: Final = "config.toml"
START_SCRIPT: Final = "start.sh"
GOSSIP_FILE: Final = "gossip.toml"
INCARNATIONS_FILE: Final = "incarnations"
SHARDS_FILE: Final = "shards"
BOOTSTRAP_FILE: Final = "bootstrap.toml"

_DNS_1035: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_MAX_DNS_LABEL: Final = 63


def base_name(kind: str, owner: str) -> str:
    """Return the name that a set's workload has and its other objects begin with."""
    return owner + SUFFIXES[kind]


def headless_name(base: str) -> str:
    """Return the name of the Service that gives the Pods of a set their DNS names."""
    return f"{base}-headless"


def discovery_name(base: str) -> str:
    """Return the name of the Service in front of the log stores."""
    return f"{base}-discovery"


def metric_name(base: str) -> str:
    """Return the name of the Service for scraping a set without a client Service."""
    return f"{base}-metric"


def shards_name(base: str) -> str:
    """Return the name of the ConfigMap with what transaction nodes must not forget."""
    return f"{base}-shards"


def credential_name(cluster: str) -> str:
    """Return the name of the Secret with a cluster's root credential."""
    return f"{cluster}-credential"


def accepted_name(cluster: str) -> str:
    """Return the name of the Secret with the root credential that the database accepts."""
    return f"{cluster}-credential-accepted"


def connection_name(cluster: str, group: str = "") -> str:
    """Return the name of the Secret that tells applications how to connect.

    No other has that name: there is a dot neither in the name of a cluster, nor in that of a group.

    Args:
        cluster: name of the cluster.
        group: its group of compute nodes that applications connect to; empty for the cluster.
    """
    return f"{cluster}-connection" + (f".{group}" if group else "")


def restore_name(cluster: str) -> str:
    """Return the name of the RestoreJob that a cluster creates for itself."""
    return f"restore-{cluster}"


def shared_claim_name(owner: str) -> str:
    """Return the name of the claim for shared storage on a file system."""
    return f"{owner}-shared"


def storage_check_name(base: str) -> str:
    """Return the name of the Deployment that writes to the shared folder of a LogSet."""
    return f"{base}-storage-check"


def cn_set_name(cluster: str, group: str) -> str:
    """Return the name of the CNSet of a cluster's CN group."""
    return f"{cluster}-{group}"


def service_domain(namespace: str, cluster_domain: str | None) -> str:
    """Return what follows a Service's name in its DNS name.

    The cluster domain is appended only where the spec names one, so that addresses stay as they
    are for everybody else.
    """
    return f"{namespace}.svc.{cluster_domain}" if cluster_domain else f"{namespace}.svc"


def selector_labels(kind: str, owner: str, namespace: str) -> dict[str, str]:
    """Return the labels that select a set's Pods."""
    return {LABEL_NAMESPACE: namespace, LABEL_INSTANCE: owner, LABEL_COMPONENT: kind}


def object_labels(kind: str, owner: str, namespace: str) -> dict[str, str]:
    """Return the labels of every object of a set: the selector and the recommended ones."""
    return {
        **selector_labels(kind, owner, namespace),
        "app.kubernetes.io/name": PART_OF,
        "app.kubernetes.io/instance": owner,
        "app.kubernetes.io/component": SUFFIXES[kind].lstrip("-"),
        "app.kubernetes.io/part-of": PART_OF,
        "app.kubernetes.io/managed-by": MANAGED_BY,
    }


SYSTEM_DATABASES: Final = frozenset(
    {
        "information_schema", "mo_catalog", "mo_debug", "mo_task", "mysql", "system",
        "system_metrics",
    }
)  # fmt: skip
"""Databases of MatrixOne itself."""

_LONGEST_ADDITION: Final = {
    LOG_SET: "-log-0123456789",
    DN_SET: "-dn-0123456789",
    CN_SET: "-cn-headless",
    PROXY_SET: "-proxy",
    WEB_UI: "-webui",
    EARLY: "-0123456789",
}
"""The longest thing that is added to the owner's name and must still be a DNS label: a Service's
name, or the revision label of a StatefulSet's Pods (name and a hash of ten digits)."""


def check_owner_name(kind: str, owner: str, field_path: str = "metadata.name") -> None:
    """Refuse a name from which no Service or workload can be named.

    Raises:
        InvalidSpec: The name is not a DNS-1035 label or too long for what is added to it.
    """
    if not _DNS_1035.fullmatch(owner):
        raise InvalidSpec(
            field_path,
            f"{owner!r} must be lower-case letters, digits and '-', begin with a letter and end "
            "with a letter or digit, because Services are named after it",
        )
    added = len(_LONGEST_ADDITION[kind])
    if len(owner) + added > _MAX_DNS_LABEL:
        raise InvalidSpec(
            field_path,
            f"{owner!r} has {len(owner)} characters, at most {_MAX_DNS_LABEL - added} leave room "
            "for the names of its Services and Pods",
        )
