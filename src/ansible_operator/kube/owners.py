# SPDX-License-Identifier: Apache-2.0
"""Annotations that name the owner where owner references are not allowed."""

from ansible_operator.kube.interface import GroupVersionKind

PRIMARY_RESOURCE = "operator-sdk/primary-resource"
PRIMARY_RESOURCE_TYPE = "operator-sdk/primary-resource-type"


def owner_type(gvk: GroupVersionKind) -> str:
    """Value of the type annotation: ``Kind.group``, or ``Kind`` for the core group."""
    return f"{gvk.kind}.{gvk.group}" if gvk.group else gvk.kind
