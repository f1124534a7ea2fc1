"""One workload through every part of the system: rules and quotes in, pairs (event, subscription) out.

Each route is a function of the rules, by id, and of the events. Live is over loopback (`live_routes.py`); the
simulators are those of the K-D brokers and of the overlay; Spark is `rookery match` in a process of its own, as a user
runs it.
"""

from __future__ import annotations

import csv
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rookery.errors import ExperimentError
from rookery.matching import matcher
from rookery.papers.live_routes import SCHEMA, Events, Pairs, Rules, live_brokers, live_dds, live_overlay

__all__ = ["ROUTES", "conditions", "quotes"]

SYMBOLS = ("ACME", "EMCA", "QUUX", "ZORG")
SECOND = 1_000_000


def conditions(count: int, seed: int) -> dict[str, str]:
    """Draw WHERE clauses of several kinds."""
    dice = random.Random(f"rules {seed}")
    kinds = (
        lambda: f"symbol = '{dice.choice(SYMBOLS)}' AND price < {dice.randrange(20, 90)}",
        lambda: (
            f"price BETWEEN {dice.randrange(0, 40)} AND {dice.randrange(45, 100)} AND size >= {dice.randrange(900)}"
        ),
        lambda: f"symbol IN ('{dice.choice(SYMBOLS)}', 'ZORG') AND NOT size < {dice.randrange(500)}",
        lambda: f"price > {dice.randrange(60, 95)} OR size = {dice.randrange(1000)}",
    )
    return {f"rule {number:03}": kinds[number % len(kinds)]() for number in range(count)}


def quotes(count: int, seed: int) -> list[dict[str, Any]]:
    """Draw events; `size` has the event's number in it, so that each can be told from all others."""
    dice = random.Random(f"events {seed}")
    return [
        {"symbol": dice.choice(SYMBOLS), "price": dice.randrange(800) / 8, "size": 1000 * number + dice.randrange(1000)}
        for number in range(count)
    ]


def _by(engine: str) -> Callable[[Rules, Events], Pairs]:
    def answer(rules: Rules, events: Events) -> Pairs:
        made = matcher(SCHEMA, engine=engine)
        for name, where in rules.items():
            made.add(name, where)
        return {(number, str(name)) for number, event in enumerate(events) for name in made.match(event)}

    return answer


def _brokers(rules: Rules, events: Events) -> Pairs:
    from rookery.brokers.configuration import BrokerConfiguration
    from rookery.simulated.brokers import SimulatedBrokers
    from rookery.space.axes import Axis, EventSpace

    space = EventSpace(SCHEMA, [Axis("price", 0, 100), Axis("size", 0, 1000 * len(events))])
    network = SimulatedBrokers(BrokerConfiguration(space=space), seed=1)
    for _ in range(8):
        network.join()
        network.run(SECOND)
    for number, (name, where) in enumerate(rules.items()):
        network.subscribe(1 + number % 8, name, where)
    network.run(2 * SECOND)
    numbers = {network.publish(1 + number % 8, event): number for number, event in enumerate(events)}
    network.run(10 * SECOND)
    return {(numbers[event], name) for name, event in network.delivered}


def _overlay(rules: Rules, events: Events) -> Pairs:
    from rookery.overlay.identity import SemanticSpace
    from rookery.overlay.interests import WhereInterests
    from rookery.simulated.overlay import SimulatedOverlay
    from rookery.space.grid import CategoricalAxis, Grid, NumericAxis

    grid = Grid(
        [CategoricalAxis("symbol", SYMBOLS), NumericAxis("price", tuple(float(10 * edge) for edge in range(11)))]
    )
    overlay = SimulatedOverlay(seed=1, space=SemanticSpace(cell_count=grid.cell_count))
    interests = [WhereInterests(SCHEMA, grid, {name: where}) for name, where in rules.items()]
    for one in interests:
        overlay.join(one)
        overlay.run(2 * SECOND)
    overlay.run(30 * SECOND)
    found: Pairs = set()
    for number, event in enumerate(events):
        published = overlay.publish(number % len(interests), event)
        overlay.run(SECOND)
        for peer in overlay.deliveries[published]:
            found |= {(number, str(name)) for name in interests[peer].matching(event)}
    return found


def _spark(rules: Rules, events: Events) -> Pairs:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    with tempfile.TemporaryDirectory(prefix="rookery-answer-") as name:
        folder = Path(name)
        with (folder / "rules.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["subscription_id", "where"])
            writer.writerows(rules.items())
        table = pa.Table.from_pylist([{"id": number, **event} for number, event in enumerate(events)])
        parquet.write_table(table, folder / "events.parquet")
        # This may run inside a Spark task already: the process gets none of that one's settings, and this very package.
        clean = {
            key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "PYSPARK_", "PYTHON"))
        }
        clean["PYTHONPATH"] = str(Path(__file__).parents[2])
        command = [sys.executable, "-m", "rookery", "match", "--master", "local[1]", "--event-id", "id"]
        command += ["-s", str(folder / "rules.csv"), "-e", str(folder / "events.parquet"), "-o", str(folder / "out")]
        done = subprocess.run(command, env=clean, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise ExperimentError(f"rookery match failed: {done.stderr.strip()}")
        found = parquet.read_table(folder / "out", columns=["event_id", "subscription_id"])
        return {(int(row["event_id"]), str(row["subscription_id"])) for row in found.to_pylist()}


#: Each way through the system, the oracle first.
ROUTES: dict[str, Callable[[Rules, Events], Pairs | None]] = {
    "scan": _by("scan"),
    "bitmap": _by("bitmap"),
    "matrix": _by("matrix"),
    "live DDS": live_dds,
    "live brokers": live_brokers,
    "live overlay": live_overlay,
    "simulated brokers": _brokers,
    "simulated overlay": _overlay,
    "Spark": _spark,
}
