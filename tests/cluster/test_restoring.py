# SPDX-License-Identifier: Apache-2.0
"""A cluster that begins with a backup: restored before anything else, and once."""

import copy

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.cluster import restoring
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.reporting.conditions import (
    completed,
)

from tests.support.builders import NOW, resource, states
from tests.support.passes import plan_of, references_of, removal_of, report_on

CLAIM = {"size": "1Gi", "accessModes": ["ReadWriteOnce"]}
MOUNTED = {"fileSystem": {"path": "/shared"}}
"""Storage whose volume the overlays bring."""
COMPONENTS = {"LogSet", "DNSet", "CNSet", "ProxySet"}
OVERLAY = {
    "volumes": [{"name": "v", "emptyDir": {}}],
    "volumeMounts": [{"name": "v", "mountPath": "/shared"}],
}
SOURCE = {"s3": {"path": "backups/one", "endpoint": "http://s3:1", "secretRef": {"name": "old"}}}


def cluster(status=None, storage=None, **spec):
    made = resource("MatrixOneCluster")
    made["metadata"]["creationTimestamp"] = NOW
    made["spec"] = {
        "version": "1.3.0",
        "restoreFrom": "nightly",
        "logService": {
            "replicas": 3,
            "volume": {"size": "1Gi"},
            "sharedStorage": storage or {"fileSystem": {"path": "/shared", "claim": CLAIM}},
            "overlay": {"serviceAccountName": "cloud", "env": [{"name": "A", "value": "1"}]},
        },
        "tn": {"replicas": 1},
        "cnGroups": [{"name": "tp", "replicas": 1}],
        "proxy": {"replicas": 1},
        **spec,
    }
    if storage == MOUNTED:
        spec = made["spec"]
        for component in (spec["logService"], spec["tn"], *spec["cnGroups"]):
            component["overlay"] = {**component.get("overlay", {}), **copy.deepcopy(OVERLAY)}
    if status:
        made["status"] = {"restore": status}
    return made


def job(phase="", created=NOW, **status):
    made = resource("RestoreJob", "restore-mo")
    made["metadata"]["creationTimestamp"] = created
    made["status"] = {**({"phase": phase} if phase else {}), **status}
    return made


def planned(subject, **observed):
    return plan_of(subject, {"self": subject, "credential": None, "cnSets": [], **observed})


def kinds(plan):
    return [one["kind"] for one in plan["objects"]]


@pytest.mark.parametrize("live", [None, job(), job("Pending"), job("Running"), job("Failed")])
def test_no_component_is_created_before_the_backup_is_there(live):
    """The job stays desired in each of these passes: nothing prunes what runs."""
    plan = planned(cluster(), restoreJob=live)

    assert kinds(plan) == ["PersistentVolumeClaim", "RestoreJob"]
    assert plan["restoring"]
    assert plan["restore"]["phase"] == ((live or {}).get("status") or {}).get("phase", "Pending")


@pytest.mark.parametrize(("version", "runs"), [("3.0.4", "3.0.4"), ("nightly", None)])
def test_the_job_knows_the_version_that_is_to_run(version, runs):
    subject = cluster()
    subject["spec"]["version"] = version

    _claim, job_ = planned(subject, restoreJob=None)["objects"]

    annotations = job_["metadata"].get("annotations") or {}
    assert annotations.get("matrixorigin.io/runs-version") == runs


def test_completion_is_on_record_before_a_component_is_created():
    """The pass that finds the job completed writes that down; the next one creates components."""
    done = job("Completed", id="b1", atTime=NOW, completionTime="2026-01-02T03:09:00Z")

    first = planned(cluster(), restoreJob=done)
    report = report_on(
        cluster(), first, {"logSet": None, "cnSets": [], "restoreJob": done}, {}, "", NOW
    )
    second = planned(cluster(report["status"]["restore"]), restoreJob=done)

    assert not COMPONENTS & set(kinds(first))
    assert report["status"]["restore"] == {
        "phase": "Completed",
        "from": "nightly",
        "id": "b1",
        "atTime": NOW,
        "completedAt": "2026-01-02T03:09:00Z",
    }
    assert report["requeue"] == "1s"
    assert [event["reason"] for event in report["events"]][-1] == "Restored"
    assert kinds(second) == ["LogSet", "DNSet", "CNSet", "ProxySet"]
    assert not second["restoring"]


