# SPDX-License-Identifier: Apache-2.0
"""What changed, and which stages that adds to the gate."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from dev.gate.stages import GATED, Stage, When

_RECENT_HOURS = 6
"""Where nothing is ahead of upstream, the commits of so many hours count as the change."""


def changed_paths(root: Path) -> list[str] | None:
    """Return the paths that differ from the base, relative to the root; None if that is unknown.

    The base is ``GATE_BASE``; else where the branch left ``origin``'s; else, where there is nothing
    ahead of it, the newest commit that is some hours older than HEAD. What is not committed counts.
    """
    base = os.environ.get("GATE_BASE") or _left_upstream(root) or _before_recent(root)
    if not base:
        return None
    committed = _git(root, "diff", "--name-only", "--no-renames", base, "HEAD")
    pending = _git(root, "status", "--porcelain", "--no-renames", "--untracked-files=all")
    if committed is None or pending is None:
        return None
    return sorted({*committed.splitlines(), *(line[3:] for line in pending.splitlines())})


def added_stages(stages: Iterable[Stage], paths: Sequence[str] | None) -> Mapping[str, str]:
    """Return why stages are added, by name.

    Args:
        stages: all stages.
        paths: what changed; None if that is unknown.
    """
    touched = [stage for stage in stages if stage.when is When.TOUCHED]
    if paths is None:
        return {stage.name: "it is unknown what changed" for stage in touched}
    known = (*GATED, *(prefix for stage in touched for prefix in stage.protects))
    strange = next((path for path in paths if not path.startswith(known)), "")
    reasons = {}
    for stage in touched:
        hit = next((path for path in paths if path.startswith(tuple(stage.protects))), strange)
        if hit:
            reasons[stage.name] = f"{hit} changed"
    return reasons


def checked_out(root: Path) -> str:
    """Return the commit, with ``-dirty`` if files that git knows differ from it."""
    described = _git(root, "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*")
    return (described or "").strip() or "unknown"


def _left_upstream(root: Path) -> str:
    for branch in ("origin/HEAD", "origin/main"):
        base = (_git(root, "merge-base", "HEAD", branch) or "").strip()
        if base:
            head = (_git(root, "rev-parse", "HEAD") or "").strip()
            return base if base != head else ""
    return ""


def _before_recent(root: Path) -> str:
    moment = (_git(root, "log", "-1", "--format=%ct") or "").strip()
    if not moment:
        return ""
    before = int(moment) - _RECENT_HOURS * 3600
    return (_git(root, "rev-list", "-1", f"--before={before}", "HEAD") or "").strip()


def _git(root: Path, *arguments: str) -> str | None:
    done = subprocess.run(
        ["git", *arguments], cwd=root, capture_output=True, text=True, check=False, timeout=60
    )
    return done.stdout if done.returncode == 0 else None
