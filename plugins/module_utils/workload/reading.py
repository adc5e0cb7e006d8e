# SPDX-License-Identifier: Apache-2.0
"""Reads what was observed of a set, once, where a pass begins."""

from __future__ import annotations

from ..reporting.health import Health
from ..reporting.pod_problems import PodProblems
from ..reporting.roll import RollStep
from . import tls
from .observed import GrownVolumes, SetObserved
from .plans import Observed
from .references import LOG_WORKLOAD, POD_PROBLEMS, TN_WORKLOAD
from .stores_result import StoresResult


def read_observed(observed: Observed, stores: type[StoresResult] = StoresResult) -> SetObserved:
    """Read what ``observe`` returned by label, and what the steps of the role returned.

    Args:
        observed: by the labels of `set_references`; besides, ``results`` of the action on the
            stores, ``volumes``, ``roll``, ``health``, and the time as ``now``.
        stores: what the action on the stores of its kind comes to.
    """
    return SetObserved(
        complete="workload" in observed,
        live=observed.get("self"),
        workload=observed.get("workload"),
        pods=observed.get("pods") or (),
        pod_problems=PodProblems.read(observed.get(POD_PROBLEMS)),
        claims=observed.get("claims") or (),
        references={
            "logSet": observed.get("logSet"),
            "dnSet": observed.get("dnSet"),
            "cnSet": observed.get("cnset"),
        },
        dependency_workloads={
            label: observed[label] for label in (LOG_WORKLOAD, TN_WORKLOAD) if label in observed
        },
        bootstrap=observed.get("bootstrap"),
        gossip=observed.get("gossip"),
        bucket=observed.get("bucket"),
        cluster=observed.get("cluster"),
        certificate=tls.certificate_in(observed.get(tls.LABEL)),
        shards=observed.get("shards"),
        stores=stores.read(observed.get("results") or {}),
        volumes=GrownVolumes.read(observed.get("volumes") or {}),
        roll=RollStep.read(observed.get("roll") or {}),
        health=Health.read(observed.get("health") or {}),
        now=str(observed.get("now") or ""),
    )