@pytest.mark.parametrize("live", [None, job("Failed"), job("Running"), job()])
def test_never_twice(live):
    """Once on record, neither the job's end by its TTL nor another job of its name matters."""
    subject = cluster({"phase": "Completed", "from": "nightly", "id": "b1"})

    plan = planned(subject, restoreJob=live)

    assert set(kinds(plan)) == COMPONENTS
    assert plan["restore"] == subject["status"]["restore"]
    assert "restoreJob" not in references_of(subject)


@pytest.mark.parametrize("status", [None, {"phase": "Running"}, {"phase": "Failed"}])
def test_a_database_that_runs_is_never_restored(status):
    """Whatever became of the record: another operator, a copy of the resource without a status."""
    plan = planned(cluster(status), logSet=resource("LogSet"))

    assert set(kinds(plan)) == COMPONENTS
    assert plan["restore"]["phase"] == "Skipped"


def log_claim(name="mo-data-mo-log-0", **metadata):
    made = resource("PersistentVolumeClaim", name)
    made["metadata"].update(metadata)
    return made


@pytest.mark.parametrize("live", [None, job("Running"), job("Completed"), job("Failed")])
def test_volumes_of_earlier_log_stores_are_in_the_way(live):
    """They were kept, and hold the log of a database that is not the one in the backup."""
    claims = [log_claim("mo-data-mo-log-1"), log_claim(), log_claim("mo-shared")]

    plan = planned(cluster(), restoreJob=live, logClaims=claims)
    found = report_on(cluster(), plan, {"logSet": None, "cnSets": []}, {}, "", NOW)

    assert kinds(plan) == []
    assert plan["restoring"]
    assert plan["restore"]["phase"] == "Pending"
    assert "mo-data-mo-log-0, …" in found["message"]
    assert states(found["status"])["Ready"] == ("False", "Restoring")
    assert found["requeue"]


@pytest.mark.parametrize(
    "claim",
    [
        log_claim("mo-shared"),
        log_claim("mo-data-mo-dn-0"),
        log_claim("copy-of-mo-data-mo-log-0"),
        log_claim(deletionTimestamp=NOW),
    ],
)
def test_other_volumes_are_not_in_the_way(claim):
    assert "RestoreJob" in kinds(planned(cluster(), logClaims=[claim]))


def test_volumes_of_log_stores_are_used_once_the_restore_is_on_record():
    plan = planned(cluster({"phase": "Completed"}), logClaims=[log_claim()])

    assert set(kinds(plan)) == COMPONENTS


def test_playbook_refuses_to_restore_beside_volumes_of_earlier_log_stores():
    subject = cluster()
    del subject["metadata"]["uid"]

    plan = plan_of(subject, {"logStores": None, "logClaims": [log_claim()]})
    running = plan_of(subject, {"logStores": resource("StatefulSet"), "logClaims": [log_claim()]})

    assert plan["invalid"].startswith("spec.restoreFrom: not created: the volumes of log stores")
    assert kinds(running)[0] == "LogSet"


@pytest.mark.parametrize("final", ["Completed", "Skipped"])
def test_an_older_status_does_not_end_the_record(final):
    """A pass may have been given the resource as it was before the record was written."""
    record = {"phase": final, "from": "nightly"}
    live = cluster(record)

    assert restoring.recorded(cluster({"phase": "Running"}), {"self": live}) == record
    assert restoring.recorded(live, {"self": cluster({"phase": "Running"})}) == record
    for stale in ({}, {"restore": {"phase": "Running"}}):
        assert completed({"phase": "Ready", **stale}, live["status"], NOW)["restore"] == record
    before = {"restore": {"phase": "Running"}}
    assert completed({}, before, NOW) == before
    assert completed({"restore": record}, before, NOW)["restore"] == record


