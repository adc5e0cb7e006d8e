# SPDX-License-Identifier: Apache-2.0
"""matrixorigin.matrixone.apply against a real API server."""

import base64
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.kubernetes.applying import (
    Writer,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.kubernetes.selecting import (
    Selection,
    prune,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.kubernetes.session import (
    open_session,
)

pytestmark = pytest.mark.api

CREATED = "created"


def config(namespace: str, name: str = "settings", **data: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace, "labels": {"part": "one"}},
        "data": data,
    }


def stateful_set(namespace: str, size: str = "1Gi", **spec: Any) -> dict[str, Any]:
    labels = {"app": "store"}
    claim = {
        "metadata": {"name": "data"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": size}},
        },
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "store", "namespace": namespace, "labels": labels},
        "spec": {
            "serviceName": "store",
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "main", "image": "store:1"}]},
            },
            "volumeClaimTemplates": [claim],
            **spec,
        },
    }


def apply(*objects: dict[str, Any], check: bool = False, **options: Any) -> dict[str, Any]:
    arguments = {"objects": list(objects), **options}
    return {"matrixorigin.matrixone.apply": arguments, "check_mode": check}


def remove(*objects: dict[str, Any], check: bool = False, **options: Any) -> dict[str, Any]:
    arguments = {"objects": list(objects), "wait": not check, **options}
    return {"matrixorigin.matrixone.remove": arguments, "check_mode": check}


@pytest.mark.parametrize("make", [config, stateful_set], ids=["ConfigMap", "StatefulSet"])
def test_cycle_of_twelve_steps(play, fake_namespace, make):
    """Create, change, delete: each announced by check mode, done once, then left alone."""
    first = make(fake_namespace)
    second = make(fake_namespace)
    second["metadata"]["labels"] = {**second["metadata"]["labels"], "part": "two"}
    if make is config:
        first["data"], second["data"] = {"a": "1"}, {"a": "2"}
    else:
        first["spec"]["replicas"], second["spec"]["replicas"] = 0, 1
    steps = [
        step
        for action, manifest in ((apply, first), (apply, second), (remove, second))
        for step in (
            action(manifest, check=True),
            action(manifest),
            action(manifest, check=True),
            action(manifest),
        )
    ]

    results = play(*steps)

    assert [result["changed"] for result in results] == [True, True, False, False] * 3
    assert not any(result.get("failed") for result in results)
    words = [result["changes"][0].rsplit(" ", 1)[1] for result in results if result["changed"]]
    assert words == ["created"] * 2 + ["changed"] * 2 + ["deleted"] * 2


def test_check_mode_leaves_nothing_behind(play, fake_namespace, live):
    """A check of a creation goes through the server's validation and keeps nothing."""
    good, bad = config(fake_namespace, a="1"), config(fake_namespace, name="Not A Name")

    results = play(apply(good, check=True), apply(bad, check=True))

    assert results[0]["changed"]
    assert live("configmap", "settings") is None
    assert results[1]["failed"]
    assert "ConfigMap" in results[1]["msg"]
    assert "metadata.name" in results[1]["msg"]


def test_check_mode_in_a_namespace_that_is_still_to_come(play):
    """What a check cannot try because an earlier object was not really made counts as new."""
    manifest = config("no-such-namespace-yet", a="1")

    checked, played = play(apply(manifest, check=True), apply(manifest))

    assert checked["changed"]
    assert checked["changes"] == ["ConfigMap no-such-namespace-yet/settings created"]
    assert played["failed"]
    assert "no-such-namespace-yet" in played["msg"]


def test_diff_shows_what_an_author_decides(play, fake_namespace):
    """No managed fields, versions or generations; values of Secrets are masked on both sides."""
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "key", "namespace": fake_namespace},
        "data": {
            "same": base64.b64encode(b"shown-to-nobody").decode(),
            "other": base64.b64encode(b"old-secret").decode(),
        },
    }
    changed = {**secret, "data": {**secret["data"], "other": base64.b64encode(b"new").decode()}}

    results = play(
        apply(config(fake_namespace, a="1")),
        apply(config(fake_namespace, a="2")),
        apply(secret),
        apply(changed),
        diff=True,
    )

    (difference,) = results[1]["diff"]
    assert difference["before"]["data"] == {"a": "1"}
    assert difference["after"]["data"] == {"a": "2"}
    assert set(difference["after"]["metadata"]) == {"name", "namespace", "labels"}
    assert results[3]["diff"][0]["before"]["data"] == {"same": "********", "other": "********"}
    assert results[3]["diff"][0]["after"]["data"] == {
        "same": "********",
        "other": "******** (changed)",
    }
    assert results[3]["objects"]["Secret/key"]["data"] == {"same": None, "other": None}
    assert secret["data"]["other"] not in str(results[3])


