# SPDX-License-Identifier: Apache-2.0
"""Words that only a MatrixoneCluster of the first operator uses; its CRD documents them.

Event reasons are those of the first operator (seeds.md A9), because tools match them.
"""

from __future__ import annotations

from enum import StrEnum

ACCEPTED = "Accepted"
"""Type of the condition that says whether the spec can be served."""


class EarlyReason(StrEnum):
    """Why a condition has its status, beside the reasons that all kinds use."""

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


class EarlyEvent(StrEnum):
    """Reasons of Events."""

    CREATED = "MatrixoneOperatorCreateSuccess"
    CREATE_FAILED = "MatrixoneOperatorCreateFail"
    UPDATED = "MatrixoneUpdateSuccess"
    UPDATE_FAILED = "MatrixoneUpdateFail"
    DELETED = "MatrixoneDeleteSuccess"
    DELETE_FAILED = "MatrixoneDeleteFail"
    GET_FAILED = "MatrixoneObjectGetFail"
    LIST_FAILED = "MatrixoneObjectListFail"
    STATUS_FAILED = "MatrixoneOperatorPatchFail"
    ROLL_OUT_AWAITED = "MatrixoneRollingDeployWait"
