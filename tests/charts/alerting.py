# SPDX-License-Identifier: Apache-2.0
"""Alerts of the operator's chart, decided by the engine of Prometheus."""

import json
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.charts.releases import OPERATOR, Helm, find
from tests.support.places import ROOT

HOUR = 60
"""Samples: one each minute."""
DAY = 24 * HOUR

_KUBELET = "kubelet_"
_FOREIGN = ("resource_", _KUBELET)

Alerts = dict[str, dict[str, Any]]


def always(value: float) -> str:
    """Return the samples of a value that does not change for four days."""
    return f"{value}x{4 * DAY}"


def alerts_of(helm: Helm, prefix: str) -> Alerts:
    """Return the alerts of the chart whose names begin so."""
    rule = find(helm.template(OPERATOR, "metrics.prometheusRule.enabled=true"), "PrometheusRule")
    [group] = rule["spec"]["groups"]
    return {one["alert"]: one for one in group["rules"] if one["alert"].startswith(prefix)}


@dataclass(frozen=True)
class Engine:
    """Prometheus' engine, which answers queries about given samples."""

    program: Path

    def fires(
        self,
        alert: Mapping[str, Any],
        own: Mapping[str, str],
        series: Mapping[str, str],
        minute: int,
    ) -> bool:
        """Tell whether an alert fires at a minute: its condition has held for long enough.

        Args:
            alert: the rule.
            own: labels of the series, which the alert has to keep.
            series: samples by name, which may have labels. Names of the operator for MatrixOne lack
                ``matrixone_``; those of the runner begin with ``resource_``, those of kubelets with
                ``kubelet_``.
            minute: when.
        """
        named = ",".join(f'{name}="{value}"' for name, value in own.items())
        ours = f'{_ours(alert)},pod="p",{named}'
        load = "load 1m\n"
        for name, samples in series.items():
            metric, _, labels = name.removesuffix("}").partition("{")
            shown = metric if metric.startswith(_FOREIGN) else f"matrixone_{metric}"
            common = named if metric.startswith(_KUBELET) else ours
            load += f"  {shown}{{{','.join(filter(None, (common, labels)))}}} {samples}\n"
        held = range(minute - int(alert["for"].removesuffix("m")), minute + 1)
        answers = self._ask(load, [{"expr": alert["expr"], "at": at * 60} for at in held])
        assert all(sample.items() >= own.items() for one in answers for sample in one)
        return all(answers)

    def _ask(self, load: str, queries: list[dict[str, Any]]) -> list[list[dict[str, str]]]:
        done = subprocess.run(
            [self.program],
            input=json.dumps({"load": load, "queries": queries}),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        answers: list[list[dict[str, str]]] = json.loads(done.stdout)
        return answers


def without_page(alerts: Alerts) -> list[str]:
    """Return the alerts whose runbook is not a section of docs/monitor.md."""
    page = (ROOT / "docs" / "monitor.md").read_text()
    return [
        name
        for name, alert in alerts.items()
        if not alert["annotations"]["runbook_url"].endswith(f"/docs/monitor.md#{name.lower()}")
        or f"\n### {name}\n" not in page
    ]


def _ours(alert: Mapping[str, Any]) -> str:
    """Return the labels by which an alert selects what this operator shows."""
    found = re.search(r'job="[^"]+",namespace="[^"]+"', alert["expr"])
    assert found or _KUBELET in alert["expr"]
    return found.group() if found else ""