def test_foreign_fields_survive_and_dropped_ones_go(play, fake_namespace, fake_testbed, live):
    """Only fields that we set are ours: others' labels stay, ours go when a manifest drops them."""
    manifest = config(fake_namespace, a="1", b="2")
    play(apply(manifest))
    fake_testbed.kubectl("-n", fake_namespace, "label", "configmap", "settings", "theirs=yes")
    del manifest["data"]["b"]

    again, unchanged = play(apply(manifest), apply(manifest))

    assert again["changed"]
    assert not unchanged["changed"]
    found = live("configmap", "settings")
    assert found["metadata"]["labels"] == {"part": "one", "theirs": "yes"}
    assert found["data"] == {"a": "1"}


def test_fields_that_are_left_out_belong_to_others(play, fake_namespace, fake_testbed, live):
    """Replicas that a manifest does not mention are left to kubectl scale."""
    play(apply(stateful_set(fake_namespace)))
    fake_testbed.kubectl("-n", fake_namespace, "scale", "statefulset", "store", "--replicas=0")

    (result,) = play(apply(stateful_set(fake_namespace)))

    assert not result["changed"]
    assert live("statefulset", "store")["spec"]["replicas"] == 0


def test_conflict_with_another_manager(play, fake_namespace, live):
    """Without force, the field and its other manager are named; with force it becomes ours."""
    theirs, ours = config(fake_namespace, a="theirs"), config(fake_namespace, a="ours")

    _, refused, taken = play(
        apply(theirs, field_manager="someone-else"), apply(ours, force=False), apply(ours)
    )

    assert refused["failed"]
    assert refused["reason"] == "Conflict"
    assert "data.a" in refused["msg"]
    assert "someone-else" in refused["msg"]
    assert taken["changed"]
    assert live("configmap", "settings")["data"] == {"a": "ours"}


def test_create_only_adopts_what_is_there(play, fake_namespace, live):
    """An object that is created once keeps its first content, whoever made it."""
    once = {"create_only": ["ConfigMap/settings"]}

    created, kept, checked = play(
        apply(config(fake_namespace, a="first"), **once),
        apply(config(fake_namespace, a="second"), **once),
        apply(config(fake_namespace, a="second"), check=True, **once),
    )

    assert [created["changed"], kept["changed"], checked["changed"]] == [True, False, False]
    assert live("configmap", "settings")["data"] == {"a": "first"}


def test_owner_references(play, fake_namespace, live):
    """Objects get a controller reference to an owner in the cluster, if they may go with it."""
    play(apply(config(fake_namespace, name="owner")))
    owner = live("configmap", "owner")
    kept = config(fake_namespace, name="kept")
    kept["metadata"]["annotations"] = {"matrixorigin.io/keep": "true"}
    without_uid = {**owner, "metadata": {"name": "owner", "namespace": fake_namespace}}

    play(
        apply(config(fake_namespace, name="owned"), kept, owner=owner),
        apply(config(fake_namespace, name="free"), owner=without_uid),
    )

    (reference,) = live("configmap", "owned")["metadata"]["ownerReferences"]
    assert reference == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "owner",
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    assert "ownerReferences" not in live("configmap", "kept")["metadata"]
    assert "ownerReferences" not in live("configmap", "free")["metadata"]


def owned(manifest: dict[str, Any], uid: str) -> dict[str, Any]:
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid}
    return {**manifest, "metadata": {**manifest["metadata"], "ownerReferences": [reference]}}


