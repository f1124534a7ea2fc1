"""The dashboard: made from the list of metrics, and each of its queries finds what a live process serves.

The queries are read by a small reader of PromQL that knows nothing of how they are made (names, labels, matchers,
ranges, `sum by`); where a Prometheus is on the path, it runs them too, against the same port.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import socket
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import rookery
from rookery.brokers.configuration import BrokerDurability
from rookery.live.brokers.server import LiveBroker
from rookery.live.brokers.settings import BrokerSettings
from rookery.live.dashboard import dashboard
from rookery.live.metric_list import METRICS
from rookery.live.metrics import Metric, broker_metrics, island_metrics, measured, serve_metrics
from rookery.model import Schema
from rookery.space.axes import Axis, EventSpace

ROOT = Path(__file__).parents[2]
SELECTOR = re.compile(r"(?P<name>rookery_\w+)\{(?P<matchers>[^}]*)\}(?:\[(?P<range>[^\]]+)\])?")
MATCHER = re.compile(r'(\w+)=~"((?:[^"\\]|\\.)*)"')
GROUPED = re.compile(r"^sum by \(([\w, ]+)\) \((.*)\)$")
SAMPLE = re.compile(r'^(rookery_\w+)(?:\{(\w+)="((?:[^"\\]|\\.)*)"\})? (\S+)$')


def queries() -> list[str]:
    shown = [panel for panel in dashboard()["panels"] if panel["type"] != "row"]
    return [target["expr"] for panel in shown for target in panel["targets"]]


def read(query: str) -> tuple[set[str], str, dict[str, str], str | None]:
    """Return the labels that a query groups by, its metric, its matchers, and its range."""
    grouped = GROUPED.match(query)
    assert grouped, query
    inner = grouped[2]
    applied = re.match(r"^(rate|increase)\((.*)\)$", inner)
    selector = SELECTOR.fullmatch(applied[2] if applied else inner)
    assert selector, query
    assert (selector["range"] is not None) is (applied is not None), "a rate needs a range, and nothing else has one"
    matchers = dict(MATCHER.findall(selector["matchers"]))
    return set(grouped[1].split(", ")), selector["name"], matchers, applied[1] if applied else None


def test_the_copy_in_the_documentation_is_what_is_made() -> None:
    copy = json.loads((ROOT / "docs" / "reference" / "grafana-dashboard.json").read_text())
    assert copy == dashboard(), "run `python -m rookery.live.dashboard > docs/reference/grafana-dashboard.json`"


def test_every_metric_has_a_panel_and_no_query_asks_for_anything_else() -> None:
    asked = [read(query) for query in queries()]
    assert {name for _, name, _, _ in asked} == {f"rookery_{name}" for name in METRICS}
    for by, name, matchers, applied in asked:
        metric = METRICS[name.removeprefix("rookery_")]
        known = {"instance", metric.label}
        assert by <= known, name
        assert set(matchers) <= known, name
        assert (applied is not None) is (metric.kind == "counter"), "a counter is read by its growth"


def test_panels_do_not_overlap_and_have_numbers_of_their_own() -> None:
    panels = dashboard()["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for place in (panel["gridPos"] for panel in panels):
        cells = {(x, y) for x in range(place["x"], place["x"] + place["w"])
                 for y in range(place["y"], place["y"] + place["h"])}  # fmt: skip
        assert not cells & taken
        assert place["x"] + place["w"] <= 24
        taken |= cells


def test_every_counter_that_means_trouble_is_counted_somewhere() -> None:
    source = "\n".join(
        path.read_text() for path in (ROOT / "src" / "rookery").rglob("*.py") if "metric_list" not in str(path)
    )
    for metric in METRICS.values():
        for trouble in metric.troubles:
            assert f'"{trouble}"' in source, f"nobody counts {trouble!r} ({metric.name})"


@asynccontextmanager
async def live_metrics() -> AsyncIterator[int]:
    """A broker with a client, and the gateway of a site, on one port of metrics."""
    schema = Schema.from_dict({"price": "float64"})
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = free.getsockname()
    settings = BrokerSettings(
        "quotes", EventSpace(schema, [Axis("price", 0, 100)]), address, durability=BrokerDurability.MEMORY
    )
    broker = LiveBroker(settings)
    await broker.start()
    try:
        here = rookery.IslandOptions(listen=("127.0.0.1", 0), domain_id=95)
        async with rookery.open("island://a", here) as site:
            assert site.island.address is not None
            host, port = site.island.address
            async with (
                rookery.open(f"island://b@{host}:{port}", rookery.IslandOptions(domain_id=96)),
                rookery.open(f"brokers://{address[0]}:{address[1]}") as client,
                client.subscribe("quotes", "price < 10", overflow="wait"),
            ):
                while not site.island.status()["counters"]:  # until the two sites have met
                    await asyncio.sleep(0.05)
                client.publish("quotes", {"price": 5.0})
                await client.flush("quotes", seconds=600)
                page = [
                    measured("page_records_total", {"events": 1, "refused": 0, "rejected": 0}),
                    measured("page_entries", {"zones": 1}),
                    measured("page_readers", 0),
                ]

                def collect() -> list[Metric]:
                    return [*broker_metrics(broker), *island_metrics(site.island), *page]

                async with serve_metrics(0, collect) as bound:
                    yield bound
    finally:
        await broker.stop(leave=False)


def served(port: int) -> Iterator[tuple[str, dict[str, str]]]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        for line in answer.read().decode().splitlines():
            if not line.startswith("#"):
                sample = SAMPLE.match(line)
                assert sample, line
                yield sample[1], {sample[2]: sample[3]} if sample[2] else {}


@pytest.mark.wire
def test_each_query_finds_what_a_live_process_serves() -> None:
    async def test() -> None:
        async with live_metrics() as port:
            samples = [*await asyncio.to_thread(lambda: list(served(port)))]
            assert {name for name, _ in samples} == {f"rookery_{name}" for name in METRICS}
            for query in queries():
                by, name, matchers, _ = read(query)
                of_name = [{**labels, "instance": "127.0.0.1"} for sample, labels in samples if sample == name]
                assert all(by <= set(labels) for labels in of_name), query
                if set(matchers) == {"instance"}:
                    assert of_name, query

    asyncio.run(test())


def ask(port: int, path: str, **parameters: str) -> Any:
    url = f"http://127.0.0.1:{port}{path}?{urllib.parse.urlencode(parameters)}"
    with urllib.request.urlopen(url) as answer:
        return json.load(answer)["data"]


@pytest.mark.wire
@pytest.mark.slow
def test_a_real_prometheus_answers_every_query(tmp_path: Path) -> None:
    program = shutil.which("prometheus")
    if program is None:
        pytest.skip("no prometheus on the path: apt-get install prometheus")

    def look(port: int) -> dict[str, list[Any]]:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            own = free.getsockname()[1]
        (tmp_path / "prometheus.yml").write_text(
            "global: {scrape_interval: 1s}\n"
            f"scrape_configs:\n- job_name: rookery\n  static_configs:\n  - targets: ['127.0.0.1:{port}']\n"
        )
        with subprocess.Popen(
            [program, f"--config.file={tmp_path}/prometheus.yml", f"--storage.tsdb.path={tmp_path}/data",
             f"--web.listen-address=127.0.0.1:{own}"], stderr=subprocess.DEVNULL,
        ) as running:  # fmt: skip
            try:
                for _ in range(600):  # until it is up and has scraped a few times
                    time.sleep(0.5)
                    try:
                        counted = ask(own, "/api/v1/query", query="count_over_time(rookery_broker_clients[1m])")[
                            "result"
                        ]
                    except OSError:
                        continue
                    if counted and int(counted[0]["value"][1]) >= 4:
                        break
                asked = {
                    query: query.replace("$instance", ".*").replace("$__rate_interval", "1m") for query in queries()
                }
                return {query: ask(own, "/api/v1/query", query=text)["result"] for query, text in asked.items()}
            finally:
                running.terminate()

    async def test() -> dict[str, list[Any]]:
        async with live_metrics() as port:
            return await asyncio.to_thread(look, port)

    for query, answered in asyncio.run(test()).items():
        by, _, matchers, _ = read(query)
        if set(matchers) == {"instance"}:
            assert answered, f"nothing for {query}"
        assert all(set(series["metric"]) == by for series in answered), query