def test_record_of_an_earlier_cluster_of_the_name():
    """What is observed under the name may be the next cluster, which was not restored."""
    later = cluster({"phase": "Completed"})
    later["metadata"]["uid"] = "u-2"

    assert restoring.recorded(cluster(), {"self": later}) == {}


def test_job_of_an_earlier_cluster():
    """It was left behind when that one was deleted without its dependents; its data are not ours."""
    plan = planned(cluster(), restoreJob=job("Completed", created="2025-12-31T00:00:00Z"))

    assert plan["restoring"]
    assert plan["restore"]["phase"] == "Pending"
    assert "older than the cluster" in plan["restore"]["message"]


STORAGES = [
    (
        {"fileSystem": {"path": "/shared", "claim": CLAIM}},
        {
            "fileSystem": {
                "path": "/shared",
                "mountPath": "/shared",
                "volume": {"persistentVolumeClaim": {"claimName": "mo-shared"}},
            }
        },
    ),
    (
        {
            "fileSystem": {
                "path": "/shared",
                "volume": {"persistentVolumeClaim": {"claimName": "own"}},
            }
        },
        {
            "fileSystem": {
                "path": "/shared",
                "mountPath": "/shared",
                "volume": {"persistentVolumeClaim": {"claimName": "own"}},
            }
        },
    ),
    (MOUNTED, {"fileSystem": {"path": "/shared"}}),
    (
        {"s3": {"path": "mo/new", "s3RetentionPolicy": "Retain", "secretRef": {"name": "new"}}},
        {"s3": {"path": "mo/new", "secretRef": {"name": "new"}}},
    ),
]


@pytest.mark.parametrize(("storage", "target"), STORAGES)
@pytest.mark.parametrize("source", [{"restoreFrom": "nightly"}, {"restoreSource": SOURCE}])
def test_restore_job(storage, target, source):
    plan = planned(cluster(storage=storage, **{"restoreFrom": None, **source}))
    found = plan["objects"][-1]

    asked = {"backupName": "nightly"} if "restoreFrom" in source else {"externalSource": SOURCE}
    assert found["metadata"]["name"] == "restore-mo"
    assert found["metadata"]["labels"]["matrixorigin.io/cluster"] == "mo"
    own = {"overlay": OVERLAY} if storage == MOUNTED else {}
    assert found["spec"] == {**asked, "target": target, "serviceAccountName": "cloud", **own}


def test_claim_is_created_for_the_restore_and_left_to_the_log_set():
    """An old claim of its name keeps what it has; nobody controls the new one before the LogSet."""
    plan = planned(cluster())
    claim = plan["objects"][0]

    assert plan["createOnly"] == ["PersistentVolumeClaim/mo-shared"]
    assert claim["metadata"]["annotations"]["matrixorigin.io/keep"] == "true"
    assert claim["metadata"]["labels"]["matrixorigin.io/component"] == "LogSet"
    assert claim["metadata"]["labels"]["matrixorigin.io/restoring"] == "u-1"
    assert claim["spec"]["resources"]["requests"]["storage"] == "1Gi"


