# SPDX-License-Identifier: Apache-2.0
"""Reasons of the Events of a MatrixoneCluster; its CRD documents them.

They are those of the first operator, because tools match them.
"""

from __future__ import annotations

from enum import StrEnum


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
