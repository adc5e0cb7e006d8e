# SPDX-License-Identifier: Apache-2.0
"""Shared storage, caches and retention."""

from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api import errors, fields
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.workload import storage

from tests.support import resources as r

EXTERNAL = "hakeeper.example:32001"
NO_S3 = {"s3": r.DELETE}


def entries(**s3: Any) -> list[r.Json]:
    found: list[r.Json] = r.config(r.render(r.logset(sharedStorage={"s3": s3})))["fileservice"]
    return found


def test_three_entries_for_an_object_store() -> None:
    local, shared, etl = entries(path="/bucket/prefix/", type="aws", endpoint="e")
    assert local == {"name": "LOCAL", "backend": "DISK", "data-dir": "/var/lib/matrixone/data"}
    assert shared == {
        "name": "S3",
        "backend": "S3",
        "cache": {"memory-capacity": "1B"},
        "s3": {"endpoint": "e", "bucket": "bucket", "key-prefix": "prefix/data"},
    }
    assert etl["s3"]["key-prefix"] == "prefix/etl"
    assert (etl["name"], etl["backend"], etl["cache"]) == ("ETL", "S3", {"memory-capacity": "1B"})


@pytest.mark.parametrize(
    ("path", "bucket", "prefix"),
    [("b", "b", "data"), ("b/", "b", "data"), ("/b/x/y", "b", "x/y/data"), ("b/x/", "b", "x/data")],
)
def test_bucket_and_prefix(path: str, bucket: str, prefix: str) -> None:
    found = entries(path=path)[1]["s3"]
    assert (found["bucket"], found["key-prefix"]) == (bucket, prefix)


@pytest.mark.parametrize(
    ("region", "endpoint"),
    [
        (None, "s3.us-west-2.amazonaws.com"),
        ("eu-central-1", "s3.eu-central-1.amazonaws.com"),
        ("cn-north-1", "s3.cn-north-1.amazonaws.com.cn"),
    ],
)
def test_endpoint_follows_the_region(region: str | None, endpoint: str) -> None:
    objects = r.render(
        r.logset(sharedStorage={"s3": {"type": "aws", "endpoint": r.DELETE, "region": region}})
    )
    assert r.config(objects)["fileservice"][1]["s3"]["endpoint"] == endpoint
    assert r.env(objects)["AWS_REGION"] == (region or "us-west-2")


def test_credentials_come_from_the_secret_or_the_surroundings() -> None:
    env = r.env(r.render(r.logset()))
    assert env["AWS_ACCESS_KEY_ID"] == {
        "secretKeyRef": {"name": "minio", "key": "AWS_ACCESS_KEY_ID"}
    }
    assert env["AWS_SECRET_ACCESS_KEY"]["secretKeyRef"]["key"] == "AWS_SECRET_ACCESS_KEY"
    without = r.env(r.render(r.logset(sharedStorage={"s3": {"secretRef": r.DELETE}})))
    assert "AWS_ACCESS_KEY_ID" not in without
    assert without["AWS_REGION"] == "us-west-2"


def test_certificates_are_mounted_and_named() -> None:
    s3 = {"certificateRef": {"name": "ca", "files": ["a.crt", "b.crt"]}}
    for subject in (r.logset(sharedStorage={"s3": s3}), r.cnset(), r.proxyset()):
        objects = r.render(subject, log_set=r.logset(sharedStorage={"s3": s3}))
        assert r.volumes(objects)["s3-ssl"]["secret"] == {"secretName": "ca", "defaultMode": 0o644}
        assert {"name": "s3-ssl", "mountPath": "/etc/s3-ssl", "readOnly": True} in r.main(objects)[
            "volumeMounts"
        ]
        for entry in r.config(objects)["fileservice"][1:]:
            assert entry["s3"]["cert-files"] == ["/etc/s3-ssl/a.crt", "/etc/s3-ssl/b.crt"]


def test_file_system_without_a_volume_is_mounted_by_the_user() -> None:
    objects = r.render(r.logset(sharedStorage={**NO_S3, "fileSystem": {"path": "/shared"}}))
    assert "/shared" not in r.mounts(objects)
    assert "AWS_REGION" not in r.env(objects)


