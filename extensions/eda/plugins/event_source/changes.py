# SPDX-License-Identifier: Apache-2.0
"""Event source of ansible-rulebook: conditions and Events of the kinds of MatrixOne.

ansible-rulebook runs this file by its path: it cannot import anything else of the collection.
"""

from __future__ import annotations

import asyncio
import logging
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kubernetes import client, config
from kubernetes.client.exceptions import ApiException
from kubernetes.watch import Watch

DOCUMENTATION = r"""
---
short_description: Conditions and Events of MatrixOne clusters, backups, users and all other kinds
description:
  - Watches the kinds of the group C(core.matrixorigin.io). Rules get an event for every condition
    that changes, for every object that is deleted, and for every Kubernetes Event about one.
  - Whatever holds when the rulebook starts comes first, with C(initial) true, so that a rule finds
    a problem that began before it. After a lost connection only what has changed meanwhile comes.
  - What a resource says is data of whoever may create it. Ansible evaluates what playbooks get as
    templates, so in it a space separates C({) from what would make it the beginning of one. Do not
    pass it to a shell.
options:
  kinds:
    description: The kinds to watch. The default is all that the API server knows of the group.
    type: list
    elements: str
  namespaces:
    description: The namespaces to watch. The default is all, which needs the right to list in all.
    type: list
    elements: str
  conditions:
    description: The types of conditions that count. The default is all.
    type: list
    elements: str
  events:
    description: Whether Kubernetes Events about the objects are given to rules, too.
    type: bool
    default: true
  initial:
    description: Whether rules learn what holds already when the rulebook starts.
    type: bool
    default: true
  kubeconfig:
    description: Path of a kubeconfig. The default is kubectl's, or the Pod's ServiceAccount.
    type: str
  context:
    description: The context of the kubeconfig. The default is its current one.
    type: str
requirements:
  - kubernetes
"""

EXAMPLES = r"""
- name: Tell the people on call
  hosts: all
  sources:
    - name: MatrixOne
      matrixorigin.matrixone.changes:
        conditions: [Ready, Degraded]
  rules:
    - name: A cluster does not serve
      condition: >-
        event.what == "condition" and event.kind == "MatrixOneCluster"
        and event.condition.type == "Ready" and event.condition.status == "False"
      action:
        debug:
          msg: "{{ event.namespace }}/{{ event.name }}: {{ event.condition.reason }}"
"""

GROUP = "core.matrixorigin.io"
VERSION = "v1alpha1"
_WATCH_SECONDS = 60
_ANSWER_SECONDS = (10, _WATCH_SECONDS + 15)
"""To connect, and until more is read: a watch ends by itself before."""
_MOST_CONNECTIONS = 256
"""One for each kind and namespace."""
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0
_GONE = 410
_TEMPLATE = re.compile(r"\{(?=[{%#])")

Json = dict[str, Any]
Put = Callable[[Json], None]

_LOG = logging.getLogger("matrixorigin.matrixone.changes")


@dataclass(frozen=True)
class Settings:
    """The options of the source, checked.

    Attributes:
        kinds: empty for all of the group.
        namespaces: empty for all.
        conditions: types; empty for all.
    """

    kinds: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    conditions: frozenset[str] = frozenset()
    events: bool = True
    initial: bool = True
    kubeconfig: str | None = None
    context: str | None = None

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Settings:
        """Read the options.

        Raises:
            ValueError: an option is unknown or has another type.
        """
        left = {name: value for name, value in given.items() if value is not None}
        found = cls(
            kinds=_names(left, "kinds"),
            namespaces=_names(left, "namespaces"),
            conditions=frozenset(_names(left, "conditions")),
            events=_choice(left, "events"),
            initial=_choice(left, "initial"),
            kubeconfig=_text(left, "kubeconfig"),
            context=_text(left, "context"),
        )
        if left:
            known = ", ".join(cls.__dataclass_fields__)
            raise ValueError(f"unknown options: {', '.join(sorted(left))}; there are {known}")
        return found


