# SPDX-License-Identifier: Apache-2.0
"""Whoever names a set of another namespace gets nothing of it, unless that set lists them."""

import json
import posixpath
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.kubernetes.errors import (
    NotFound,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.passes.observing import fetch

from tests.support import resources as r
from tests.support.builders import serving
from tests.support.passes import plan_of, references_of

Json = dict[str, Any]
Make = Callable[..., Json]
BUCKET = "http://minio.victim:9000"
LISTED = [
    pytest.param(["other", "evil"], True, id="lists it"),
    pytest.param(["other"], False, id="lists others"),
    pytest.param([], False, id="lists none"),
    pytest.param(None, False, id="lists nothing"),
    pytest.param("evil", False, id="not a list"),
    pytest.param(["*"], False, id="no wildcard"),
    pytest.param(["evil2", "Evil", "ev"], False, id="lists similar ones"),
]
REFERRING = [
    pytest.param(r.dnset, "logSet", id="transaction node"),
    pytest.param(r.cnset, "logSet", id="compute node"),
    pytest.param(r.proxyset, "logSet", id="proxy"),
    pytest.param(r.webui, "cnset", id="dashboard"),
]


class Session:
    """An API server that has some sets, and that follows ``..`` in paths."""

    def __init__(self, *sets: Json) -> None:
        self._sets = {
            (one["kind"], one["metadata"]["namespace"], one["metadata"]["name"]): one
            for one in sets
        }

    def request(self, method: str, path: str, **_more: Any) -> Json:
        """Return an object."""
        assert method == "GET"
        *_start, namespace, plural, name = posixpath.normpath(unquote(path)).split("/")
        kind = {"logsets": "LogSet", "cnsets": "CNSet", "dnsets": "DNSet"}[plural]
        found = self._sets.get((kind, namespace, name))
        if found is None:
            raise NotFound("not found", 404, "NotFound", [])
        return found


def victim(key: str, allowed: Any) -> Json:
    """Return the set of namespace victim that a reference is about; it serves."""
    storage = {"s3": {**r.S3, "endpoint": BUCKET}}
    made = r.logset(sharedStorage=storage) if key == "logSet" else r.cnset()
    made["metadata"] |= {"namespace": "victim", "generation": 2}
    made["status"] = serving(made["kind"], made["metadata"]["name"])["status"]
    if allowed is not None:
        made["spec"]["allowedNamespaces"] = allowed
    return made


def referring(make: Make, key: str, name: str, *, stored: bool = True) -> Json:
    """Return a set in namespace evil that refers to one of namespace victim."""
    made = make({key: {"metadata": {"name": name, "namespace": "victim"}}})
    made["metadata"] |= {"namespace": "evil", **({"uid": "u-1", "generation": 1} if stored else {})}
    return made


def observed(subject: Json, *others: Json) -> Json:
    """Return what a pass over a set gets to see of what it depends on."""
    session: Any = Session(*others)
    return {
        label: fetch(session, label, reference)
        for label, reference in references_of(subject).items()
        if reference.get("kind") in ("LogSet", "CNSet", "DNSet") and label != "self"
    }


@pytest.mark.parametrize(("allowed", "is_listed"), LISTED)
@pytest.mark.parametrize(("make", "key"), REFERRING)
def test_a_set_of_another_namespace_is_seen_only_by_those_it_lists(
    make: Make, key: str, allowed: Any, is_listed: bool
) -> None:
    other = victim(key, allowed)
    subject = referring(make, key, other["metadata"]["name"])
    seen = observed(subject, other)
    plan = plan_of(subject, seen, "#!")
    text = json.dumps([seen, plan])
    if is_listed:
        assert (BUCKET in text) is (key == "logSet")
        assert plan["waitingFor"] == ""
        assert plan["objects"]
        return
    assert seen[key] is None
    assert plan["objects"] == plan["records"] == plan["patches"] == []
    assert BUCKET not in text
    kind, name = other["kind"], other["metadata"]["name"]
    assert plan["waitingFor"] == (
        f"waiting for {kind} victim/{name} (deps.{key}.metadata.namespace): it does not exist, or "
        "does not allow references from namespace evil; add evil to its spec.allowedNamespaces"
    )


@pytest.mark.parametrize(("make", "key"), REFERRING)
def test_whether_a_set_of_another_namespace_exists_is_not_told(make: Make, key: str) -> None:
    other = victim(key, None)
    subject = referring(make, key, other["metadata"]["name"])
    assert plan_of(subject, observed(subject, other)) == plan_of(subject, observed(subject))


@pytest.mark.parametrize(("make", "key"), REFERRING)
def test_a_name_that_is_a_path_leads_to_no_other_namespace(make: Make, key: str) -> None:
    """Neither by the name nor by what the server makes of the path."""
    other = victim(key, None)
    place = f"../../victim/{'logsets' if key == 'logSet' else 'cnsets'}/{other['metadata']['name']}"
    subject = make({key: {"metadata": {"name": place}}})
    subject["metadata"] |= {"namespace": "evil", "uid": "u-1"}
    assert observed(subject, other)[key] is None


@pytest.mark.parametrize(("make", "key"), REFERRING)
@pytest.mark.parametrize(("allowed", "is_listed"), LISTED[:3])
def test_a_playbook_refuses_a_sibling_that_does_not_list_it(
    make: Make, key: str, allowed: Any, is_listed: bool
) -> None:
    """The sibling's NetworkPolicy would keep it out, too."""
    other = victim(key, allowed)
    subject = referring(make, key, other["metadata"]["name"], stored=False)
    plan = plan_of(subject, {}, "#!", siblings=[other])
    said = (
        f"deps.{key}.metadata.namespace: {other['kind']} victim/{other['metadata']['name']} does "
        "not exist, or does not allow references from namespace evil; add evil to its "
        "spec.allowedNamespaces"
    )
    assert plan["invalid"] == ("" if is_listed else said)
    assert bool(plan["objects"]) is is_listed


def test_compute_nodes_need_the_leave_of_transaction_nodes_too() -> None:
    log_set = victim("logSet", ["evil"])
    node = r.dnset()
    node["metadata"]["namespace"] = "victim"
    node["status"] = serving("DNSet", "mo")["status"]
    named = {"metadata": {"name": "mo", "namespace": "victim"}}
    subject = r.cnset({"logSet": named, "dnSet": named})
    subject["metadata"] |= {"namespace": "evil", "uid": "u-1", "generation": 1}
    plan = plan_of(subject, observed(subject, log_set, node), "#!")
    assert plan["waitingFor"].startswith("waiting for DNSet victim/mo (deps.dnSet.metadata.nam")
    assert plan["objects"] == []
    node["spec"]["allowedNamespaces"] = ["evil"]
    assert plan_of(subject, observed(subject, log_set, node), "#!")["waitingFor"] == ""


def test_a_set_of_the_same_namespace_needs_to_list_nothing() -> None:
    other = victim("logSet", None)
    subject = referring(r.dnset, "logSet", "mo")
    subject["metadata"]["namespace"] = "victim"
    assert plan_of(subject, observed(subject, other), "#!")["waitingFor"] == ""