@pytest.mark.parametrize("make", [r.logset, r.dnset, r.cnset, r.proxyset])
def test_file_system_is_mounted_in_every_pod(make: Any) -> None:
    nfs = {"nfs": {"server": "nfs.example", "path": "/export"}}
    files = {"path": "/shared", "volume": nfs}
    log_set = r.logset(sharedStorage={**NO_S3, "fileSystem": files})
    subject = log_set if make is r.logset else make()
    objects = r.render(subject, log_set=log_set)
    assert r.volumes(objects)["shared"] == {"name": "shared", **nfs}
    assert r.mounts(objects)["/shared"] == "shared"


@pytest.mark.parametrize("make", [r.logset, r.dnset, r.cnset, r.proxyset])
def test_claim_is_mounted_in_every_pod_and_made_by_the_log_set(make: Any) -> None:
    files = {"path": "/shared", "claim": {"size": "5Gi", "storageClassName": "nfs"}}
    log_set = r.logset(sharedStorage={**NO_S3, "fileSystem": files})
    objects = r.render(log_set if make is r.logset else make(), log_set=log_set)
    assert r.volumes(objects)["shared"]["persistentVolumeClaim"] == {"claimName": "mo-shared"}
    if make is not r.logset:
        assert not r.names_of(objects, "PersistentVolumeClaim")
        return
    assert objects[0] == r.find(objects, "PersistentVolumeClaim", "mo-shared")
    assert objects[0]["spec"] == {
        "accessModes": ["ReadWriteMany"],
        "resources": {"requests": {"storage": "5Gi"}},
        "storageClassName": "nfs",
    }


@pytest.mark.parametrize("policy", ["Retain", "Delete", None])
def test_no_owner_takes_the_shared_claim_along(policy: str | None) -> None:
    files = {"path": "/shared", "claim": {"size": "5Gi", "accessModes": ["ReadWriteOnce"]}}
    storage_ = {**NO_S3, "fileSystem": files}
    objects = r.render(r.logset(sharedStorage=storage_, pvcRetentionPolicy=policy))
    claim = r.find(objects, "PersistentVolumeClaim")
    assert claim["metadata"]["annotations"] == {"matrixorigin.io/keep": "true"}
    assert claim["spec"]["accessModes"] == ["ReadWriteOnce"]


def test_claim_cannot_be_mounted_from_another_namespace() -> None:
    log_set = r.logset(
        sharedStorage={**NO_S3, "fileSystem": {"path": "/s", "claim": {"size": "1Gi"}}}
    )
    log_set["metadata"]["namespace"] = "other"
    with pytest.raises(errors.InvalidSpec, match=r"^deps\.logSet\.metadata\.namespace: must be"):
        r.render(r.cnset(), log_set=log_set)


def test_overlay_can_mount_something_else_at_the_path() -> None:
    files = {"path": "/shared", "volume": {"emptyDir": {}}}
    over = {"volumeMounts": [{"name": "mine", "mountPath": "/shared"}]}
    objects = r.render(r.logset(sharedStorage={**NO_S3, "fileSystem": files}, overlay=over))
    assert r.mounts(objects)["/shared"] == "mine"
    paths = [mount["mountPath"] for mount in r.main(objects)["volumeMounts"]]
    assert len(paths) == len(set(paths))


