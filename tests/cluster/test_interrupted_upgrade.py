# SPDX-License-Identifier: Apache-2.0
"""An operator that is killed between any two of its writes goes on with an upgrade afterwards.

The API server is played: passes carry out their plan write by write, as the role does, and the sets
follow their specs. The record of the upgrade may be lost as well, with the status.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.support.passes import plan_of, report_on

from .test_upgrading import BACKUP, NEW, OLD, RAISED, READY, cluster, part

Json = dict[str, Any]

ROUNDS = 60
"""Enough for all steps with a dozen passes lost: each takes one pass or two."""
SIZES = {"LogSet": "3/3", "DNSet": "1/1", "CNSet": "1/1", "ProxySet": "1/1"}
PROXY = {"spec.proxy": {"replicas": 1}, "spec.cnGroups": [{"name": "tp"}, {"name": "ap"}]}


@dataclass
class World:
    """A database of 2.0.5 that is asked to be 2.1.0, and an operator.

    Attributes:
        proven_after: seconds after which there is a Backup that is proven.
        in_vain: which questions to the canary, counted from 0, get no answer.
        lost: after which passes, counted from 0, the status of the cluster is lost.
        lives: how many writes each life of the operator lasts; it lives on after the last.
        sets: the components, by ``Kind/name``.
        status: of the cluster.
        may_begin: whether a pass has seen that all checks pass.
        asked: how many questions it got.
        answers_since: since when it has answered each of them, as far as that is on record; None
            if it has not.
    """

    proven_after: int
    in_vain: set[int]
    lost: set[int]
    lives: list[int]
    sets: dict[str, Json] = field(default_factory=dict)
    status: Json = field(default_factory=dict)
    moment: int = 0
    may_begin: bool = False
    asked: int = 0
    answers_since: int | None = None

    def __post_init__(self) -> None:
        self.status = {"tn": {"dataVersion": OLD}}
        for kind, name in (
            ("LogSet", "mo"),
            ("DNSet", "mo"),
            ("CNSet", "mo-tp"),
            ("CNSet", "mo-ap"),
            ("ProxySet", "mo"),
        ):
            self.sets[f"{kind}/{name}"] = part(kind, name, OLD, SIZES[kind])
        self.sets["DNSet/mo"]["status"]["dataVersion"] = OLD

    @property
    def now(self) -> str:
        return f"2026-11-26T12:{self.moment // 60:02}:{self.moment % 60:02}Z"

    def image(self, name: str) -> str:
        return str(self.sets[name]["spec"]["image"]).rpartition(":")[2]

    def run(self) -> None:
        """Run passes until the upgrade has completed and nothing more changes."""
        for number in range(ROUNDS):
            self.moment += 15
            self.a_pass(self.lives.pop(0) if self.lives else None)
            self.follow()
            phase = (self.status.get("upgrade") or {}).get("phase")
            # What is lost when the last compute node has the new version is not found again.
            done = phase == "Completed" or (not phase and self.lost and self.is_rolled())
            if done and not self.lives and "CNSet/mo-canary" not in self.sets:
                return
            if number in self.lost:
                self.status = {}
        raise AssertionError(self.status)

    def a_pass(self, writes: int | None) -> None:
        """Observe, decide, and make as many writes as the operator lives for."""
        resource = cluster(NEW, OLD, **PROXY)
        resource["status"] = copy.deepcopy(self.status)
        seen = self.observed(resource)
        plan = plan_of(resource, seen)
        assert not plan["invalid"]
        record = plan["upgrade"]
        self.may_begin |= record.get("phase") == "Updating"
        found = {one["result"] for one in record.get("checks") or []}
        assert not self.may_begin or not found & {"Failed", "Unknown"}
        steps = [("apply", one) for one in (*plan["objects"], *plan["patches"])]
        steps += [("prune", plan)] if plan["prune"] else []
        for number, (verb, what) in enumerate([*steps, ("report", plan)]):
            if number == writes:
                return
            self.write(verb, what, resource, seen)

    def observed(self, resource: Json) -> Json:
        nodes = [one for name, one in self.sets.items() if name.startswith("CNSet/")]
        answer: Json = {}
        name = "CNSet/mo-canary"
        if name in self.sets and self.image(name) == NEW and self.is_synced(name):
            is_refused = self.asked in self.in_vain
            self.asked += 1
            answer = {"problem": "refused" if is_refused else ""}
        rolled = self.is_rolled()
        return {
            "now": self.now,
            "self": resource,
            "credential": None,
            "logSet": self.sets["LogSet/mo"],
            "dnSet": self.sets["DNSet/mo"],
            "proxySet": self.sets["ProxySet/mo"],
            "cnSets": nodes,
            "backups": [BACKUP] if self.moment >= self.proven_after else [],
            "catalog": RAISED if rolled else READY,
            "canaryAnswer": answer,
        }

    def write(self, verb: str, what: Json, resource: Json, seen: Json) -> None:
        """Make a write, and judge it."""
        if verb == "prune":
            wanted = {f"{one['kind']}/{one['metadata']['name']}" for one in what["objects"]}
            for name in [one for one in self.sets if one not in wanted]:
                assert name == "CNSet/mo-canary", "only the canary is deleted"
                del self.sets[name]
        elif verb == "report":
            if answer := seen["canaryAnswer"]:
                since = self.moment if self.answers_since is None else self.answers_since
                self.answers_since = None if answer["problem"] else since
            applied = {"objects": dict(self.sets)}
            self.status = report_on(resource, what, seen, applied, "", self.now)["status"]
            self.status.setdefault("tn", {})["dataVersion"] = self.sets["DNSet/mo"]["status"][
                "dataVersion"
            ]
        elif what["kind"] in SIZES:
            self.apply(what)

    def apply(self, what: Json) -> None:
        kind, name = what["kind"], what["metadata"]["name"]
        live = self.sets.get(f"{kind}/{name}")
        if live is None:
            assert name == "mo-canary", "nothing else is created"
            assert self.image("DNSet/mo") == OLD, "it keeps its room before anything is changed"
            live = part(kind, name, OLD, "0/1", generation=3)
            live["metadata"] |= {
                "labels": what["metadata"]["labels"],
                "creationTimestamp": self.now,
            }
            self.sets[f"{kind}/{name}"] = live
        before = live["spec"].get("image")
        live["spec"] = {**live["spec"], **what["spec"]}
        if live["spec"]["image"] != before:
            live["metadata"]["generation"] = 3
            self.judge(f"{kind}/{name}")

    def judge(self, name: str) -> None:
        """Require the order of an upgrade when a component gets the new version."""
        assert self.may_begin, f"{name} before all checks passed"
        if name != "LogSet/mo":
            assert self.is_synced("LogSet/mo"), f"{name} before the log stores"
            assert self.image("LogSet/mo") == NEW
        if name.startswith(("CNSet/", "ProxySet/")):
            assert self.image("DNSet/mo") == NEW
        if name in {"CNSet/mo-tp", "CNSet/mo-ap", "ProxySet/mo"}:
            assert self.answers_since is not None, f"{name} without an answer of the canary"
            assert self.moment - self.answers_since >= 60, f"{name} before it has endured"

    def is_rolled(self) -> bool:
        return all(self.image(name) == NEW for name in self.sets)

    def is_synced(self, name: str) -> bool:
        return bool(self.sets[name]["metadata"]["generation"] == 2)

    def follow(self) -> None:
        """Let every set do what its spec asks for; each takes a round."""
        for name, one in self.sets.items():
            if not self.is_synced(name):
                kind = one["kind"]
                done = part(kind, one["metadata"]["name"], self.image(name), SIZES[kind])
                done["spec"] = one["spec"]
                done["metadata"] = {**one["metadata"], "generation": 2}
                self.sets[name] = done
        self.sets["DNSet/mo"]["status"]["dataVersion"] = self.image("DNSet/mo")


@given(
    proven_after=st.integers(0, 60),
    in_vain=st.sets(st.integers(0, 9)),
    lost=st.sets(st.integers(0, 30)),
    lives=st.lists(st.integers(0, 9), max_size=12),
)
def test_an_upgrade_keeps_its_order_and_ends_wherever_the_operator_is_killed(
    proven_after: int, in_vain: set[int], lost: set[int], lives: list[int]
) -> None:
    world = World(proven_after, in_vain, lost, lives)
    world.run()
    assert {world.image(name) for name in world.sets} == {NEW}
    record = world.status.get("upgrade") or {}
    assert record.get("pointOfNoReturn") == "Passed" or (lost and not record)
