"""Figures 4 and 5: B1 → B9 → B13 → B16 in the network of sixteen; and with B9 failed B1, B5, B13, B16."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rookery.brokers.spanhop import next_hop
from rookery.brokers.static import StaticBrokers
from rookery.brokers.tables import exact_tables
from rookery.papers.figures import chart
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict
from rookery.space.zones import box_of

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = QUICK = grid(failed=[0, 9], runs=1)
STATED = {0: "B1 B9 B13 B16", 9: "B1 B5 B13 B16"}
#: The seed numbers the four brokers of a domain going round.
ROUND = (0, 1, 3, 2)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Route from B1 to B16."""
    paths = StaticBrokers.balanced(2, 4).paths()
    number_of = {4 * domain + place: 4 * domain + turn + 1 for domain in range(4) for turn, place in enumerate(ROUND)}
    place_of = {number: place for place, number in number_of.items()}
    tables = exact_tables(paths, dimensions=2, bits=2, resident=lambda broker, zone, within: within[0])
    middle = tuple((low + high) / 2 for low, high in zip(*box_of(paths[place_of[16]], 2), strict=True))
    taken = [1]
    while (
        hop := next_hop(
            tables[place_of[taken[-1]]],
            middle,
            usable=lambda ownership: number_of[ownership.owner] != parameters["failed"],
        )
    ) is not None:
        taken.append(number_of[hop.owner])
    places = [box_of(paths[place_of[number]], 2) for number in taken]
    return [
        {
            "route": " ".join(f"B{number}" for number in taken),
            "xs": " ".join(str((box.lower[0] + box.upper[0]) / 2) for box in places),
            "ys": " ".join(str((box.lower[1] + box.upper[1]) / 2) for box in places),
        }
    ]


def plot(table: Table) -> Any:
    """Draw both routes over the sixteen zones."""
    figure, axes = chart("first attribute", "second attribute")
    for number, row in enumerate(table):
        xs, ys = ([float(value) for value in row[name].split()] for name in ("xs", "ys"))
        label = f"{row['route']}" + (f" (B{row['failed']} failed)" if row["failed"] else "")
        axes.plot(xs, ys, marker="os"[number], color=("#2f7fd1", "#d9742a")[number], label=label)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1])
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1])
    axes.legend(frameon=False, fontsize=9, labelcolor="#1c1d21", loc="upper left")
    return figure


def check(table: Table) -> Judgment:
    """Both routes must be the stated ones."""
    routes = {row["failed"]: row["route"] for row in table}
    return Judgment(
        Verdict.REPRODUCED if routes == STATED else Verdict.CONTRADICTED,
        f"{routes[0].replace(' ', ' → ')}; without B9 {routes[9].replace(' ', ' → ')}",
        "In the layout of the seed's figures, four domains of four brokers, the route from B1 to B16 and the one "
        "around the failed B9 are the stated ones.",
    )
