# SPDX-License-Identifier: Apache-2.0
"""The results as JSON, as a table, and as ratios."""

from typing import Any

COLUMNS = {
    "finished": "finished",
    "first_s": "first s",
    "median_s": "median s",
    "ready_s": "ready s",
    "all_s": "all s",
    "p50_s": "p50 s",
    "p95_s": "p95 s",
    "p99_s": "p99 s",
    "cpu_per_object": "CPU s/object",
    "cpu_per_run": "CPU s/run",
    "runs_per_object": "runs/object",
    "requests_per_object": "requests/object",
    "idle_mib": "idle MiB",
    "peak_mib": "peak MiB",
    "tenth_mib": "MiB at a tenth",
    "half_mib": "MiB at half",
    "after_mib": "after MiB",
}
RATIOS = ("median_s", "all_s", "p50_s", "cpu_per_object", "requests_per_object", "peak_mib")
"""Measures of which a peer's value is divided by ours."""

Result = dict[str, Any]


def table(results: list[Result]) -> str:
    """One block per scenario and size, one line per peer."""
    blocks = []
    for title, rows in _grouped(results).items():
        used = [key for key in COLUMNS if any(key in row["measures"] for row in rows)]
        lines = [["", *(COLUMNS[key] for key in used)]]
        for row in rows:
            cells = [_cell(row["measures"].get(key)) for key in used]
            note = [row["problem"]] if row["problem"] else []
            lines.append([row["peer"], *cells, *note])
        blocks.append(f"{title}\n{_aligned(lines)}")
    return "\n\n".join(blocks)


def ratios(results: list[Result]) -> list[dict[str, Any]]:
    """How many times as much every peer needs as each of our own engines."""
    found = []
    for title, rows in _grouped(results).items():
        for mine in (row for row in rows if row["peer"].startswith("ours")):
            for other in rows:
                if other is mine:
                    continue
                times = {
                    key: round(other["measures"][key] / mine["measures"][key], 2)
                    for key in RATIOS
                    if other["measures"].get(key) and mine["measures"].get(key)
                }
                if times:
                    found.append(
                        {"scenario": title, "of": other["peer"], "to": mine["peer"], **times}
                    )
    return found


def ratio_lines(found: list[dict[str, Any]]) -> str:
    """The ratios, one line each."""
    header = ["", "of", "to", *(COLUMNS[key] for key in RATIOS)]
    rows = [
        [row["scenario"], row["of"], row["to"], *(_cell(row.get(key)) for key in RATIOS)]
        for row in found
    ]
    return _aligned([header, *rows])


def _grouped(results: list[Result]) -> dict[str, list[Result]]:
    groups: dict[str, list[Result]] = {}
    for row in results:
        groups.setdefault(f"{row['scenario']} {row['size']}", []).append(row)
    return groups


def _cell(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}" if value < 100 else f"{value:.0f}"


def _aligned(lines: list[list[str]]) -> str:
    count = max(len(line) for line in lines)
    widths = [
        max((len(line[at]) for line in lines if at < len(line)), default=0) for at in range(count)
    ]
    return "\n".join(
        "  " + "  ".join(cell.ljust(widths[at]) for at, cell in enumerate(line)).rstrip()
        for line in lines
    )
