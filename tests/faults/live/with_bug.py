# SPDX-License-Identifier: Apache-2.0
"""Run the operator with a known bug: ``with_bug.py NAME PROGRAM ARGUMENTS...``."""

import asyncio
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ansible_operator.__main__ import main
from ansible_operator.errors import KubeError, LeadershipLostError
from ansible_operator.kube import documents, informer, shared_informers
from ansible_operator.kube.informer import KindInformer
from ansible_operator.kube.lease import LeaderElection


def an_expired_watch_is_not_resumed() -> None:
    """What watches is over with the first 410."""
    follow = KindInformer._watch

    async def watch(self: KindInformer, scope: str, version: str) -> Any:
        try:
            async for reached in follow(self, scope, version):
                yield reached
        except KubeError as error:
            if error.status == 410:
                await asyncio.sleep(3600)
            raise

    KindInformer._watch = watch  # type: ignore[method-assign]


def a_new_list_is_forgotten() -> None:
    """What changed while nobody watched is never reported."""
    relist = KindInformer._relist

    async def lose(self: KindInformer, scope: str) -> str:
        if not self.synced.is_set():
            return await relist(self, scope)
        return (await self._list_all(scope))[1]

    KindInformer._relist = lose  # type: ignore[method-assign]


def watches_are_begun_again_at_once() -> None:
    """Nothing waits between two attempts."""
    informer._delay = lambda _failures: 0.001


def an_error_of_a_watch_ends_the_process() -> None:
    """Whatever an informer does not expect ends the operator for everybody (N2)."""

    def note(_self: KindInformer, error: Exception) -> None:
        raise RecursionError("too deep") from error

    async def once(_name: str, work: Callable[[], Any]) -> None:
        await work()

    KindInformer._note = note  # type: ignore[method-assign]
    shared_informers.keep_running = once  # type: ignore[assignment]


def lists_follow_each_other() -> None:
    """A watch is over at once, and what it would have said is found in the next list."""

    async def watch(_self: KindInformer, _scope: str, _version: str) -> Any:
        await asyncio.sleep(0.1)
        raise KubeError("too old", status=410)
        yield ""

    informer._delay = lambda _failures: 0.1
    KindInformer._watch = watch  # type: ignore[method-assign]


def a_leader_goes_on_without_its_lease() -> None:
    """A process that lost its lease works on."""
    hold = LeaderElection.hold

    async def go_on(self: LeaderElection) -> None:
        while True:
            with suppress(LeadershipLostError):
                await hold(self)

    LeaderElection.hold = go_on  # type: ignore[method-assign]


def what_is_deep_ends_the_process() -> None:
    """Objects are read as deep as they are, and what that raises ends everything (N2)."""

    def deep(_raw: bytes) -> Any:
        raise RecursionError("too deep")

    def note(_self: KindInformer, error: Exception) -> None:
        raise error

    async def once(_name: str, work: Callable[[], Any]) -> None:
        await work()

    documents._decode_deep = deep
    documents.cut_object = lambda _obj: ""
    KindInformer._note_unexpected = note  # type: ignore[method-assign]
    shared_informers.keep_running = once  # type: ignore[assignment]


BUGS = {
    one.__name__: one
    for one in (
        an_expired_watch_is_not_resumed,
        a_new_list_is_forgotten,
        watches_are_begun_again_at_once,
        an_error_of_a_watch_ends_the_process,
        lists_follow_each_other,
        a_leader_goes_on_without_its_lease,
        what_is_deep_ends_the_process,
    )
}

if __name__ == "__main__":
    name, program, *arguments = sys.argv[1:]
    BUGS[name]()
    sys.argv = [program, *arguments]
    main()