def test_what_is_to_be_kept_is_let_go_of(play, fake_namespace, live):
    """Whoever put the owner there: an earlier apply, or a proxy that names one in everything."""
    (made,) = play(apply(config(fake_namespace, "owner")))
    uid = made["objects"]["ConfigMap/owner"]["metadata"]["uid"]
    kept = config(fake_namespace, "kept")
    kept["metadata"]["annotations"] = {"matrixorigin.io/keep": "true"}
    owner = live("configmap", "owner")

    first, _foreign, freed, again, taken_back = play(
        apply(config(fake_namespace, "kept"), owner=owner),
        apply(owned(config(fake_namespace, "kept"), uid), field_manager="somebody"),
        apply(kept, owner=owner),
        apply(kept, owner=owner),
        apply(config(fake_namespace, "kept"), owner=owner),
    )

    assert first["changes"] == [f"ConfigMap {fake_namespace}/kept created"]
    assert freed["changed"] is True
    assert "ownerReferences" not in freed["objects"]["ConfigMap/kept"]["metadata"]
    assert again["changed"] is False
    [reference] = taken_back["objects"]["ConfigMap/kept"]["metadata"]["ownerReferences"]
    assert reference["uid"] == uid
    assert not live("configmap", "kept")["metadata"].get("annotations")


def test_prune_removes_what_is_not_wanted(play, fake_namespace, live):
    """Objects with the label that are not applied go; foreign, used and marked ones stay."""
    objects = [config(fake_namespace, name=name) for name in ("wanted", "old", "used", "marked")]
    objects[3]["metadata"]["annotations"] = {"matrixorigin.io/keep": "true"}
    foreign = config(fake_namespace, name="foreign")
    foreign["metadata"]["labels"] = {"part": "another"}
    user = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "user", "namespace": fake_namespace, "labels": {"part": "one"}},
        "spec": {
            "containers": [{"name": "main", "image": "store:1"}],
            "volumes": [{"name": "settings", "configMap": {"name": "used"}}],
        },
    }
    prune = {
        "kinds": [{"api_version": "v1", "kind": "ConfigMap"}],
        "namespace": fake_namespace,
        "labels": {"part": "one"},
        "unless_used_by": [{"api_version": "v1", "kind": "Pod"}],
    }

    _, checked, pruned, again = play(
        apply(*objects, foreign, user),
        apply(objects[0], prune=prune, check=True),
        apply(objects[0], prune=prune),
        apply(objects[0], prune=prune),
    )

    wanted = [f"ConfigMap {fake_namespace}/old deleted"]
    assert checked["changes"] == wanted
    assert pruned["changes"] == wanted
    assert not again["changed"]
    assert live("configmap", "old") is None
    for name in ("wanted", "used", "marked", "foreign"):
        assert live("configmap", name) is not None


def test_nothing_is_given_to_an_owner_that_is_being_deleted(play, fake_namespace, live):
    """What lost its owner when that was deleted without its dependents would go with it, after all."""
    finalizers = ["example.com/holds"]
    going = config(fake_namespace, "going")
    going["metadata"]["finalizers"] = finalizers
    play(apply(going, config(fake_namespace, "left")))
    owner = live("configmap", "going")

    play(remove(config(fake_namespace, "going"), wait=False))
    refused, created, released = play(
        apply(config(fake_namespace, "left"), owner=owner),
        apply(config(fake_namespace, "made"), owner=owner),
        apply({**going, "metadata": {**going["metadata"], "finalizers": []}}),
    )

    assert refused["failed"]
    assert refused["msg"] == (
        f"apply ConfigMap {fake_namespace}/left: it has no owner, and "
        f"ConfigMap {fake_namespace}/going is being deleted"
    )
    assert "ownerReferences" not in live("configmap", "left")["metadata"]
    assert not created.get("failed")
    assert not released.get("failed")
    (again,) = play(apply(config(fake_namespace, "left"), owner=owner))
    assert again["failed"], "one that is gone owns nothing either"


def test_prune_by_owner(play, fake_namespace, live):
    """With an owner's uid, only what that owner owns is removed, whatever its labels."""
    play(apply(config(fake_namespace, name="owner")))
    owner = live("configmap", "owner")
    prune = {
        "kinds": [{"api_version": "v1", "kind": "ConfigMap"}],
        "namespace": fake_namespace,
        "owner_uid": owner["metadata"]["uid"],
    }

    play(
        apply(config(fake_namespace, name="owned"), owner=owner),
        apply(config(fake_namespace, name="free")),
        apply(prune=prune),
    )

    assert live("configmap", "owned") is None
    assert live("configmap", "free") is not None


