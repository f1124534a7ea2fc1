"""What goes beyond the seeds: one answer everywhere, the ribbon, and two seeds together."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from rookery.filters import BloomTree, CuckooFilter, equations, summarize
from rookery.matching.baselines import PredicateMatrix
from rookery.matching.baselines.predicates import Domains
from rookery.papers.endpoints import endpoint_keys
from rookery.papers.experiments import Experiment, Parameters, grid
from rookery.papers.figures import Bars, Lines, chart, where
from rookery.papers.one_workload import ROUTES, conditions, quotes
from rookery.papers.table import Row, Table
from rookery.papers.telemetry import box_rows, nanoseconds_each
from rookery.papers.verdicts import Judgment, judge
from rookery.space import Axis, Boxes, KdTree

__all__ = ["CLAIMS"]

CLAIMS: dict[str, Experiment] = {}


def one_answer(parameters: Parameters, seed: int) -> list[Row]:
    """Send the same events through one route, and compare with the oracle."""
    rules, events = conditions(parameters["subscriptions"], seed), quotes(parameters["events"], seed)
    expected = ROUTES["scan"](rules, events)
    found = ROUTES[parameters["route"]](rules, events)
    if found is None or expected is None:
        return []  # this machine lets nobody join a DDS domain
    return [{"pairs": len(found), "missed": len(expected - found), "extra": len(found - expected)}]


def check_one_answer(table: Table) -> Judgment:
    """Some pairs; nothing missed, nothing extra, anywhere."""
    missed, extra = table.total("missed"), table.total("extra")
    absent = [route for route in ROUTES if route not in table.values("route")]
    left_out = f" Not run here: {', '.join(absent)}." if absent else ""
    return judge(
        table.least("pairs") and not missed + extra,
        f"{table.least('pairs'):,} pairs by {len(table)} routes; {missed} missed, {extra} extra",
        f"The same {table.least('subscriptions')} WHERE clauses and {table.least('events')} events through "
        f"{', '.join(table.values('route'))}: {table.least('pairs'):,} pairs each, {missed} missed and {extra} extra "
        f"against a scan that evaluates every condition.{left_out}",
    )


def _pairs(table: Table) -> dict[str, float]:
    return {row["route"]: row["pairs"] for row in table}


CLAIMS["one-answer"] = Experiment(
    rows=one_answer,
    full=grid(route=list(ROUTES), subscriptions=60, events=400, runs=1),
    quick=grid(route=list(ROUTES), subscriptions=20, events=60, runs=1),
    check=check_one_answer,
    figure=chart("pairs of event and subscription", "", Bars(_pairs, "{:,.0f}")),
)

STRUCTURES = ["ribbon", "golomb", "cuckoo", "bloom", "tree", "cuckoo as patented", "tree as printed"]


def ribbon_size(parameters: Parameters, seed: int) -> Row:
    """Make one summary and compare its payload with the floor n·log2(1/ε) at its own rate."""
    count, name, rate = parameters["endpoints"], parameters["structure"], parameters["rate"]
    keys = endpoint_keys(count, seed=seed)
    made: Any
    if name == "cuckoo as patented":
        made = CuckooFilter.patent(log2_buckets=max(1, math.ceil(math.log2((5 * count + 1) / 8))))
        made.add_many(keys)
    elif name == "tree as printed":
        bits = max(10, equations.optimal_bit_count(n=count, rate=0.03))
        made = BloomTree(
            namespace_size=4 * count, node_size=16, bit_count=bits, hash_count=5, row_capacity=0, mode="paper"
        )
        made.add_many(keys)
    else:
        made = summarize(keys, name, rate)
    true_rate = made.expected_false_positive_rate
    payload = made.size_in_bits / 8
    return {"bytes": payload, "true_rate": true_rate, "of_floor": 8 * payload / (count * math.log2(1 / true_rate))}


def check_ribbon_size(table: Table) -> Judgment:
    """The ribbon must be nearest to the floor at every size."""
    over = {
        count: {name: one.mean("of_floor") for name, one in part.by("structure")}
        for count, part in table.by("endpoints")
    }
    best = all(min(one, key=one.__getitem__) == "ribbon" for one in over.values())
    most = over[max(over)]
    shown = ", ".join(f"{name} {value:.2f}" for name, value in most.items())
    return judge(
        best and most["ribbon"] < 1.05,
        f"{max(over):,} endpoints, payload over the floor: ribbon {most['ribbon']:.2f}, cuckoo as patented "
        f"{most['cuckoo as patented']:.2f}, tree as printed {most['tree as printed']:.1f}",
        f"No summary with a false-positive rate ε can be smaller than n·log2(1/ε) bits. At {max(over):,} endpoints, "
        f"each at its own rate: {shown} times that. The ribbon's price: it is built anew when something changes.",
    )


CLAIMS["ribbon-size"] = Experiment(
    rows=ribbon_size,
    full=grid(structure=STRUCTURES, endpoints=[10, 50, 100, 500, 1000], rate=1 / 128, runs=5),
    quick=grid(structure=STRUCTURES, endpoints=[50, 250], rate=1 / 128, runs=1),
    check=check_ribbon_size,
    figure=chart(
        "endpoints", "payload / n·log2(1/ε)", Lines("endpoints", "of_floor", by="structure"), x_log=10, y_log=10
    ),
)

DIMENSIONS = 3
TOP = 1_000_000
#: A power of two, so that codes become places of the unit cube without rounding.
SCALE = 2.0**20
DOMAINS = Domains.uniform(DIMENSIONS, 0, TOP)


def zones_and_matrices(parameters: Parameters, seed: int) -> list[Row]:
    """Match selective boxes by one matrix, and by zones first; the pairs must be the same."""
    count, generator = parameters["subscriptions"], np.random.default_rng([seed, parameters["subscriptions"]])
    low = generator.integers(0, int(0.95 * TOP), size=(count, DIMENSIONS))
    high = low + int(0.05 * TOP)
    codes = generator.integers(0, TOP, size=(parameters["events"], DIMENSIONS))
    points, living = codes / SCALE, np.ones(count, np.uint8)
    boxes = Boxes(low / SCALE, high / SCALE)
    axes = [Axis(f"a{axis}", 0, SCALE) for axis in range(DIMENSIONS)]
    tree = KdTree.fit(points[:5000], axes=axes, zones=parameters["zones"], boxes=boxes)
    rules, met = tree.zones_met(boxes)
    whole = PredicateMatrix(box_rows(np.arange(count), low, high), DOMAINS)
    small = {
        zone: PredicateMatrix(box_rows(mine, low[mine], high[mine]), DOMAINS)
        for zone in range(tree.zone_count)
        if len(mine := rules[met == zone])
    }

    def by_zone() -> Any:
        zone_of = tree.zones_of(points)
        order = np.argsort(zone_of, kind="stable")
        ends = np.searchsorted(zone_of[order], np.arange(tree.zone_count + 1))
        found = []
        for zone, matrix in small.items():
            part = order[ends[zone] : ends[zone + 1]]
            if len(part):
                pairs = matrix.probe(codes[part], living)
                found.append(part[pairs >> 32] << 32 | pairs & 0xFFFFFFFF)
        return np.concatenate(found)

    one = functools.partial(whole.probe, codes, living)
    same = bool(np.array_equal(np.sort(one()), np.sort(by_zone())))
    spent = nanoseconds_each(
        {"one matrix": one, "zones, then matrices": by_zone}, events=len(codes), rounds=parameters["rounds"]
    )
    copies = len(rules) / count
    return [{"method": name, "ns": value, "same_pairs": same, "copies": copies} for name, value in spent.items()]


def check_zones_and_matrices(table: Table) -> Judgment:
    """The pairs must be the same and the zones faster for the largest set."""
    gain = {
        count: part.where(method="one matrix").mean("ns") / part.where(method="zones, then matrices").mean("ns")
        for count, part in table.by("subscriptions")
    }
    shown = ", ".join(f"{value:.1f}× at {count:,}" for count, value in gain.items())
    holds = all(table.list("same_pairs")) and gain[max(gain)] > 1
    return judge(
        holds,
        f"zones first: {shown}, the same pairs",
        f"Zones first, then the matrix of one zone, against one matrix of everything: {shown}, with the same pairs. "
        "Selective rules meet few zones, so the matrix of a zone has few rows, and few rows are where the matrix of "
        "seed 004 is good. Rules that meet many zones would be copied to each of them.",
    )


CLAIMS["zones-and-matrices"] = Experiment(
    rows=zones_and_matrices,
    full=grid(subscriptions=[200, 1000, 5000, 10_000], zones=256, events=10_000, rounds=3, runs=3),
    quick=grid(subscriptions=[200, 2000], zones=64, events=3_000, rounds=2, runs=1),
    check=check_zones_and_matrices,
    figure=(
        chart("subscriptions", "ns of CPU for an event", Lines("subscriptions", "ns", by="method"), x_log=10, y_log=10),
        chart(
            "subscriptions",
            "zones that a rule is in",
            Lines("subscriptions", "copies", "mean", first=2, of=where(method="one matrix")),
            x_log=10,
        ),
    ),
    times=("ns",),
)