def test_placement_follows_the_log_service():
    """A volume that one node or zone has is bound where the Job runs first."""
    subject = cluster(nodeSelector={"disk": "fast"}, storage=MOUNTED)
    mounts = {**OVERLAY, "tolerations": [{"key": "db", "operator": "Exists"}]}
    subject["spec"]["logService"]["overlay"] = copy.deepcopy(mounts)

    overlay = planned(subject)["objects"][-1]["spec"]["overlay"]

    node = overlay.pop("affinity")["nodeAffinity"]
    assert overlay == mounts
    [term] = node["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert term["matchExpressions"] == [{"key": "disk", "operator": "In", "values": ["fast"]}]


def test_playbook_restores_first_and_leaves_a_running_database_alone():
    subject = cluster()
    del subject["metadata"]["uid"]

    fresh = plan_of(subject, {"logStores": None})
    running = plan_of(subject, {"logStores": resource("StatefulSet", "mo-log")})

    assert kinds(fresh)[:3] == ["PersistentVolumeClaim", "RestoreJob", "LogSet"]
    assert kinds(running)[0] == "LogSet"
    assert references_of(subject)["logStores"]["name"] == "mo-log"


def report(subject, live):
    seen = {"logSet": None, "cnSets": [], "restoreJob": live}
    plan = plan_of(subject, {"self": subject, **seen})
    return report_on(subject, plan, seen, {}, "", NOW)


def test_status_while_it_is_restored():
    found = report(cluster(), job("Running", message="the step Copy is in progress"))

    assert states(found["status"])["Ready"] == ("False", "Restoring")
    assert states(found["status"])["Progressing"] == ("True", "Restoring")
    assert "the step Copy is in progress" in found["message"]
    assert set(found["status"]["readable"]) == {"log", "tn", "dn", "cn", "proxy"}
    assert found["requeue"]


def test_status_of_a_failed_restore():
    """It ends there: somebody has to correct the cause, and the message says how it goes on."""
    found = report(cluster(), job("Failed", message="403 of the bucket"))

    seen = states(completed(found["status"], {}, NOW))
    assert seen["Ready"] == ("False", "RestoreFailed")
    assert seen["Synced"] == ("False", "RestoreFailed")
    assert seen["Progressing"] == ("False", "Settled")
    assert seen["Stalled"] == ("True", "RestoreFailed")
    assert "403 of the bucket" in found["message"]
    assert "RestoreJob restore-mo" in found["message"]
    assert "delete it" in found["message"]


def test_a_deleted_job_is_created_again_after_a_failure():
    plan = planned(cluster({"phase": "Failed", "from": "nightly"}), restoreJob=None)

    assert kinds(plan)[-1] == "RestoreJob"
    assert plan["restore"] == {"phase": "Pending", "from": "nightly"}


def test_paused_and_failed_passes_keep_the_record():
    record = {"phase": "Completed", "from": "nightly"}
    subject = cluster(record)
    subject["metadata"]["annotations"] = {"matrixorigin.io/paused": "true"}
    seen = {"logSet": None, "cnSets": []}

    for plan, failure in ((plan_of(subject, seen), ""), ({}, "the API server refused")):
        assert report_on(subject, plan, seen, {}, failure, NOW)["status"]["restore"] == record


def test_deletion_in_the_middle():
    """The job is deleted first; of the claim only what was created for this restore."""
    steps = removal_of(cluster({"phase": "Running"}))

    assert [one["kind"] for one in steps[0]["prune"]["kinds"]] == ["RestoreJob"]
    claim = steps[1]["prune"]
    assert claim["labels"] == {"matrixorigin.io/restoring": "u-1"}
    assert claim["kinds"][0]["named"] == "mo\\-shared"


def test_deletion_of_others_has_no_such_steps():
    kept = cluster({"phase": "Running"})
    kept["spec"]["logService"]["pvcRetentionPolicy"] = "Retain"
    titles = [one["title"] for one in removal_of(kept)]

    assert titles[0] == "the restore"
    assert "the claim of the shared storage" not in titles
    assert removal_of(cluster(restoreFrom=None))[0]["title"] == "what serves clients"


def test_a_restore_that_has_ended_goes_before_the_claim_that_it_filled():
    """Kubernetes keeps a claim as long as a Pod uses it, even one that has completed."""
    steps = removal_of(cluster({"phase": "Completed"}))

    assert [one["title"] for one in steps[:2]] == ["the restore", "what serves clients"]
    assert [one["kind"] for one in steps[0]["prune"]["kinds"]] == ["RestoreJob"]
    assert steps[0]["patches"]


def test_others_cost_nothing():
    """A cluster that is not restored, and one that was, observes what it always did."""
    usual = set(references_of(cluster(restoreFrom=None)))

    assert set(references_of(cluster({"phase": "Completed"}))) == usual
    assert set(references_of(cluster())) == usual | {"restoreJob", "logClaims"}