def test_prune_spares_what_was_let_go_of_meanwhile(fake_namespace, fake_testbed, live):
    """A list may be older than the moment at which an object lost its owner."""
    session = open_session({"kubeconfig": str(fake_testbed.kubeconfig)})
    writer = Writer(session=session, field_manager="tests")
    owner = writer.apply(config(fake_namespace, name="owner")).after
    for name in ("freed", "changed"):
        Writer(session=session, field_manager="tests", owner=owner).apply(
            config(fake_namespace, name=name)
        )
    uid = owner["metadata"]["uid"]
    listed = Selection("v1", "ConfigMap", fake_namespace, {}, owner_uid=uid).list(session)
    fake_testbed.kubectl(
        *("-n", fake_namespace, "patch", "configmap", "freed", "--type=merge"),
        *("-p", '{"metadata": {"ownerReferences": null}}'),
    )
    fake_testbed.kubectl(
        *("-n", fake_namespace, "annotate", "configmap", "changed", "changed=meanwhile")
    )

    done = {one.title: one.change for one in prune(writer, listed, [])}

    assert [change.value for change in done.values()] == ["deleted", "unchanged"]
    assert live("configmap", "freed") is not None
    assert live("configmap", "changed") is None


def test_immutable_fields_are_named(play, fake_namespace):
    """The server says that some fields cannot change; the message says which ones would."""
    _, refused, scaled = play(
        apply(stateful_set(fake_namespace, replicas=0)),
        apply(stateful_set(fake_namespace, size="2Gi", replicas=1)),
        apply(stateful_set(fake_namespace, replicas=1)),
    )

    assert refused["failed"]
    assert f"StatefulSet {fake_namespace}/store" in refused["msg"]
    assert refused["fields"] == ["spec.volumeClaimTemplates[data].spec.resources.requests.storage"]
    assert scaled["changed"]


def test_patches_set_only_their_fields(play, fake_namespace, live):
    """A patch changes what it names and nothing else, and only once."""
    scale = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "store", "namespace": fake_namespace},
        "spec": {"replicas": 0},
    }

    _, first, second = play(
        apply(stateful_set(fake_namespace, replicas=1)),
        apply(patches=[scale]),
        apply(patches=[scale]),
    )

    assert [first["changed"], second["changed"]] == [True, False]
    found = live("statefulset", "store")
    assert found["spec"]["replicas"] == 0
    assert found["spec"]["template"]["spec"]["containers"][0]["image"] == "store:1"


def test_unknown_field_is_refused(play, fake_namespace):
    """A misspelt field is an error that names it, not silently dropped."""
    manifest = stateful_set(fake_namespace)
    manifest["spec"]["template"]["spec"]["hostNetwrk"] = True

    (result,) = play(apply(manifest))

    assert result["failed"]
    assert "hostNetwrk" in result["msg"]


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        (
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}},
            "metadata.namespace",
        ),
        ({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}}, "metadata.name"),
        ({"kind": "ConfigMap", "metadata": {"name": "a"}}, "apiVersion"),
        (
            {"apiVersion": "v9", "kind": "Nothing", "metadata": {"name": "a", "namespace": "b"}},
            "does not serve Nothing of v9",
        ),
    ],
)
def test_unusable_manifests(play, manifest, said):
    """An object that cannot be addressed fails with what is missing."""
    (result,) = play(apply(manifest))

    assert result["failed"]
    assert said in result["msg"]


def test_kinds_beyond_the_known_ones_are_discovered(play, fake_namespace, live):
    """Plural and scope of other kinds come from the server."""
    job = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "nightly", "namespace": fake_namespace},
        "spec": {
            "schedule": "0 3 * * *",
            "suspend": True,
            "jobTemplate": {
                "spec": {
                    "template": {
                        "spec": {
                            "restartPolicy": "Never",
                            "containers": [{"name": "main", "image": "store:1"}],
                        }
                    }
                }
            },
        },
    }

    first, second = play(apply(job), apply(job))

    assert [first["changed"], second["changed"]] == [True, False]
    assert live("cronjob", "nightly") is not None


def test_data_of_a_resource_is_never_a_template(play, fake_namespace, live):
    """Braces inside values reach the server as they are, where a runner has marked them unsafe."""
    text = "{{ lookup('env', 'HOME') }}"
    manifest = config(fake_namespace, a=text)
    manifest["data"]["a"] = {"__ansible_unsafe": text}

    play(
        {
            "matrixorigin.matrixone.apply": {"objects": "{{ [given] }}"},
            "vars": {"given": manifest},
        }
    )

    assert live("configmap", "settings")["data"] == {"a": text}
