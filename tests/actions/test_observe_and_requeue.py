# SPDX-License-Identifier: Apache-2.0
"""matrixorigin.matrixone.observe and requeue_after."""

import json

import pytest

pytestmark = pytest.mark.api


def config(namespace, name, **data):
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace, "labels": {"part": "one"}},
        "data": data,
    }


def test_objects_by_name_and_label(play, fake_namespace):
    """Each label gets its object, null or list; data only where it is asked for."""
    place = {"api_version": "v1", "kind": "ConfigMap", "namespace": fake_namespace}
    references = {
        "plain": {**place, "name": "a"},
        "with_data": {**place, "name": "a", "data": True},
        "missing": {**place, "name": "nothing"},
        "list": {**place, "labels": {"part": "one"}},
        "none": {**place, "labels": {"part": "two"}},
        "unknown": {**place, "api_version": "example.com/v1", "kind": "Thing", "name": "a"},
        "unknown_list": {**place, "api_version": "example.com/v1", "kind": "Thing", "labels": {}},
    }

    objects = [config(fake_namespace, name, key="value") for name in ("a", "b")]
    _, seen = play(
        {"matrixorigin.matrixone.apply": {"objects": objects}},
        {"matrixorigin.matrixone.observe": {"references": references}, "check_mode": True},
    )

    assert not seen["changed"]
    found = seen["objects"]
    assert found["plain"]["metadata"]["name"] == "a"
    assert "managedFields" not in found["plain"]["metadata"]
    assert found["plain"]["data"] == {"key": None}
    assert found["with_data"]["data"] == {"key": "value"}
    assert [found["missing"], found["unknown"]] == [None, None]
    assert [one["metadata"]["name"] for one in found["list"]] == ["a", "b"]
    assert {one["kind"] for one in found["list"]} == {"ConfigMap"}
    assert [found["none"], found["unknown_list"]] == [[], []]


def test_secrets_are_seen_without_their_values(play, fake_namespace):
    """The keys of a Secret are shown, never what they hold, by name as well as by label."""
    secret = {**config(fake_namespace, "key", password="aGlkZGVu"), "kind": "Secret"}
    applied = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(secret)}
    secret["metadata"]["annotations"] = applied
    place = {"api_version": "v1", "kind": "Secret", "namespace": fake_namespace}
    references = {
        "one": {**place, "name": "key", "data": True},
        "all": {**place, "labels": {"part": "one"}},
    }

    results = play(
        {"matrixorigin.matrixone.apply": {"objects": [secret]}},
        {"matrixorigin.matrixone.observe": {"references": references}},
    )

    assert results[1]["objects"]["one"]["data"] == {"password": None}
    assert results[1]["objects"]["all"][0]["data"] == {"password": None}
    assert "aGlkZGVu" not in str(results)


def test_reference_without_name_or_labels(play, fake_namespace):
    """The message names the reference."""
    bad = {"pods": {"api_version": "v1", "kind": "Pod", "namespace": fake_namespace}}

    (result,) = play({"matrixorigin.matrixone.observe": {"references": bad}})

    assert result["failed"]
    assert "reference pods: name or labels is needed" in result["msg"]


def test_connection_by_options_and_by_task_environment(play, fake_testbed, fake_namespace):
    """Options and K8S_AUTH_* of the task lead to the cluster where KUBECONFIG leads nowhere."""
    references = {
        "it": {"api_version": "v1", "kind": "Namespace", "name": fake_namespace},
    }
    kubeconfig = str(fake_testbed.kubeconfig)
    task = "matrixorigin.matrixone.observe"

    lost, by_option, by_content, by_variable = play(
        {task: {"references": references}},
        {task: {"references": references, "kubeconfig": kubeconfig}},
        {
            task: {
                "references": references,
                "kubeconfig": "{{ lookup('ansible.builtin.file', config_file) | from_yaml }}",
            },
            "vars": {"config_file": kubeconfig},
        },
        {task: {"references": references}, "environment": {"K8S_AUTH_KUBECONFIG": kubeconfig}},
        environment={"KUBECONFIG": "/nowhere/kubeconfig"},
    )

    assert lost["failed"]
    assert "/nowhere/kubeconfig" in lost["msg"]
    for found in (by_option, by_content, by_variable):
        assert found["objects"]["it"]["metadata"]["name"] == fake_namespace


def test_wrong_credentials_and_silent_servers(play, fake_testbed):
    """The message says what was tried and what the server, or nobody, answered."""
    references = {"it": {"api_version": "v1", "kind": "Namespace", "name": "default"}}
    options = {"references": references, "validate_certs": False}
    server = fake_testbed.server

    wrong, silent = play(
        {"matrixorigin.matrixone.observe": {**options, "host": server, "api_key": "wrong-token"}},
        {
            "matrixorigin.matrixone.observe": {
                **options,
                "host": "https://127.0.0.1:1",
                "api_key": "any",
            }
        },
    )

    assert wrong["failed"]
    assert wrong["status"] == 401
    assert "get Namespace default: Unauthorized" in wrong["msg"]
    assert "wrong-token" not in str(wrong)
    assert silent["failed"]
    assert "https://127.0.0.1:1" in silent["msg"]


def test_requeue_after(play):
    """The period is handed on as it was given; what is no period is an error that shows it."""
    good, bad = ("15s", "1m30s", "2h"), ("", "soon", "10", "5s1m", "-3s")
    results = play(
        *({"matrixorigin.matrixone.requeue_after": {"time": time}} for time in (*good, *bad))
    )

    assert [result["period"] for result in results[: len(good)]] == list(good)
    assert not any(result["changed"] for result in results[: len(good)])
    for result in results[len(good) :]:
        assert result["failed"]
        assert "invalid time input" in result["msg"]


def test_no_certificate_stays_on_disk(play, fake_namespace, tmp_path):
    """What a kubeconfig holds itself, the client's key first, is on disk while it is read only."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    reference = {"api_version": "v1", "kind": "Namespace", "name": fake_namespace}

    tasks = [{"matrixorigin.matrixone.observe": {"references": {"it": reference}}}] * 2
    first, second = play(*tasks, environment={"TMPDIR": str(temporary)})

    assert first["objects"]["it"]["metadata"]["name"] == fake_namespace
    assert second["objects"] == first["objects"]
    assert not list(temporary.iterdir())