@pytest.mark.parametrize(
    ("shared", "message"),
    [
        (NO_S3, r"spec\.sharedStorage: one of s3 or fileSystem must be set"),
        ({"fileSystem": {"path": "/a"}}, r"spec\.sharedStorage: only one of"),
        ({"s3": {"path": "//"}}, r"spec\.sharedStorage\.s3\.path: must be <bucket>"),
        ({"s3": {"type": "gcs"}}, r"spec\.sharedStorage\.s3\.type: must be one of aws, minio"),
        (
            {"s3": {"certificateRef": {"files": ["a"]}}},
            r"spec\.sharedStorage\.s3\.certificateRef\.name: must be set",
        ),
        ({**NO_S3, "fileSystem": {}}, r"spec\.sharedStorage\.fileSystem\.path: must be"),
        (
            {**NO_S3, "fileSystem": {"path": "/a", "volume": {}, "claim": {}}},
            r"spec\.sharedStorage\.fileSystem\.claim: only one of",
        ),
        (
            {**NO_S3, "fileSystem": {"path": "/a", "claim": {}}},
            r"spec\.sharedStorage\.fileSystem\.claim\.size: must be set",
        ),
    ],
)
def test_unusable_storage_names_its_field(shared: Any, message: str) -> None:
    with pytest.raises(errors.InvalidSpec, match=f"^{message}"):
        r.render(r.logset(sharedStorage=shared))


@pytest.mark.parametrize("make", [r.dnset, r.cnset])
@pytest.mark.parametrize(
    ("spec", "cache"),
    [
        ({}, None),
        ({"resources": {"limits": {"memory": "4Gi"}}}, None),
        ({"resources": {"requests": {"memory": "0"}}}, None),
        ({"resources": {"requests": {"memory": "3Gi"}}}, {"memory-capacity": "1536MiB"}),
        ({"sharedStorageCache": {"memoryCacheSize": "1Gi"}}, {"memory-capacity": "1GiB"}),
        (
            {
                "resources": {"requests": {"memory": "3Gi"}},
                "sharedStorageCache": {"memoryCacheSize": "1024Mi"},
            },
            {"memory-capacity": "1024MiB"},
        ),
        ({"cacheVolume": {"size": "20Gi"}}, {"disk-capacity": "18GiB"}),
        (
            {
                "cacheVolume": {"size": "20Gi"},
                "sharedStorageCache": {"diskCacheSize": "7Gi", "memoryCacheSize": "1"},
            },
            {"disk-capacity": "7GiB", "memory-capacity": "1B"},
        ),
    ],
)
def test_cache_sizes_follow_the_spec(make: Any, spec: Any, cache: dict[str, str] | None) -> None:
    found = r.config(r.render(make(**spec)))["fileservice"]
    expected = cache and {
        **cache,
        **({"disk-path": "/var/lib/matrixone/disk-cache"} if "disk-capacity" in cache else {}),
    }
    assert found[1].get("cache") == expected
    assert found[2]["cache"] == {"memory-capacity": "1B"}


def test_cache_grows_with_its_volume() -> None:
    sizes = [
        r.config(r.render(r.cnset(cacheVolume={"size": size})))["fileservice"][1]["cache"]
        for size in ("10Gi", "20Gi")
    ]
    assert [size["disk-capacity"] for size in sizes] == ["9GiB", "18GiB"]


def test_users_cache_keys_stay() -> None:
    text = '[[fileservice]]\nname = "S3"\n[fileservice.cache]\nquery = true\n'
    found = r.config(r.render(r.cnset(config=text, cacheVolume={"size": "10Gi"})))
    assert found["fileservice"][1]["cache"]["query"] is True
    assert found["fileservice"][1]["cache"]["disk-capacity"] == "9GiB"


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"cacheVolume": {"size": "0"}}, "cacheVolume.size: must be more than zero"),
        ({"cacheVolume": {"storageClassName": "x"}}, "cacheVolume.size: must be set"),
        ({"cacheVolume": {"size": "ten"}}, "cacheVolume.size: 'ten' is not a quantity"),
        ({"sharedStorageCache": {"memoryCacheSize": "x"}}, "sharedStorageCache.memoryCacheSize: "),
        ({"resources": {"requests": {"memory": "x"}}}, "resources.requests.memory: "),
    ],
)
def test_unusable_size_names_its_field(spec: Any, field: str) -> None:
    with pytest.raises(errors.InvalidSpec) as caught:
        r.render(r.cnset(**spec))
    assert str(caught.value).startswith(f"spec.{field}")


