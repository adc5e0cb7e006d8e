# SPDX-License-Identifier: Apache-2.0
"""The collection's watches.yaml: what each kind is watched with, whatever it shares with others."""

from dataclasses import replace
from typing import Any

import pytest

from ansible_operator.watches import (
    Admission,
    DependentAnnotations,
    Finalizer,
    Isolation,
    KindName,
    Members,
    PlayPath,
    Probe,
    Reference,
    Requirement,
    Selector,
    Watch,
    load,
)
from tests.support.places import ROOT

CORE, EARLY = "core.matrixorigin.io", "matrixone.matrixorigin.cn"
POD = Members(
    kind=KindName("", "v1", "Pod"),
    selector="matrixorigin.io/component=CNSet",
    name="matrixorigin.io/instance",
    annotations=("matrixorigin.io/store-cordon",),
)

PROBE = Probe("matrixorigin.matrixone.as_reported", 10)


def reference(kind: str, dependency: str) -> Reference:
    place = f"deps.{dependency}.metadata"
    return Reference(
        kind=KindName(CORE, "v1alpha1", kind),
        name=f"{place}.name",
        namespace=f"{place}.namespace",
        conditions=("Ready", "Synced"),
    )


LOG_SET, DN_SET, CN_SET = (
    reference("LogSet", "logSet"),
    reference("DNSet", "dnSet"),
    reference("CNSet", "cnset"),
)
TLS_SECRET = Reference(KindName("", "v1", "Secret"), "spec.tls.secretRef.name", poll=30)


def watch(role: str, kind: str, group: str = CORE) -> Watch:
    """Return what all kinds have in common."""
    return Watch(
        kind=KindName(group, "v1alpha1", kind),
        play=PlayPath(role_name=f"matrixorigin.matrixone.{role}"),
        vars={f"{role}_resource": f"{{{{ _{group.replace('.', '_')}_{kind.lower()} }}}}"},
        reconcile_period=36_000,
        finalizer=Finalizer(
            name=f"matrixorigin.io/{role}", vars={f"{role}_state": "absent"}, run_timeout=14_400
        ),
        run_timeout=900,
        manage_status=False,
        snake_case_parameters=False,
        watch_annotations_changes=True,
        blacklist=frozenset(
            {KindName("", "v1", "Secret"), KindName("events.k8s.io", "v1", "Event")}
        ),
        watch_dependent_status=True,
        watch_dependent_annotations=DependentAnnotations.OTHERS,
        keep_managed_fields=False,
        admission=Admission(
            validate=("matrixorigin.matrixone.admission",),
            operations=("CREATE", "UPDATE", "DELETE"),
        ),
        precheck="matrixorigin.matrixone.up_to_date",
        trigger_variable=True,
        condition_metrics=("Ready", "Synced", "Degraded"),
        isolation=Isolation.SHARED,
    )


LOGINS = tuple(
    Reference(KindName("", "v1", "Secret"), f"{path}.name", poll=30)
    for path in (
        "status.credentialRef",
        "status.clusterMetrics.secretRef",
        "status.binding",
        "spec.connectionSecret.userSecretRef",
        "spec.tls.secretRef",
    )
)
BACKUPS = frozenset(
    {
        *(KindName("", "v1", kind) for kind in ("Secret", "ServiceAccount")),
        KindName("events.k8s.io", "v1", "Event"),
        *(KindName("rbac.authorization.k8s.io", "v1", kind) for kind in ("Role", "RoleBinding")),
    }
)


def of_backups(role: str, kind: str) -> Watch:
    """Return what the kinds of backups have in common."""
    found = replace(watch(role, kind), precheck="", blacklist=BACKUPS)
    assert found.finalizer is not None
    return replace(found, finalizer=replace(found.finalizer, run_timeout=900))


UNSHOWN: dict[str, Any] = {"condition_metrics": ()}
"""Of kinds of which there may be thousands."""

