# SPDX-License-Identifier: Apache-2.0
"""matrixorigin.matrixone.apply_plan: records, objects, patches and what is no longer desired."""

import pytest

from tests.support.namespaces import Namespace

pytestmark = pytest.mark.api

MARK = "example.com/recorded"
LABELS = {"part": "one"}


@pytest.fixture
def space(installed_testbed, fake_namespace):
    return Namespace(installed_testbed, fake_namespace)


def config(namespace, name, **data):
    about = {"name": name, "namespace": namespace, "labels": LABELS}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": about, "data": data}


def plan(resource, *objects, **fields):
    """Return what a pass decided: a record, objects of which ``once`` is only created, and a prune."""
    about = {key: resource["metadata"][key] for key in ("name", "namespace")}
    identity = {key: resource[key] for key in ("apiVersion", "kind")}
    chosen = {
        "kinds": [{"api_version": "v1", "kind": "ConfigMap"}],
        "namespace": about["namespace"],
        "labels": LABELS,
        "owner_uid": resource["metadata"]["uid"],
    }
    return {
        "records": [{**identity, "metadata": {**about, "annotations": {MARK: "yes"}}}],
        "objects": [*objects],
        "createOnly": ["ConfigMap/once"],
        "prune": chosen,
        **fields,
    }


def task(resource, decided, **keywords):
    action = {"plan": decided, "resource": resource}
    return {"matrixorigin.matrixone.apply_plan": action, **keywords}


def test_a_plan_is_carried_out_in_one_task(play, web_ui, space):
    """A check keeps nothing; records count as a change but are no object; what is left is deleted."""
    name = space.name
    both = plan(web_ui, config(name, "a", key="1"), config(name, "once", key="1"))
    later = plan(web_ui, config(name, "once", key="2"), paused=False)

    checked, first, again, last = play(
        task(web_ui, both, check_mode=True),
        task(web_ui, both),
        task(web_ui, both),
        task(web_ui, later),
        diff=True,
    )

    created = ["created", "created"]
    assert [one["change"] for one in checked["done"]] == created
    assert [one["change"] for one in first["done"]] == created
    assert first["changes"][0] == f"WebUI {name}/ui changed"
    assert set(first["objects"]) == {"ConfigMap/a", "ConfigMap/once"}
    assert len(first["diff"]) == 3
    assert not again["changed"]
    assert again["plan"] == both
    assert last["done"] == [{"kind": "ConfigMap", "name": "a", "change": "deleted"}]
    assert space.names("configmaps", "part=one") == {"configmap/once"}
    assert space.get("configmap", "once")["data"] == {"key": "1"}
    live = space.get("webui", "ui")
    assert live["metadata"]["annotations"][MARK] == "yes"
    owners = space.get("configmap", "once")["metadata"]["ownerReferences"]
    assert [one["uid"] for one in owners] == [live["metadata"]["uid"]]


def test_a_record_alone_is_a_change(play, web_ui):
    """A play reports it, although no object is changed."""
    (recorded,) = play(task(web_ui, plan(web_ui)))

    assert recorded["changed"]
    assert recorded["done"] == []


def test_what_the_server_refuses_is_named_and_the_plan_is_kept(play, web_ui, space):
    """The report of a failed pass is made from the plan; what was done before counts."""
    wrong = plan(web_ui, config(space.name, "a"), {**config(space.name, "b"), "data": {"a b": ""}})

    (failed,) = play(task(web_ui, wrong))

    assert failed["failed"]
    assert "ConfigMap" in failed["msg"]
    assert failed["status"] == 422
    assert failed["plan"] == wrong
    assert failed["changed"]
    assert f"ConfigMap {space.name}/a created" in failed["changes"]


def deployment(namespace, replicas):
    labels = {"app": "one"}
    pods = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "main", "image": "example.com/main"}]},
    }
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": pods}
    about = {"name": "one", "namespace": namespace}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": about, "spec": spec}


@pytest.mark.parametrize("as_patch", [False, True], ids=["applied", "patched"])
def test_pods_leave_only_a_workload_that_nobody_has_changed_since(play, web_ui, space, as_patch):
    """What was decided for an earlier generation is refused; a later status changes nothing."""
    name, about = space.name, "Deployment/one"

    def lower(replicas, generation):
        wanted = deployment(name, replicas)
        if as_patch:
            patch = {**wanted, "spec": {"replicas": replicas}}
            decided = plan(web_ui, patches=[patch])
        else:
            decided = plan(web_ui, wanted)
        return task(web_ui, {**decided, "generations": {about: generation}})

    created, scaled, late, lowered = play(
        task(web_ui, plan(web_ui, deployment(name, 5))),
        task(web_ui, plan(web_ui, deployment(name, 4))),
        lower(3, 1),
        lower(2, 2),
    )

    assert created["objects"][about]["metadata"]["generation"] == 1
    assert scaled["objects"][about]["metadata"]["generation"] == 2
    assert late["failed"]
    assert late["outdated"]
    assert late["status"] == 409
    assert "one: it was changed since this was decided" in late["msg"]
    assert lowered["objects"][about]["spec"]["replicas"] == 2
    assert space.get("deployment", "one")["spec"]["replicas"] == 2


@pytest.mark.parametrize("where", ["records", "objects", "patches"])
def test_what_names_the_version_that_was_read_replaces_no_later_one(play, web_ui, space, where):
    """Two operators may be at work for some seconds; nothing is written of the pass after that."""

    def decided(value, version):
        if where == "records":
            made = plan(web_ui)["records"][0]
            made["metadata"] |= {"resourceVersion": version, "annotations": {MARK: value}}
            return task(web_ui, plan(web_ui, records=[made]))
        made = config(space.name, "a", key=value)
        made["metadata"]["resourceVersion"] = version
        objects = {"objects": [], "patches": [], where: [made], "prune": None}
        return task(web_ui, plan(web_ui, **objects))

    def present():
        about = ("webui", "ui") if where == "records" else ("configmap", "a")
        live = space.get(*about)
        annotations = live["metadata"].get("annotations") or {}
        said = annotations.get(MARK) if where == "records" else live["data"]["key"]
        return said, live["metadata"]["resourceVersion"]

    play(task(web_ui, plan(web_ui, config(space.name, "a", key="0"))))
    first = present()[1]
    (done,) = play(decided("1", first))
    said, second = present()
    late, same = play(decided("2", first), decided("1", second))

    assert not done.get("failed")
    assert said == "1"
    assert late["failed"]
    assert late["outdated"]
    assert late["status"] == 409
    assert "it was changed since this was decided" in late["msg"]
    assert not same["changed"]
    assert present() == (said, second)


@pytest.mark.parametrize("refuse", [True, False])
def test_a_spec_that_cannot_be_used(play, web_ui, refuse):
    """A play without a status fails with the reason; an operator reports it from the plan."""
    decided = {"invalid": "spec.image: is missing"}
    action = {"plan": decided, "resource": web_ui, "refuse_invalid": refuse}

    (done,) = play({"matrixorigin.matrixone.apply_plan": action})

    assert bool(done.get("failed")) == refuse
    assert not done["changed"]
    assert done["plan"] == decided
    if refuse:
        assert done["msg"] == "WebUI ui: spec.image: is missing"
