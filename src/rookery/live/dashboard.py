"""The operator's view: a Grafana dashboard of every metric that Rookery serves, as JSON.

Made from `metric_list.METRICS` and nothing else: a row for each part, in it first the counters that grow where
something goes wrong, then a panel for each metric. `python -m rookery.live.dashboard` prints it; the copy in
`docs/reference/` is compared by a test.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from rookery.live.metric_list import METRICS, PREFIX, DescribedMetric

__all__ = ["dashboard"]

_SOURCE = {"type": "prometheus", "uid": "${source}"}
_CHOSEN = 'instance=~"$instance"'
_WIDTH, _HEIGHT, _COLUMNS = 12, 8, 24


def dashboard() -> dict[str, Any]:
    """Return the dashboard as Grafana imports it."""
    panels: list[dict[str, Any]] = []
    line = 0
    for part in dict.fromkeys(metric.part for metric in METRICS.values()):
        metrics = [metric for metric in METRICS.values() if metric.part == part]
        drawn = [_trouble(metric) for metric in metrics if metric.troubles] + [_panel(metric) for metric in metrics]
        panels.append({"type": "row", "title": part, "gridPos": _place(0, line, _COLUMNS, 1), "panels": []})
        line += 1
        for number, panel in enumerate(drawn):
            across, down = number % (_COLUMNS // _WIDTH), number // (_COLUMNS // _WIDTH)
            panels.append({**panel, "gridPos": _place(across * _WIDTH, line + down * _HEIGHT, _WIDTH, _HEIGHT)})
        line += _HEIGHT * -(-len(drawn) // (_COLUMNS // _WIDTH))
    return {
        "title": "Rookery",
        "uid": "rookery",
        "tags": ["rookery"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "10s",
        "time": {"from": "now-30m", "to": "now"},
        "templating": {"list": [_sources(), _instances()]},
        "panels": [{"id": number, **panel} for number, panel in enumerate(panels, 1)],
    }


def _panel(metric: DescribedMetric) -> dict[str, Any]:
    """A counter by what it grows in a second, a gauge as it is."""
    name = PREFIX + metric.name
    value = f"{name}{{{_CHOSEN}}}"
    by = "instance" if metric.label is None else metric.label
    if metric.kind == "counter":
        query, unit = f"sum by ({by}) (rate({value}[$__rate_interval]))", "ops"
    else:
        query, unit = f"sum by ({by}) ({value})", metric.unit
    return _series(metric.help, query, legend=f"{{{{{by}}}}}", unit=unit, about=name)


def _trouble(metric: DescribedMetric) -> dict[str, Any]:
    """The counters that grow where something goes wrong, over five minutes: a flat zero is good."""
    assert metric.label is not None
    name = PREFIX + metric.name
    which = f'{metric.label}=~"{"|".join(metric.troubles)}"'
    query = f"sum by ({metric.label}, instance) (increase({name}{{{_CHOSEN},{which}}}[5m]))"
    legend = f"{{{{{metric.label}}}}} {{{{instance}}}}"
    return _series(f"Trouble: {metric.part}", query, legend=legend, unit="short", about=f"{name}, what went wrong")


def _series(title: str, query: str, *, legend: str, unit: str, about: str) -> dict[str, Any]:
    return {
        "type": "timeseries",
        "title": title.removesuffix("."),
        "description": about,
        "datasource": _SOURCE,
        "targets": [{"refId": "A", "datasource": _SOURCE, "expr": query, "legendFormat": legend}],
        "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
        "options": {"legend": {"displayMode": "table", "placement": "right", "calcs": ["lastNotNull"]}},
    }


def _place(x: int, y: int, w: int, h: int) -> dict[str, int]:
    return {"x": x, "y": y, "w": w, "h": h}


def _sources() -> dict[str, Any]:
    return {"name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus"}


def _instances() -> dict[str, Any]:
    """Whose metrics are shown: all, or those of chosen processes."""
    query = f'label_values({{__name__=~"{PREFIX}.+"}}, instance)'
    return {
        "name": "instance",
        "label": "Process",
        "type": "query",
        "datasource": _SOURCE,
        "query": {"query": query, "refId": "instances"},
        "refresh": 2,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": ["All"], "value": ["$__all"]},
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(dashboard(), indent=2) + "\n")
