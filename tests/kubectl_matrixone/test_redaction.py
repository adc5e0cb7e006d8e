# SPDX-License-Identifier: Apache-2.0
"""What leaves the user's machine holds no secret, wherever people have put one."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_matrixone import redaction

SECRET = "hunter2-Of/The+Database"
KEY = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"


@pytest.mark.parametrize(
    "line",
    [
        "password={}",
        'Password: "{}"',
        "MYSQL_PWD='{}' mysql",
        '{{"root_password":"{}","user":"dump"}}',
        "--secret-key {!r}",
        'key-secret = "{}"',
        "AWS_SECRET_ACCESS_KEY={}",
        "accessKeyId: {}",
        "ALTER USER dump IDENTIFIED BY '{}'",
        'create user a identified by "{}" default role r',
        "dump:{}@tcp(127.0.0.1:6001)/shop?password={}",
        "https://admin:{}@registry.example.com/x".replace("/Of", ""),
        "Authorization: Bearer {}",
        "token: {}",
        "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----",
    ],
)
def test_secrets_in_logs_are_removed(line: str) -> None:
    secret = "hunter2-Of-The-Database" if "@reg" in line else SECRET
    shown = redaction.text(
        line.replace("{!r}", repr(secret)).replace("{}", secret).replace("{{", "{")
    )
    if line.startswith("dump:"):
        assert shown.endswith(f"password={redaction.REMOVED}")
    else:
        assert secret not in shown
        assert redaction.REMOVED in shown


@pytest.mark.parametrize(
    "line",
    [
        "waiting for Secret mo-credential, which spec.tls.secretRef names",
        "2026-11-27T06:00:00Z INFO leader elected, shard 1",
        "pulling docker.io/matrixorigin/matrixone:3.0.18",
        "select count(*) from shop.orders",
        "http://minio:9000/databases",
    ],
)
def test_what_is_no_secret_stays(line: str) -> None:
    assert redaction.text(line) == line


def test_objects_keep_their_shape() -> None:
    given = {
        "metadata": {
            "name": "mo",
            "annotations": {
                "matrixorigin.io/paused": "true",
                "kubectl.kubernetes.io/last-applied-configuration": SECRET,
                "example.com/note": SECRET,
            },
            "managedFields": [{"manager": SECRET}],
        },
        "spec": {
            "credentialSecretRef": {"name": "mo-credential"},
            "password": SECRET,
            "config": f'[cn]\nport = 6001\nkey-secret = "{KEY}"\n',
            "containers": [
                {
                    "name": "main",
                    "env": [
                        {"name": "HARMLESS", "value": SECRET},
                        {"name": "REF", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
                    ],
                }
            ],
        },
    }
    found = redaction.resource(given)
    text = json.dumps(found)
    assert SECRET not in text
    assert KEY not in text
    assert found["metadata"]["annotations"]["matrixorigin.io/paused"] == "true"
    assert found["spec"]["credentialSecretRef"] == {"name": "mo-credential"}
    assert "port = 6001" in found["spec"]["config"]
    [container] = found["spec"]["containers"]
    assert container["env"][0] == {"name": "HARMLESS", "value": redaction.REMOVED}
    assert container["env"][1] == given["spec"]["containers"][0]["env"][1]  # type: ignore[index]


NAMES = st.sampled_from(["password", "dbPassword", "API_KEY", "secret", "access-key-id", "token"])
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=8)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner)
    ),
    max_leaves=10,
)


@given(JSON, NAMES)
def test_a_field_with_the_name_of_a_secret_loses_its_value_anywhere(
    shape: object, name: str
) -> None:
    planted = {
        "spec": [{"a": shape, "b": {name: SECRET}}],
        "data": {f"{name}=": f"{name}={SECRET}"},
    }
    assert SECRET not in json.dumps(redaction.resource(planted))