POLICIES = [
    # pvc policy, s3 policy, has s3, effective pvc
    (None, None, True, "Delete"),
    ("Retain", None, True, "Retain"),
    ("Delete", None, True, "Delete"),
    (None, "Retain", True, "Retain"),
    (None, "Delete", True, "Delete"),
    ("Delete", "Retain", True, "Delete"),
    ("Retain", "Delete", True, "Retain"),
    (None, None, False, "Delete"),
    ("Retain", None, False, "Retain"),
]


@pytest.mark.parametrize(("pvc", "s3", "has_s3", "claims"), POLICIES)
def test_retention(pvc: str | None, s3: str | None, has_s3: bool, claims: str) -> None:
    shared = {"s3": {**r.S3, "s3RetentionPolicy": s3}} if has_s3 else {"fileSystem": {"path": "/a"}}
    subject = r.logset(pvcRetentionPolicy=pvc, sharedStorage={**NO_S3, **shared})
    spec = fields.Fields("spec", subject["spec"])
    assert storage.pvc_policy(spec) == claims
    policy = r.workload(r.render(subject))["spec"]["persistentVolumeClaimRetentionPolicy"]
    # Kubernetes would delete them for whoever deletes or scales the StatefulSet by hand.
    assert policy == {"whenDeleted": "Retain", "whenScaled": "Retain"}


@pytest.mark.parametrize("field", ["pvcRetentionPolicy", "sharedStorage.s3.s3RetentionPolicy"])
def test_a_policy_that_cannot_be_read_is_refused_before_anything_exists(field: str) -> None:
    s3 = {"s3": {**r.S3, "s3RetentionPolicy": "Deltee"}}
    of_volumes = field == "pvcRetentionPolicy"
    spec = {"pvcRetentionPolicy": "Deltee"} if of_volumes else {"sharedStorage": {**NO_S3, **s3}}
    with pytest.raises(errors.InvalidSpec) as caught:
        r.render(r.logset(**spec))
    assert str(caught.value).startswith(f"spec.{field}: ")


def external(**table: Any) -> r.Json:
    return {"externalLogSet": {"haKeeperEndpoint": EXTERNAL, **table}}


@pytest.mark.parametrize("make", [r.dnset, r.cnset, r.proxyset])
def test_external_log_service_is_reached_by_its_endpoint(make: Any) -> None:
    deps = external(sharedStorage={"s3": r.S3})
    newer = r.config(r.render(make(deps)))
    assert newer["hakeeper-client"] == {"discovery-address": EXTERNAL}
    assert newer["fileservice"][1]["s3"]["bucket"] == "matrixone"
    older = r.config(r.render(make(deps, image="a/b:1.2.3")))["hakeeper-client"]
    if make is r.proxyset:
        assert older == {"discovery-address": EXTERNAL}
    else:
        assert older == {"service-addresses": [EXTERNAL]}


def test_storage_of_an_external_log_service_may_be_in_the_configuration() -> None:
    text = "".join(
        f'[[fileservice]]\nname = "{name}"\nbackend = "DISK"\n' for name in ("S3", "ETL")
    )
    found = r.config(r.render(r.cnset(external(), config=text)))["fileservice"]
    assert [entry["name"] for entry in found] == ["LOCAL", "S3", "ETL"]


@pytest.mark.parametrize(
    ("deps", "message"),
    [
        (external(), r"deps\.externalLogSet\.sharedStorage: must be set, unless"),
        ({"externalLogSet": {}}, r"deps\.externalLogSet\.haKeeperEndpoint: must be <host>:<port>"),
        ({"x": 1}, r"deps: one of logSet or externalLogSet must be set"),
        ({**r.depends(logSet="mo"), **external()}, r"deps: only one of logSet and"),
        ({"logSet": {"metadata": {}}}, r"deps\.logSet\.metadata\.name: must be set"),
        (
            external(sharedStorage={"fileSystem": {"path": "/a", "claim": {"size": "1"}}}),
            r"deps\.externalLogSet\.sharedStorage\.fileSystem\.claim: needs a LogSet",
        ),
    ],
)
def test_unusable_dependency_names_its_field(deps: Any, message: str) -> None:
    with pytest.raises(errors.InvalidSpec, match=f"^{message}"):
        r.render(r.cnset(deps))