@dataclass
class Conditions:
    """The conditions of the objects of one kind, as rules were told last.

    Attributes:
        wanted: types that count; empty for all.
    """

    wanted: frozenset[str]
    _known: dict[str, tuple[Json, dict[str, Json]]] = field(default_factory=dict)

    def changed(self, obj: Mapping[str, Any], *, initial: bool = False) -> Iterator[Json]:
        """Give an event for each condition whose status or reason is another one than before.

        Args:
            obj: an object as it is now.
            initial: whether it is what holds when the rulebook starts.
        """
        about, now = about_object(obj), dict(_conditions(obj, self.wanted))
        before = self._known.get(about["uid"], ({}, {}))[1]
        self._known[about["uid"]] = (about, now)
        for kind, condition in now.items():
            was = before.get(kind)
            if was is None or _differs(was, condition):
                told = {"before": was} if was is not None else {}
                yield {
                    **about,
                    "what": "condition",
                    "initial": initial,
                    "condition": condition,
                    **told,
                }

    def deleted(self, obj: Mapping[str, Any]) -> Iterator[Json]:
        """Give the event of an object that does not exist any more, once."""
        known = self._known.pop(about_object(obj)["uid"], None)
        if known is not None:
            yield {**known[0], "what": "deleted", "initial": False}

    def listed(self, objects: Iterable[Mapping[str, Any]], *, initial: bool) -> Iterator[Json]:
        """Give what has changed between what rules were told and a complete list."""
        there = []
        for obj in objects:
            there.append(about_object(obj)["uid"])
            yield from self.changed(obj, initial=initial)
        for uid in self._known.keys() - set(there):
            about = self._known.pop(uid)[0]
            yield {**about, "what": "deleted", "initial": False}


def about_object(obj: Mapping[str, Any]) -> Json:
    """Return what every event says of its object."""
    metadata = obj.get("metadata") or {}
    labels = metadata.get("labels") or {}
    return {
        "kind": _plain(obj.get("kind")),
        "namespace": _plain(metadata.get("namespace")),
        "name": _plain(metadata.get("name")),
        "uid": _plain(metadata.get("uid")),
        "labels": {_plain(name): _plain(value) for name, value in labels.items()},
    }


def told_event(event: Mapping[str, Any]) -> Json | None:
    """Return what a Kubernetes Event says, for rules; None if it is about something else."""
    regarding = event.get("regarding") or {}
    if str(regarding.get("apiVersion", "")).partition("/")[0] != GROUP:
        return None
    series = event.get("series") or {}
    return {
        "what": "event",
        "initial": False,
        **{name: _plain(regarding.get(name)) for name in ("kind", "namespace", "name", "uid")},
        "event": {
            **{name: _plain(event.get(name)) for name in ("type", "reason", "action", "note")},
            "count": series.get("count") or event.get("deprecatedCount") or 1,
        },
    }


async def main(queue: asyncio.Queue[Json], args: Json) -> None:
    """Watch until cancelled; called by ansible-rulebook.

    Args:
        queue: gets the events.
        args: the options of the source.

    Raises:
        ValueError: an option makes no sense, or names a kind that the API server does not know.
    """
    settings = Settings.of(args)
    access = await asyncio.to_thread(_access, settings)
    plurals = await asyncio.to_thread(_plurals, access, settings.kinds)
    loop = asyncio.get_running_loop()
    over = threading.Event()

    def put(event: Json) -> None:
        # Waits for room in the queue, so that a slow rulebook slows the watch down.
        asyncio.run_coroutine_threadsafe(queue.put(event), loop).result()

    for namespace in settings.namespaces or ("",):
        for plural in plurals:
            follower = _Follower(access, GROUP, VERSION, plural, namespace, over)
            _start(follower.run, _ToRules(settings, put).object_changed)
        if settings.events:
            follower = _Follower(access, "events.k8s.io", "v1", "events", namespace, over)
            _start(follower.run, _ToRules(settings, put).event_came)
    try:
        await asyncio.Event().wait()
    finally:
        over.set()


class _ToRules:
    """Turns what one watch sees into events of rules."""

    def __init__(self, settings: Settings, put: Put) -> None:
        self._settings, self._put = settings, put
        self._conditions = Conditions(settings.conditions)
        self._is_first = True
        self._seen: set[tuple[str, str]] = set()

    def object_changed(self, what: str, objects: list[Json]) -> None:
        """Receive a list of all objects, or one that has changed or was deleted."""
        if what == "LISTED":
            found = self._conditions.listed(objects, initial=self._is_first)
            is_told = self._settings.initial or not self._is_first
            self._is_first = False
        else:
            change = self._conditions.deleted if what == "DELETED" else self._conditions.changed
            found, is_told = (event for obj in objects for event in change(obj)), True
        for event in list(found):
            if is_told:
                self._put(event)

    def event_came(self, what: str, objects: list[Json]) -> None:
        """Receive Kubernetes Events; those of before the start are no news."""
        for obj in objects:
            metadata = obj.get("metadata") or {}
            version = str(metadata.get("uid", "")), str(metadata.get("resourceVersion", ""))
            is_news = what != "DELETED" and version not in self._seen and not self._is_first
            if is_news and (told := told_event(obj)) is not None:
                self._put(told)
        if what == "LISTED":
            self._is_first = False
            self._seen = {
                (
                    str(obj["metadata"].get("uid", "")),
                    str(obj["metadata"].get("resourceVersion", "")),
                )
                for obj in objects
            }


