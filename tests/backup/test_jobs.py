# SPDX-License-Identifier: Apache-2.0
"""The objects of a task: pinned as golden files, within Pod security, with one right."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.admission.pod_security import (
    Level,
    pod_mistakes,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.errors import InvalidSpec
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.fields import Fields
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.manifest import Origin
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.task import jobs
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.task.tasks import (
    Login,
    Task,
    Verb,
    task_from_json,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.location import locations

from dev.render import to_yaml

Json = dict[str, Any]

FOLDER = Path(__file__).parent / "golden"
IMAGE = "registry.example.com/operator:0.2.0"
S3 = {
    "type": "minio",
    "path": "backups/mo/full",
    "endpoint": "https://minio:9000",
    "secretRef": {"name": "store"},
    "certificateRef": {"name": "ca", "files": ["ca.crt"]},
}
FILES = {
    "path": "/backup/mo/full",
    "mountPath": "/backup",
    "volume": {"persistentVolumeClaim": {"claimName": "backups"}},
}
OVERLAY = {
    "image": "mirror.example.com/operator:1",
    "env": [{"name": "AWS_ROLE_SESSION_NAME", "value": "backup"}],
    "tolerations": [{"key": "batch", "operator": "Exists"}],
    "podLabels": {"team": "data", "matrixorigin.io/instance": "stolen"},
    "podAnnotations": {"a": "b"},
    "volumes": [{"name": "backups", "persistentVolumeClaim": {"claimName": "backups"}}],
    "volumeMounts": [{"name": "backups", "mountPath": "/backup"}],
    "serviceAccountName": "overlaid",
}


def work(target: Json, source: Json | None = None, name: str = "mo-full") -> jobs.Work:
    resource = {"kind": "BackupJob", "metadata": {"name": name, "namespace": "prod"}}
    place = Fields("spec.target", target)
    task = Task(
        verb=Verb.BACKUP,
        id="0195",
        login=Login("mo-tp-cn.prod", 6001),
        origin=Origin("MatrixOneCluster", "prod", "mo"),
        target=locations.from_fields(place, "target"),
    )
    return jobs.Work(
        resource=resource,
        namespace="prod",
        suffix="backup",
        task=task,
        login="mo-credential",
        target=place,
        source=Fields("spec.source", source) if source else None,
    )


def settings(**spec: Any) -> jobs.Settings:
    return jobs.Settings.of(Fields("spec", spec), IMAGE)


VARIANTS = {
    "s3": (work({"s3": S3}), settings()),
    "identity": (
        work({"s3": {"path": "backups/mo", "region": "eu-west-1"}}),
        settings(serviceAccountName="mo-backup", backoffLimit=0, activeDeadlineSeconds=60),
    ),
    "folder": (
        work({"fileSystem": FILES}),
        settings(suspend=True, resources={"limits": {"memory": "512Mi"}}),
    ),
    "tls": (replace(work({"fileSystem": FILES}), certificate="mo-tls"), settings()),
    "overlay": (work({"fileSystem": {"path": "/backup/mo"}}), settings(overlay=OVERLAY)),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_objects_are_as_released(name: str, request: pytest.FixtureRequest) -> None:
    text = to_yaml(jobs.task_objects(*VARIANTS[name]))
    golden = FOLDER / f"job-{name}.yaml"
    if request.config.getoption("--regenerate-golden", default=False):
        golden.write_text(text)
    assert golden.read_text() == text


@pytest.mark.parametrize("name", VARIANTS)
def test_pods_are_restricted_and_may_write_one_result(name: str) -> None:
    made = jobs.task_objects(*VARIANTS[name])
    job = made[-1]
    template = job["spec"]["template"]
    assert list(pod_mistakes("job", template, Level.RESTRICTED)) == []
    [role] = [one for one in made if one["kind"] == "Role"]
    [binding] = [one for one in made if one["kind"] == "RoleBinding"]
    result = jobs.result_name(job["metadata"]["name"])
    assert role["rules"] == [
        {
            "apiGroups": [""],
            "resources": ["configmaps"],
            "resourceNames": [result],
            "verbs": ["get", "patch"],
        }
    ]
    [subject] = binding["subjects"]
    assert subject["name"] == template["spec"]["serviceAccountName"]
    assert f"ConfigMap/{result}" not in jobs.created_once(made)


def test_the_program_reads_what_was_decided() -> None:
    one = VARIANTS["s3"][0]
    task = jobs.task_objects(*VARIANTS["s3"])[0]
    read = task_from_json(task["data"]["task.json"])
    assert (read.target, read.login, read.origin) == (
        one.task.target,
        one.task.login,
        one.task.origin,
    )
    assert read.report is not None
    assert (read.report.namespace, read.report.name) == ("prod", "mo-full-backup-result")


def test_no_secret_is_in_an_object() -> None:
    """They are mounted: neither environment nor arguments have them."""
    job = jobs.task_objects(*VARIANTS["s3"])[-1]
    [main] = job["spec"]["template"]["spec"]["containers"]
    assert "valueFrom" not in json.dumps(main)
    assert "envFrom" not in main


def test_labels_that_select_cannot_be_overridden() -> None:
    metadata = jobs.task_objects(*VARIANTS["overlay"])[-1]["spec"]["template"]["metadata"]
    assert metadata["labels"]["matrixorigin.io/instance"] == "mo-full"
    assert metadata["labels"]["team"] == "data"


def test_source_and_target_in_one_volume_mount_it_once() -> None:
    other = {**FILES, "path": "/backup/other"}
    made = jobs.task_objects(work({"fileSystem": FILES}, {"fileSystem": other}), settings())
    volumes = made[-1]["spec"]["template"]["spec"]["volumes"]
    assert [one["name"] for one in volumes] == ["task", "login", "target-files", "tmp"]


def test_two_volumes_at_one_place_are_refused() -> None:
    other = {**FILES, "volume": {"persistentVolumeClaim": {"claimName": "other"}}}
    with pytest.raises(InvalidSpec, match=r"spec\.source\.fileSystem\.mountPath"):
        jobs.task_objects(work({"fileSystem": FILES}, {"fileSystem": other}), settings())


def test_without_an_image_the_message_says_where_to_name_one() -> None:
    with pytest.raises(InvalidSpec, match=r"spec\.overlay\.image: .*OPERATOR_IMAGE"):
        jobs.Settings.of(Fields("spec", {}), "")


@pytest.mark.parametrize("owner", ["a", "a" * 49, "a" * 50, "a" * 52, "a" * 63, "b-" * 31 + "c"])
@pytest.mark.parametrize("suffix", ["backup", "restore", "delete", "verify"])
def test_names_are_dns_labels_and_differ(owner: str, suffix: str) -> None:
    base = jobs.base_name(owner, suffix)
    # A Pod adds a dash and five characters.
    assert re.fullmatch("[a-z]([-a-z0-9]{,55}[a-z0-9])?", base)
    assert base.endswith(f"-{suffix}")
    assert jobs.base_name(owner + "x", suffix) != base
