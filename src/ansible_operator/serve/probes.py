# SPDX-License-Identifier: Apache-2.0
"""``/healthz`` and ``/readyz``: alive while the loop turns, ready when it works.

Each named check can be requested by itself (``/readyz/readyz``); ``?verbose`` shows all of them,
and what is not as it should be although the process works.
"""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from aiohttp import web

from ansible_operator.serve.listening import Site

Check: TypeAlias = Callable[[], str]
"""Why something is not well; ``""`` if it is."""

PORT = 6789


def always_well() -> str:
    """A check that passes when the server answers at all."""
    return ""


class Probes(Site):
    """The server; use as an async context.

    Args:
        host: address; ``""`` for all.
        port: 0 takes a free one.
        ready: named checks of ``/readyz``; all must be well. ``readyz`` answers for all of them.
        alive: named checks of ``/healthz`` besides ``ping`` and ``healthz``.
        warnings: named checks that ``/readyz?verbose`` shows and that make nothing unready.
    """

    def __init__(
        self,
        host: str = "",
        port: int = PORT,
        *,
        ready: Mapping[str, Check],
        alive: Mapping[str, Check] | None = None,
        warnings: Mapping[str, Check] | None = None,
    ) -> None:
        super().__init__("health probes", host, port, flag="--health-probe-bind-address")
        self._checks: dict[str, dict[str, Check]] = {
            "healthz": {"ping": always_well, "healthz": always_well, **(alive or {})},
            "readyz": dict(ready),
        }
        self._warnings = dict(warnings or {})

    async def serve(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one probe."""
        root, _, name = request.path.strip("/").partition("/")
        checks = self._checks.get(root)
        if checks is None or request.method not in {"GET", "HEAD"}:
            return web.Response(status=404, text="404 page not found\n")
        if name and name != root:
            if name not in checks:
                return web.Response(status=404, text="404 page not found\n")
            checks = {name: checks[name]}
        warnings = self._warnings if root == "readyz" else {}
        return _answer(root, checks, warnings, is_verbose="verbose" in request.query)


def _answer(
    root: str, checks: Mapping[str, Check], warnings: Mapping[str, Check], *, is_verbose: bool
) -> web.Response:
    results = {name: check() for name, check in checks.items()}
    failed = any(results.values())
    if not failed and not is_verbose:
        return web.Response(text="ok")
    lines = [
        f"[-]{name} failed: {reason}" if reason else f"[+]{name} ok"
        for name, reason in results.items()
    ]
    lines += [f"[!]{name}: {text}" for name, check in warnings.items() if (text := check())]
    lines.append(f"{root} check {'failed' if failed else 'passed'}")
    return web.Response(status=500 if failed else 200, text="\n".join(lines) + "\n")