@dataclass
class _Follower:
    """Lists and watches one kind in one namespace, or in all (``""``), until ``over``."""

    access: client.ApiClient
    group: str
    version: str
    plural: str
    namespace: str
    over: threading.Event

    def run(self, receive: Callable[[str, list[Json]], None]) -> None:
        """Follow the kind; after a failure again, with a growing pause."""
        pause = _FIRST_PAUSE
        while not self.over.is_set():
            began = time.monotonic()
            try:
                self._follow(receive)
            except ApiException as error:
                if error.status != _GONE:
                    self._log(f"{error.status} {error.reason}")
            except Exception as error:  # noqa: BLE001  # rules go on with the next list
                self._log(f"{type(error).__name__}: {error}")
            if time.monotonic() - began > _LONGEST_PAUSE:
                pause = _FIRST_PAUSE
            self.over.wait(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _follow(self, receive: Callable[[str, list[Json]], None]) -> None:
        api, where = client.CustomObjectsApi(self.access), (self.group, self.version)
        scope = (self.namespace,) if self.namespace else ()
        read = api.list_namespaced_custom_object if scope else api.list_cluster_custom_object
        listed = read(*where, *scope, self.plural, _request_timeout=_ANSWER_SECONDS)
        receive("LISTED", listed["items"])
        _LOG.info("%s in %s are watched", self.plural, self._where)
        watch, version = Watch(), listed["metadata"]["resourceVersion"]
        while not self.over.is_set():
            stream = watch.stream(
                read,
                *where,
                *scope,
                self.plural,
                resource_version=version,
                timeout_seconds=_WATCH_SECONDS,
                _request_timeout=_ANSWER_SECONDS,
            )
            for event in stream:
                if self.over.is_set():
                    return
                receive(event["type"], [event["object"]])
            version = watch.resource_version

    @property
    def _where(self) -> str:
        return self.namespace or "all namespaces"

    def _log(self, why: str) -> None:
        _LOG.warning("%s in %s cannot be watched: %s", self.plural, self._where, why)


def _start(work: Callable[..., None], receive: Callable[..., None]) -> None:
    # A daemon: a watch that waits for an answer must not keep the process from its end.
    threading.Thread(target=work, args=(receive,), daemon=True).start()


def _access(settings: Settings) -> client.ApiClient:
    how = client.Configuration()
    how.connection_pool_maxsize = _MOST_CONNECTIONS
    if settings.kubeconfig or settings.context:
        file, context = settings.kubeconfig, settings.context
        config.load_kube_config(file, context, client_configuration=how)
    else:
        config.load_config(client_configuration=how)
    return client.ApiClient(how)


def _plurals(access: client.ApiClient, kinds: tuple[str, ...]) -> list[str]:
    """Return the plurals of kinds, by discovery."""
    served = client.CustomObjectsApi(access).get_api_resources(GROUP, VERSION).resources
    known = {one.kind: one.name for one in served if "/" not in one.name}
    missing = sorted(set(kinds) - known.keys())
    if missing:
        raise ValueError(f"kinds: no {', '.join(missing)}; there are {', '.join(sorted(known))}")
    return [known[kind] for kind in kinds or sorted(known)]


def _conditions(obj: Mapping[str, Any], wanted: frozenset[str]) -> Iterator[tuple[str, Json]]:
    status = obj.get("status")
    listed = status.get("conditions") if isinstance(status, Mapping) else None
    for one in listed if isinstance(listed, list) else ():
        kind = one.get("type") if isinstance(one, Mapping) else None
        if isinstance(kind, str) and (not wanted or kind in wanted):
            texts = ("status", "reason", "message", "lastTransitionTime")
            yield (
                kind,
                {"type": _plain(kind), **{name: _plain(one.get(name)) for name in texts}},
            )


def _plain(value: object) -> str:
    """Return a text in which nothing begins a template."""
    return _TEMPLATE.sub("{ ", "" if value is None else str(value))


def _differs(before: Json, now: Json) -> bool:
    return any(before[name] != now[name] for name in ("status", "reason"))


def _names(given: dict[str, Any], option: str) -> tuple[str, ...]:
    value = given.pop(option, [])
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise ValueError(f"{option} must be a list of names, not {value!r}")
    return tuple(value)


def _choice(given: dict[str, Any], option: str) -> bool:
    value = given.pop(option, True)
    if not isinstance(value, bool):
        raise ValueError(f"{option} must be true or false, not {value!r}")  # noqa: TRY004
    return value


def _text(given: dict[str, Any], option: str) -> str | None:
    value = given.pop(option, None)
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{option} must be a text, not {value!r}")
    return value
