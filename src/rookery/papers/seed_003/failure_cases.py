"""Section 2.3: when residents fail, another broker of the domain, a smaller span, or the neighbors take over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rookery.brokers.ownership import ZoneOwnership
from rookery.brokers.spanhop import greedy_hop, next_hop
from rookery.brokers.static import StaticBrokers
from rookery.brokers.tables import exact_tables
from rookery.papers.figures import charts, lines
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict
from rookery.space.zones import box_of

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(failed=[0.0, 0.05, 0.1, 0.2, 0.3], brokers=512, routes=500, runs=10)
QUICK = grid(failed=[0.0, 0.1, 0.3], brokers=256, routes=200, runs=1)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Let brokers fail at once, nobody having repaired anything, and route between those that live."""
    generator = np.random.default_rng(seed)
    count = parameters["brokers"]
    paths = StaticBrokers.balanced(2, count.bit_length() - 1).paths()
    tables = exact_tables(
        paths, dimensions=2, bits=2, resident=lambda b, zone, within: within[int(generator.integers(len(within)))]
    )
    dead = set(generator.choice(count, size=round(parameters["failed"] * count), replace=False).tolist())
    living = [number for number in range(count) if number not in dead]

    def usable(ownership: ZoneOwnership) -> bool:
        return ownership.owner not in dead

    arrived = {"Spanhop": 0, "greedy": 0}
    hops = {"Spanhop": 0, "greedy": 0}
    for source, target in generator.choice(living, size=(parameters["routes"], 2)).tolist():
        box = box_of(paths[target], 2)
        point = tuple((low + high) / 2 for low, high in zip(*box, strict=True))
        for name in arrived:
            broker, visited = source, {source}
            while broker != target and len(visited) < 200:
                if name == "Spanhop":
                    hop = next_hop(tables[broker], point, usable=usable, used=frozenset(visited))
                else:
                    hop = greedy_hop(tables[broker], point, usable=usable)
                if hop is None or hop.owner in visited:
                    break
                broker = hop.owner
                visited.add(broker)
            arrived[name] += broker == target
            hops[name] += (len(visited) - 1) if broker == target else 0
    return [
        {"algorithm": name, "arrived": total / parameters["routes"], "hops": hops[name] / max(1, total)}
        for name, total in arrived.items()
    ]


def plot(table: Table) -> Any:
    """Draw what arrives, and in how many hops."""
    figure, (left, right) = charts(
        ("share of the brokers that failed", "routes that arrive"), ("share of the brokers that failed", "hops")
    )
    lines(left, table, x="failed", y="arrived", by="algorithm")
    lines(right, table, x="failed", y="hops", by="algorithm")
    left.set_ylim(0, 1.05)
    return figure


def check(table: Table) -> Judgment:
    """With no failure all must arrive; with some, Spanhop should still route."""
    mine = {failed: part.where(algorithm="Spanhop") for failed, part in table.by("failed")}
    tenth, third, none = (mine[value].mean("arrived") for value in (0.1, 0.3, 0.0))
    verdict = (
        Verdict.CONTRADICTED if none < 1 or tenth < 0.9 else Verdict.REPRODUCED if third > 0.99 else Verdict.REGIME
    )
    greedy = table.where(algorithm="greedy", failed=0.3).mean("arrived")
    return Judgment(
        verdict,
        f"{tenth:.1%} of the routes arrive with a tenth failed, {third:.0%} with three tenths",
        f"Before anybody repairs anything the three cases bring {tenth:.1%} of the routes around the failure of a "
        f"tenth of all brokers, and {third:.0%} around three tenths (greedy routing {greedy:.0%}): a message that has "
        "been everywhere nearer finds no way on. The seed's own example, B9 failing, works (see worked-route). "
        "Takeover of the zones, which live brokers do within seconds, brings back the rest.",
    )
