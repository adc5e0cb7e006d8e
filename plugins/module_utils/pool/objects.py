# SPDX-License-Identifier: Apache-2.0
"""Pools, claims, Pods and generations of a namespace: listed once, then kept up to date by answers.

A pass lists each kind once. The answer to each of its writes replaces what was listed, so that the
next round decides from what is there without another list.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any, Final

from ..api import names
from ..clients.kubernetes.kinds import collection_path
from ..clients.kubernetes.lists import items_of, listed
from ..clients.kubernetes.session import Session
from . import keys

Json = dict[str, Any]

POD: Final = ("v1", "Pod")
CLAIM: Final = (names.API_VERSION, names.CN_CLAIM)
POOL: Final = (names.API_VERSION, names.CN_POOL)
GENERATION: Final = (names.API_VERSION, names.CN_SET)
_COMPUTE_NODES: Final = f"{names.LABEL_COMPONENT}={names.CN_SET}"
_PAGE: Final = "500"


class Objects:
    """The objects of a namespace that passes of its pools decide from.

    Attributes:
        namespace: where they are.
        claims, pods, pools, generations: as the API server has them, by name.
        fresh: whether they come from the API server itself; else perhaps from an operator's cache.
    """

    def __init__(self, session: Session, namespace: str) -> None:
        self.session = session
        self.namespace = namespace
        self.claims: dict[str, Json] = {}
        self.pods: dict[str, Json] = {}
        self.pools: dict[str, Json] = {}
        self.generations: dict[str, Json] = {}
        self.fresh = False
        self._read_at: dict[str, float] = {}

    def begin(self, *, fresh: bool) -> None:
        """List everything for the beginning of a pass.

        Args:
            fresh: whether an operator's cache must not answer for claims and Pods. It does not,
                either, if there is a new claim: that is decided on with what the API server has,
                so Pods of the cache would be listed for nothing.

        Raises:
            ApiError: the server refuses.
        """
        self.claims = self._listed(*CLAIM, fresh=fresh)
        if not fresh and any(map(_is_new, self.claims.values())):
            self.load(fresh=True)
        else:
            self._load_others(fresh=fresh)

    def load(self, *, fresh: bool) -> None:
        """List everything.

        Args:
            fresh: whether an operator's cache must not answer for claims and Pods.

        Raises:
            ApiError: the server refuses.
        """
        self.claims = self._listed(*CLAIM, fresh=fresh)
        self._load_others(fresh=fresh)

    def _load_others(self, *, fresh: bool) -> None:
        now = time.monotonic()
        found = self._listed(*POD, fresh=fresh, selector=_COMPUTE_NODES)
        self._read_at = dict.fromkeys(found, now)
        self.pods = {name: pod for name, pod in found.items() if pool_of(pod)}
        self.pools = self._listed(*POOL, fresh=False)
        sets = self._listed(*GENERATION, fresh=False)
        self.generations = {name: one for name, one in sets.items() if owning_pool(one)}
        self.fresh = fresh

    def load_claims(self) -> None:
        """List claims again, from the API server itself: more may have come since.

        Raises:
            ApiError: the server refuses.
        """
        self.claims = self._listed(*CLAIM, fresh=True)

    def has_pod_of(self, generation: str) -> bool:
        """Ask the API server itself whether there is a Pod of a generation now.

        Raises:
            ApiError: the server refuses.
        """
        query = {
            "limit": "1",
            "labelSelector": f"{names.LABEL_INSTANCE}={generation},{keys.LABEL_POOL}",
            "fieldSelector": f"metadata.namespace={self.namespace}",
        }
        page = self.session.request(
            "GET", self.path(POD), attempt=f"look for Pods of {generation}", query=query
        )
        return bool(items_of(page, f"look for Pods of {generation}"))

    def take(self, found: Json) -> None:
        """Keep the answer to a write."""
        name = found["metadata"]["name"]
        self._known(found["kind"])[name] = found
        if found["kind"] == POD[1]:
            self._read_at[name] = time.monotonic()

    def age_of_pod(self, name: str) -> float:
        """Return for how many seconds a Pod has been known so; infinity for an unknown one."""
        read_at = self._read_at.get(name)
        return math.inf if read_at is None else time.monotonic() - read_at

    def drop(self, kind: str, name: str) -> None:
        """Forget an object that is gone."""
        self._known(kind).pop(name, None)

    def path(self, version_and_kind: tuple[str, str]) -> str:
        """Return the path of a collection of the namespace."""
        return collection_path(self.session, *version_and_kind, self.namespace)

    def of_pool(self, pool: str) -> dict[str, Json]:
        """Return the Pods of a pool."""
        return {name: pod for name, pod in self.pods.items() if pool_of(pod) == pool}

    def _known(self, kind: str) -> dict[str, Json]:
        kinds = {
            "Pod": self.pods,
            names.CN_CLAIM: self.claims,
            names.CN_POOL: self.pools,
            names.CN_SET: self.generations,
        }
        return kinds[kind]

    def _listed(
        self, api_version: str, kind: str, *, fresh: bool, selector: str = ""
    ) -> dict[str, Json]:
        query = {"limit": _PAGE}
        if selector:
            query["labelSelector"] = selector
        if fresh:
            # No cache of an operator answers a request with a field selector.
            query["fieldSelector"] = f"metadata.namespace={self.namespace}"
        path = collection_path(self.session, api_version, kind, self.namespace)
        found = listed(self.session, path, attempt=f"list {kind}s", query=query)
        return {
            one["metadata"]["name"]: {"apiVersion": api_version, "kind": kind, **one}
            for one in found
        }


def _is_new(claim: Json) -> bool:
    """Return whether no pass has decided on a claim yet."""
    return not (claim.get("status") or {}).get("phase")


def pool_of(pod: Mapping[str, Any]) -> str:
    """Return the pool of a Pod; empty if it has none."""
    return str((pod["metadata"].get("labels") or {}).get(keys.LABEL_POOL) or "")


def owning_pool(found: Mapping[str, Any]) -> str:
    """Return the name of the pool that an object belongs to; empty if it belongs to none."""
    for owner in found["metadata"].get("ownerReferences") or ():
        if owner.get("kind") == names.CN_POOL:
            return str(owner.get("name") or "")
    return ""
