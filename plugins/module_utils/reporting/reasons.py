# SPDX-License-Identifier: Apache-2.0
"""The closed list of condition types and reasons; the CRDs document the same words.

Reasons are part of the API: tools match them, so none is renamed, and none is invented in place.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class ConditionType(StrEnum):
    """What can be true of a resource."""

    READY = "Ready"
    SYNCED = "Synced"
    PROGRESSING = "Progressing"
    DEGRADED = "Degraded"
    PAUSED = "Paused"
    STORAGE_REACHABLE = "StorageReachable"
    STORAGE_WRITABLE = "StorageWritable"
    STORAGE_CREDENTIAL_CURRENT = "StorageCredentialCurrent"
    # derived from the others (kstatus)
    RECONCILING = "Reconciling"
    STALLED = "Stalled"


class Reason(StrEnum):
    """Why a condition has its status."""

    # Ready
    ALL_SETS_READY = "AllSetsReady"
    ENOUGH_READY_STORES = "EnoughReadyStores"
    LOG_SERVICE_NOT_READY = "LogServiceNotReady"
    DN_SET_NOT_READY = "DNSetNotReady"
    SOME_CN_SETS_NOT_READY = "SomeCNSetsAreNotReady"
    PROXY_SET_NOT_READY = "ProxySetNotReady"
    SQL_NOT_ANSWERED = "SQLNotAnswered"
    STOPPED = "Stopped"
    HIBERNATED = "Hibernated"
    FENCED = "Fenced"
    RESTORE_FAILED = "RestoreFailed"
    NOT_ENOUGH_READY_STORES = "NoEnoughReadyStores"
    RECONCILING = "Reconciling"
    OBSERVATION_FAILED = "ObservationFailed"
    # Synced
    ALL_SETS_SYNCED = "AllSetsSynced"
    APPLIED = "Applied"
    LOG_SERVICE_NOT_SYNCED = "LogServiceNotSynced"
    DN_SET_NOT_SYNCED = "DNSetNotSynced"
    SOME_CN_SETS_NOT_SYNCED = "SomeCNSetsAreNotSynced"
    PROXY_NOT_SYNCED = "ProxyNotSynced"
    WEB_UI_NOT_SYNCED = "WebUINotSynced"
    INVALID_SPEC = "InvalidSpec"
    APPLY_FAILED = "ApplyFailed"
    DEPENDENCY_NOT_READY = "DependencyNotReady"
    VOLUME_REFUSED = "VolumeRefused"
    CREDENTIAL_NOT_APPLIED = "CredentialNotApplied"
    CONNECTION_SECRET_NOT_APPLIED = "ConnectionSecretNotApplied"  # noqa: S105 - no secret
    UPGRADE_HELD = "UpgradeHeld"
    UPGRADE_PAUSED = "UpgradePaused"
    WAITING_FOR_WINDOW = "WaitingForWindow"
    # Synced and Progressing
    UPGRADING_CATALOG = "UpgradingCatalog"
    ROLLING_OUT = "RollingOut"
    GROWING_VOLUMES = "GrowingVolumes"
    # Progressing
    CREATING = "Creating"
    SCALING = "Scaling"
    WAITING_FOR_DEPENDENCY = "WaitingForDependency"
    DRAINING = "Draining"
    FAILING_OVER = "FailingOver"
    RESTORING = "Restoring"
    SETTLED = "Settled"
    # Degraded
    STORES_FAILED = "StoresFailed"
    FAILOVER_BLOCKED = "FailoverBlocked"
    VOLUME_DELETED = "VolumeDeleted"
    PODS_NOT_CREATED = "PodsNotCreated"
    ROLLOUT_STUCK = "RolloutStuck"
    CANARY_FAILED = "CanaryFailed"
    CATALOG_UPGRADE_STUCK = "CatalogUpgradeStuck"
    HAKEEPER_UNREACHABLE = "HAKeeperUnreachable"
    CERTIFICATE_EXPIRING = "CertificateExpiring"
    CERTIFICATE_EXPIRED = "CertificateExpired"
    AS_EXPECTED = "AsExpected"
    STORAGE_NOT_WRITABLE = "StorageNotWritable"
    # StorageReachable, the latter also StorageWritable and Degraded
    STORAGE_ANSWERS = "StorageAnswers"
    STORAGE_UNREACHABLE = "StorageUnreachable"
    # StorageWritable
    WRITES_ACCEPTED = "WritesAccepted"
    ACCESS_DENIED = "AccessDenied"
    STORAGE_FULL = "StorageFull"
    BUCKET_NOT_FOUND = "BucketNotFound"
    WRITES_REFUSED = "WritesRefused"
    UPLOAD_NOT_ABORTED = "UploadNotAborted"
    # StorageCredentialCurrent
    STORAGE_CREDENTIAL_IN_USE = "StorageCredentialInUse"
    STORAGE_CREDENTIAL_CHANGED = "StorageCredentialChanged"
    # Paused
    PAUSED_BY_ANNOTATION = "PausedByAnnotation"
    NOT_PAUSED = "NotPaused"
    # Synced and Progressing of a paused resource
    PAUSED = "Paused"
    # everything of a resource that is being deleted
    DELETING = "Deleting"


STOPPED_ON_PURPOSE: Final = frozenset(
    {Reason.STOPPED.value, Reason.HIBERNATED.value, Reason.FENCED.value}
)
"""Why a cluster answers no SQL because somebody wants it so."""


class Phase(StrEnum):
    """The conditions in one word."""

    READY = "Ready"
    NOT_READY = "NotReady"
    PROGRESSING = "Progressing"
    DEGRADED = "Degraded"
    PAUSED = "Paused"
    DELETING = "Deleting"


ACCEPTED = "Accepted"
"""Type of the condition of a MatrixoneCluster that says whether the spec can be served."""


class EarlyReason(StrEnum):
    """Reasons that only a MatrixoneCluster of the first operator has."""

    # Accepted
    SPEC_ACCEPTED = "SpecAccepted"
    INVALID_SPEC = "InvalidSpec"
    UNSUPPORTED_REPLICAS = "UnsupportedReplicas"
    VOLUME_SHRINK_REFUSED = "VolumeShrinkRefused"
    VOLUME_NOT_EXPANDABLE = "VolumeNotExpandable"
    # Ready
    STOPPED = "Stopped"
    # Progressing
    WAITING_FOR_ROLL_OUT = "WaitingForRollOut"


ENDED = "Ended"
"""Type of the condition of a BackupJob or RestoreJob that says whether it will do more."""

RESTORABLE = "Restorable"
"""Type of the condition of a Backup that says what a restore of it came to."""


class BackupReason(StrEnum):
    """Reasons of the kinds of backups; those of tasks are in `backup.tasks`."""

    # Ended
    JOB_PENDING = "JobPending"
    JOB_RUNNING = "JobRunning"
    JOB_COMPLETE = "JobComplete"
    JOB_FAILED = "JobFailed"
    # Ready
    COMPLETE = "Complete"
    AVAILABLE = "Available"
    PENDING = "Pending"
    FAILED = "Failed"
    SCHEDULED = "Scheduled"
    BROKEN = "Broken"
    DELETING = "Deleting"
    # Restorable
    RESTORE_VERIFIED = "RestoreVerified"
    VERIFICATION_FAILED = "VerificationFailed"
    VERIFICATION_INCOMPLETE = "VerificationIncomplete"
    # Progressing, some of them also Ready
    WAITING = "Waiting"
    STARTING = "Starting"
    RUNNING = "Running"
    RECORDING = "Recording"
    DELETING_DATA = "DeletingData"
    SUSPENDED = "Suspended"
    SETTLED = "Settled"
    # Synced
    INVALID_SPEC = "InvalidSpec"
    APPLIED = "Applied"
    APPLY_FAILED = "ApplyFailed"
    DEPENDENCY_NOT_READY = "DependencyNotReady"
    # Degraded
    POD_UNSCHEDULABLE = "PodUnschedulable"
    IMAGE_NOT_AVAILABLE = "ImageNotAvailable"
    SECRET_MISSING = "SecretMissing"  # noqa: S105 - no secret
    POD_NOT_STARTING = "PodNotStarting"
    RETRYING = "Retrying"
    NO_RESULT = "NoResult"
    NOT_RECORDED = "NotRecorded"
    NAME_TAKEN = "NameTaken"
    BACKUP_FAILED = "BackupFailed"
    BACKUP_BROKEN = "BackupBroken"
    BACKUP_TOO_OLD = "BackupTooOld"
    ANOTHER_IS_RUNNING = "AnotherIsRunning"
    IN_USE = "InUse"
    PATH_TAKEN = "PathTaken"
    RELEASED = "Released"
    # PathMarked
    MARKED = "Marked"
    RESTORE_FAILED = "RestoreFailed"
    NOT_REMOVED = "NotRemoved"
    AS_EXPECTED = "AsExpected"


PATH_MARKED = "PathMarked"
"""Type of the condition of a BucketClaim that says whether an object at the path is its mark."""

LIMITED = "Limited"
"""Type of the condition of a CNPool that says whether it may not have as many Pods as it needs."""


class PoolReason(StrEnum):
    """Reasons of CNPools, CNClaims and CNClaimSets."""

    # Ready of a claim
    BOUND = "Bound"
    CLAIMING = "Claiming"
    NO_IDLE_NODE = "NoIdleNode"
    POOL_AT_MAX_PODS = "PoolAtMaxPods"
    OWNER_QUOTA = "OwnerQuota"
    NO_MATCHING_POOL = "NoMatchingPool"
    POD_LOST = "PodLost"
    POD_NOT_READY = "PodNotReady"
    STORE_NOT_WORKING = "StoreNotWorking"
    HAKEEPER_UNREACHABLE = "HAKeeperUnreachable"
    # Ready of a pool and a claim set
    SERVING = "Serving"
    CLAIMS_PENDING = "ClaimsPending"
    DELETING = "Deleting"
    # Synced and Progressing
    APPLIED = "Applied"
    INVALID_SPEC = "InvalidSpec"
    APPLY_FAILED = "ApplyFailed"
    SCALING = "Scaling"
    DRAINING = "Draining"
    ROLLING_OUT = "RollingOut"
    SETTLED = "Settled"
    # Limited
    MAX_PODS_REACHED = "MaxPodsReached"
    WITHIN_LIMITS = "WithinLimits"
    # Degraded
    AS_EXPECTED = "AsExpected"


class ObjectReason(StrEnum):
    """Reasons of DatabaseUsers and Databases."""

    # Ready
    LOGIN_ACCEPTED = "LoginAccepted"
    AVAILABLE = "Available"
    SQL_NOT_ANSWERED = "SQLNotAnswered"
    # Ready and Synced
    INVALID_SPEC = "InvalidSpec"
    NAME_TAKEN = "NameTaken"
    USER_EXISTS = "UserExists"
    DATABASE_EXISTS = "DatabaseExists"
    DATABASE_LOST = "DatabaseLost"
    SECRET_MISSING = "SecretMissing"  # noqa: S105 - no secret
    PASSWORD_REFUSED = "PasswordRefused"  # noqa: S105 - no secret
    STATEMENT_REFUSED = "StatementRefused"
    DEPENDENCY_NOT_READY = "DependencyNotReady"
    DELETING = "Deleting"
    # Synced
    APPLIED = "Applied"
    DATABASE_MISSING = "DatabaseMissing"
    CONNECTION_SECRET_NOT_APPLIED = "ConnectionSecretNotApplied"  # noqa: S105 - no secret