EXPECTED = [
    replace(watch("matrixonecluster", "MatrixOneCluster"), reconcile_period=600, references=LOGINS),
    replace(watch("logset", "LogSet"), probe=PROBE),
    replace(watch("dnset", "DNSet"), probe=PROBE, references=(LOG_SET,)),
    replace(
        watch("cnset", "CNSet"),
        probe=PROBE,
        references=(LOG_SET, TLS_SECRET, DN_SET),
        members=(POD,),
    ),
    replace(watch("proxyset", "ProxySet"), probe=PROBE, references=(LOG_SET, TLS_SECRET)),
    replace(watch("webui", "WebUI"), references=(CN_SET,)),
    replace(of_backups("backupjob", "BackupJob"), reconcile_period=3600, **UNSHOWN),
    replace(of_backups("restorejob", "RestoreJob"), reconcile_period=3600, **UNSHOWN),
    replace(
        of_backups("backup", "Backup"), admission=Admission(), all_namespaces_only=True, **UNSHOWN
    ),
    replace(
        watch("backupschedule", "BackupSchedule"),
        reconcile_period=600,
        precheck="",
        finalizer=Finalizer(
            name="matrixorigin.io/backupschedule", vars={"backupschedule_state": "absent"}
        ),
    ),
    replace(
        of_backups("bucketclaim", "BucketClaim"),
        reconcile_period=600,
        finalizer=Finalizer(
            name="matrixorigin.io/bucket-data-finalizer",
            vars={"bucketclaim_state": "absent"},
            run_timeout=900,
        ),
        admission=Admission(),
    ),
    replace(
        watch("cnpool", "CNPool"),
        reconcile_period=600,
        precheck="",
        probe=PROBE,
        members=(Members(KindName(CORE, "v1alpha1", "CNClaim"), "", "", spec=True),),
    ),
    replace(
        watch("cnclaim", "CNClaim"),
        reconcile_period=600,
        precheck="matrixorigin.matrixone.served",
        finalizer=None,
        selector=Selector((), (Requirement("pool.matrixorigin.io/pool-name", "DoesNotExist"),)),
        max_concurrent_reconciles=1,
        **UNSHOWN,
    ),
    replace(
        watch("cnclaimset", "CNClaimSet"),
        reconcile_period=600,
        precheck="",
        finalizer=None,
        **UNSHOWN,
    ),
    replace(
        watch("database", "Database"),
        reconcile_period=600,
        precheck="",
        finalizer=Finalizer(
            name="matrixorigin.io/database",
            vars={"database_state": "absent"},
            run_timeout=900,
        ),
        condition_metrics=("Ready", "Synced"),
        references=(
            Reference(
                KindName(CORE, "v1alpha1", "MatrixOneCluster"),
                "spec.clusterRef.name",
                "",
                conditions=("Ready",),
            ),
        ),
    ),
    replace(
        watch("databaseuser", "DatabaseUser"),
        reconcile_period=600,
        precheck="",
        finalizer=Finalizer(
            name="matrixorigin.io/databaseuser",
            vars={"databaseuser_state": "absent"},
            run_timeout=900,
        ),
        condition_metrics=("Ready", "Synced"),
        references=(
            Reference(KindName("", "v1", "Secret"), "spec.passwordSecretRef.name", poll=30),
            Reference(KindName("", "v1", "Secret"), "status.secretRef.name", poll=30),
            Reference(KindName("", "v1", "Secret"), "status.binding.name", poll=30),
            Reference(
                KindName(CORE, "v1alpha1", "MatrixOneCluster"),
                "spec.clusterRef.name",
                "",
                conditions=("Ready",),
            ),
        ),
    ),
    replace(
        watch("matrixonecluster_early", "MatrixoneCluster", EARLY),
        reconcile_period=60,
        finalizer=Finalizer(
            name="deletepvc.finalizers.matrixone.matrixorigin.cn",
            vars={"matrixonecluster_early_state": "absent"},
            run_timeout=14_400,
        ),
        admission=Admission(),
        precheck="",
    ),
]


def loaded(monkeypatch: pytest.MonkeyPatch, **environ: str) -> list[Watch]:
    monkeypatch.chdir(ROOT)
    environment = {"ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"), **environ}
    found = load(ROOT / "watches.yaml", environ=environment, strict=True)
    return [replace(one, play=replace(one.play, role="")) for one in found]


@pytest.mark.parametrize("number", range(len(EXPECTED)), ids=[one.kind.kind for one in EXPECTED])
def test_kind(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    found = loaded(monkeypatch)
    assert len(found) == len(EXPECTED)
    assert found[number] == EXPECTED[number]


def test_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Periods and namespaces to leave alone come from variables; the first operator has its own."""
    found = loaded(monkeypatch, RECONCILE_PERIOD="7m", RECONCILE_WAIT="9s", DENY_LIST="one, two")
    assert [one.reconcile_period for one in found] == [
        *[420] * 6,
        3600,
        3600,
        36_000,
        *[420] * 7,
        9,
    ]
    assert {one.ignored_namespaces for one in found} == {frozenset({"one", "two"})}


def test_health_period(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets and pools are asked for a sign of life as often as a variable says; 0 means never."""
    asked = [one.probe for one in loaded(monkeypatch, HEALTH_PERIOD="25s")]
    assert [one.period for one in asked if one] == [25] * 5
    assert not any(one.probe for one in loaded(monkeypatch, HEALTH_PERIOD="0"))
