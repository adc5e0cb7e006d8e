# SPDX-License-Identifier: Apache-2.0
"""TLS for SQL: how a component reads its certificate, and how a renewed one comes into effect.

MatrixOne reads its certificate once, at start. So the Pods' template carries the certificate's
fingerprint: another certificate is another template, and the Pods are replaced as with any change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ..api import names
from ..api.certificates import CERTIFICATE, KEY, Certificate
from ..api.fields import Fields, as_table
from ..api.types import Manifest, Resource
from ..reporting.reasons import Reason
from .plans import named

LABEL: Final = "tlsSecret"
"""Label of the Secret among what is observed."""
CERTIFICATE_FILE: Final = f"{names.TLS_MOUNT}/{CERTIFICATE}"
KEY_FILE: Final = f"{names.TLS_MOUNT}/{KEY}"


def secret_name(spec: Fields) -> str:
    """Return the name of the Secret with the certificate; empty without TLS."""
    return spec.table("tls").table("secretRef").text("name")


def references(resource: Resource) -> dict[str, dict[str, Any]]:
    """Refer to the Secret of a set, of which only its certificate is told."""
    name = secret_name(Fields("spec", resource.get("spec") or {}))
    if not name:
        return {}
    place = {"name": name, "namespace": resource["metadata"]["namespace"]}
    return {LABEL: {"api_version": "v1", "kind": "Secret", **place, "certificate": True}}


def volumes(spec: Fields) -> list[dict[str, Any]]:
    """Return the volume with the certificate, without what else the Secret may hold."""
    name = secret_name(spec)
    if not name:
        return []
    # The group of the Pod's files may read it, nobody else.
    items = [{"key": key, "path": key} for key in (CERTIFICATE, KEY)]
    secret = {"secretName": name, "defaultMode": 0o440, "items": items}
    return [{"name": names.VOLUME_TLS, "secret": secret}]


def mounts(spec: Fields) -> list[dict[str, Any]]:
    """Return the mount of that volume."""
    if not secret_name(spec):
        return []
    return [{"name": names.VOLUME_TLS, "mountPath": names.TLS_MOUNT, "readOnly": True}]


def certificate_in(found: Mapping[str, Any] | None) -> Certificate | None:
    """Return what was observed of a Secret's certificate; None where there is no Secret."""
    return None if found is None else Certificate.read(found["certificate"])


def status(resource: Resource, certificate: Certificate | None) -> dict[str, str] | None:
    """Return what the status of a set tells of its certificate; None without TLS.

    While its Secret has none that can be used, the Pods go on with the one that was told before.
    """
    name = secret_name(Fields("spec", resource.get("spec") or {}))
    if not name:
        return None
    if certificate and certificate.not_after:
        ends = {"notAfter": certificate.not_after, "renewBefore": certificate.renew_before}
    else:
        told = as_table(as_table(resource.get("status")).get("tls"))
        kept = told if told.get("secretName") == name else {}
        ends = {key: str(kept[key]) for key in ("notAfter", "renewBefore") if key in kept}
    return {"secretName": name, **ends}


def expiring(told: Mapping[str, str] | None, now: str) -> tuple[Reason, str] | None:
    """Return reason and message if a certificate has expired, or should have been renewed by now.

    Args:
        told: what `status` returned.
        now: the present, RFC 3339.
    """
    end, renew = (str((told or {}).get(key) or "") for key in ("notAfter", "renewBefore"))
    if not end or now < (renew or end):
        return None
    what = f"the certificate of Secret {(told or {})['secretName']}"
    if now >= end:
        message = f"{what} has expired at {end}: clients that verify it cannot connect; renew it"
        return Reason.CERTIFICATE_EXPIRED, message
    return Reason.CERTIFICATE_EXPIRING, f"{what} expires at {end}; renew it"


def hold(
    resource: Resource,
    certificate: Certificate | None,
    workload: Mapping[str, Any] | None,
    now: str,
) -> str:
    """Return why Pods cannot have the certificate that the spec names; empty if they can.

    One that has expired is no reason to hold back what changes besides it.

    Args:
        resource: the set.
        certificate: that in its Secret; None if there is no Secret.
        workload: the live workload; None if there is none.
        now: the present, RFC 3339.
    """
    name = secret_name(Fields("spec", resource.get("spec") or {}))
    if not name:
        return ""
    if certificate is None:
        return f"waiting for Secret {name}, which spec.tls.secretRef names"
    problem = certificate.problem
    if not problem and certificate.has_expired(now) and _of(workload) != certificate.fingerprint:
        problem = f"its certificate has expired at {certificate.not_after}"
    return f"waiting for a certificate in Secret {name}: {problem}" if problem else ""


def with_certificate(
    objects: Sequence[Manifest], workload: str, certificate: Certificate | None
) -> list[Manifest]:
    """Return the objects of a set, the Pods' template with the fingerprint of the certificate.

    Args:
        objects: rendered ones.
        workload: ``Kind/name`` of the one with the template.
        certificate: that in the Secret; None without one.
    """
    fingerprint = certificate.fingerprint if certificate else ""
    if not fingerprint:
        return list(objects)
    return [
        _marked(manifest, fingerprint) if named(manifest) == workload else manifest
        for manifest in objects
    ]


def _marked(workload: Manifest, fingerprint: str) -> Manifest:
    template = workload["spec"]["template"]
    annotations = template["metadata"].get("annotations") or {}
    marked = {**annotations, names.ANNOTATION_CERTIFICATE: fingerprint}
    metadata = {**template["metadata"], "annotations": marked}
    return {
        **workload,
        "spec": {**workload["spec"], "template": {**template, "metadata": metadata}},
    }


def _of(workload: Mapping[str, Any] | None) -> str:
    """Return the fingerprint of the certificate that the Pods of a workload have."""
    template = ((workload or {}).get("spec") or {}).get("template") or {}
    annotations = (template.get("metadata") or {}).get("annotations") or {}
    return str(annotations.get(names.ANNOTATION_CERTIFICATE) or "")
