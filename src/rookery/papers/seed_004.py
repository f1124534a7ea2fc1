"""Seed 004, the predicate matrix: its answers, how many predicates it tests, and how long it takes.

`telemetry.py` has the subscriptions and events, and each algorithm compiled and interpreted.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from rookery import Schema
from rookery.matching import matcher as make_matcher
from rookery.papers.experiments import Experiment, Parameters, grid
from rookery.papers.figures import Lines, chart, where
from rookery.papers.interpreted import PlainMatrix
from rookery.papers.table import Row, Table
from rookery.papers.telemetry import COMPILED, DOMAINS, INTERPRETED, alive, events, nanoseconds_each, subscriptions
from rookery.papers.verdicts import Judgment, Verdict, judge

__all__ = ["CLAIMS"]

CLAIMS: dict[str, Experiment] = {}


def same_answer(parameters: Parameters, seed: int) -> Row:
    """Match the same events by all eight."""
    rows = subscriptions(parameters["subscriptions"], seed, limits=parameters["limits"])
    codes, living = events(parameters["events"], seed), alive(rows)
    answers = [
        np.sort(build(rows, DOMAINS).probe(codes, living))
        for table in (COMPILED, INTERPRETED)
        for build in table.values()
    ]
    oracle = answers[3]  # the compiled scan: every predicate of every row
    differing = sum(not np.array_equal(oracle, one) for one in answers)
    return {"matches": int(oracle.size), "algorithms": len(answers), "differing": differing}


def check_same_answer(table: Table) -> Judgment:
    """Some must match, and none may differ."""
    differing, total = table.total("differing"), table.total("matches")
    return judge(
        total and not differing,
        f"{total:,} matches, the same by all algorithms",
        "Deleting the rows of a failed predicate and of what it covers leaves exactly the subscriptions that match: "
        f"{total:,} matches over {len(table)} sets, the same from matrix, counting, index and scan, compiled and "
        f"interpreted; {differing} answers differ.",
    )


def _for_each(table: Table) -> Table:
    return Table([{**row, "each": row["matches"] / row["events"]} for row in table])


CLAIMS["same-answer"] = Experiment(
    rows=same_answer,
    full=grid(
        subscriptions=[5, 10, 20, 40, 80, 160, 320, 640, 1000], limits=["shared", "distinct"], events=100, runs=5
    ),
    quick=grid(subscriptions=[5, 40, 160], limits=["shared", "distinct"], events=30, runs=1),
    check=check_same_answer,
    figure=chart(
        "subscriptions under the topic",
        "matches for each event, the same by all eight",
        Lines("subscriptions", "each", by="limits", name="{} limits", of=_for_each),
    ),
)


def fewer_tests(parameters: Parameters, seed: int) -> list[Row]:
    """Count the evaluations of the plain algorithms."""
    rows = subscriptions(parameters["subscriptions"], seed, limits=parameters["limits"])
    codes, living = events(parameters["events"], seed), alive(rows)
    found: list[Row] = []
    for name, build in INTERPRETED.items():
        one = build(rows, DOMAINS)
        one.probe(codes, living)
        found.append({"algorithm": name, "tests": one.tests / parameters["events"]})
    return found


def check_fewer_tests(table: Table) -> Judgment:
    """The matrix must evaluate fewer than counting and fewer than the scan."""
    shared = table.where(limits="shared")
    tests = {
        count: {name: one.mean("tests") for name, one in part.by("algorithm")}
        for count, part in shared.by("subscriptions")
    }
    below = {
        name: [count for count, one in tests.items() if one["matrix"] < one[name]]
        for name in ("counting", "index", "scan")
    }
    forty, most = tests[40], tests[max(tests)]
    everywhere = all(len(counts) == len(tests) for counts in below.values())
    against = [name for name, counts in below.items() if len(counts) == len(tests)]
    verdict = Verdict.REPRODUCED if everywhere else Verdict.REGIME if "counting" in against else Verdict.CONTRADICTED
    index = f"up to {max(below['index']):,} subscriptions" if below["index"] else "nowhere"
    return Judgment(
        verdict,
        f"40 subscriptions: {forty['matrix']:.0f} of {forty['counting']:.0f} distinct predicates; "
        f"{max(tests):,}: {most['matrix']:.0f} of {most['counting']:.0f}",
        f"With 40 subscriptions the matrix evaluates {forty['matrix']:.0f} predicates for an event, counting "
        f"{forty['counting']:.0f}, the index {forty['index']:.0f} and the scan {forty['scan']:.0f}; with "
        f"{max(tests):,} it is {most['matrix']:.0f}, {most['counting']:.0f}, {most['index']:.0f} and "
        f"{most['scan']:.0f}; of the index it is what its searches compare and find. Fewer than the counting method at "
        f"every size; fewer than the index {index}.",
    )


CLAIMS["fewer-tests"] = Experiment(
    rows=fewer_tests,
    full=grid(
        subscriptions=[5, 10, 20, 40, 80, 160, 320, 640, 1000], events=100, limits=["shared", "distinct"], runs=5
    ),
    quick=grid(subscriptions=[5, 20, 40, 160, 640], events=30, limits=["shared", "distinct"], runs=1),
    check=check_fewer_tests,
    figure=chart(
        "subscriptions under the topic",
        "predicates evaluated for an event",
        Lines("subscriptions", "tests", by="algorithm", of=where(limits="shared")),
        x_log=10,
        y_log=10,
    ),
)


# Columns are ordered, those that most subscriptions have first: how many evaluations does that save?
#
# The seed gives no rule for columns that equally many subscriptions have, and where limits differ nearly all are such.

ORDERED_SIZES = [5, 10, 20, 40, 80, 160, 320, 640, 1000]
ORDERS: dict[str, Callable[[int, int], Any]] = {
    "common first": lambda count, first: (-count, first),
    "common first, ties by limit": lambda count, first: -count,
    "as they come": lambda count, first: first,
}


def column_order(parameters: Parameters, seed: int) -> list[Row]:
    """Match the same events with the columns in each order."""
    rows = subscriptions(parameters["subscriptions"], seed, limits=parameters["limits"])
    codes, living = events(parameters["events"], seed), alive(rows)
    found: list[Row] = []
    for order, rank in ORDERS.items():
        one = PlainMatrix(rows, DOMAINS, rank=rank)
        matches = len(one.probe(codes, living))
        found.append({"order": order, "tests": one.tests / parameters["events"], "matches": matches})
    return found


def _savings(table: Table) -> Table:
    """Return what each order saves against the columns as they come, by limits and size."""
    rows: list[Row] = []
    for limits, part in table.by("limits"):
        for count, one in part.by("subscriptions"):
            plain = one.where(order="as they come").mean("tests")
            for order, same in one.by("order"):
                saved = 1 - same.mean("tests") / plain
                rows.append({"limits": limits, "subscriptions": count, "order": order, "saved": saved})
    return Table(rows)


def check_column_order(table: Table) -> Judgment:
    """The order must save evaluations, and change no answer."""
    answers = [part.list("matches") for _, part in table.by("order")]
    savings = _savings(table)
    mine = savings.where(order="common first")
    shared, distinct = (mine.where(limits=limits).list("saved") for limits in ("shared", "distinct"))
    worst = savings.where(order="common first, ties by limit", limits="distinct").least("saved")
    if answers[0] != answers[1] or answers[0] != answers[2] or shared[-1] < 0.02:
        verdict = Verdict.CONTRADICTED
    else:
        verdict = Verdict.REPRODUCED if min(shared + distinct) > 0.02 else Verdict.REGIME
    most = table.most("subscriptions")
    shown = ", ".join(f"{row['saved']:.0%} at {row['subscriptions']:,}" for row in mine.where(limits="shared"))
    return Judgment(
        verdict,
        f"the order saves {shared[-1]:.0%} of the tests at {most:,} subscriptions, {distinct[-1]:.0%} if limits differ",
        "A failed predicate that many rows hold deletes many rows, so asking for it first should pay. Against columns "
        f"as they come it saves {shown} where limits come from a catalog, and at most "
        f"{max(distinct):.0%} where each limit is its own: there no column is more common than another, and what "
        f"decides is the order among equals. Going up by limit, it costs {-worst:.0%} more than no order at all, "
        "because a narrow predicate covers little. The answers are the same in every order.",
    )


def _saved_with(limits: str) -> Lines:
    return Lines("subscriptions", "saved", by="order", of=lambda table: _savings(table).where(limits=limits))


CLAIMS["column-order"] = Experiment(
    rows=column_order,
    full=grid(subscriptions=ORDERED_SIZES, limits=["shared", "distinct"], events=100, runs=5),
    quick=grid(subscriptions=[40, 160, 320], limits=["shared", "distinct"], events=20, runs=4),
    check=check_column_order,
    figure=(
        chart(
            "subscriptions under the topic",
            "evaluations saved, as a share",
            _saved_with("shared"),
            x_log=10,
            title="limits from a catalog",
        ),
        chart(
            "subscriptions under the topic",
            "evaluations saved, as a share",
            _saved_with("distinct"),
            x_log=10,
            title="each limit its own",
        ),
    ),
)

#: What counts as linear: times are noisy, and small sets have a part that does not grow.
LINEAR = 1.15


def linear_time(parameters: Parameters, seed: int) -> list[Row]:
    """Time the matrix, compiled and interpreted."""
    rows = subscriptions(parameters["subscriptions"], seed, limits=parameters["limits"])
    living = alive(rows)
    found: list[Row] = []
    for form, table, count in (("compiled", COMPILED, 3000), ("interpreted", INTERPRETED, 60)):
        codes, one = events(count, seed), table["matrix"](rows, DOMAINS)
        probe = functools.partial(one.probe, codes, living)
        spent = nanoseconds_each({"matrix": probe}, events=count, rounds=parameters["rounds"])
        found.append({"form": form, "ns": spent["matrix"]})
    return found


def _exponents(table: Table) -> dict[str, float]:
    """Return the power of the size by which time grows between the smallest and the largest set."""
    exponents = {}
    for limits, part in table.by("limits"):
        for form, one in part.by("form"):
            low, high = one.least("subscriptions"), one.most("subscriptions")
            ratio = one.where(subscriptions=high).mean("ns") / one.where(subscriptions=low).mean("ns")
            exponents[f"{form}, {limits} limits"] = math.log(ratio) / math.log(high / low)
    return exponents


def _verdict_linear_time(exponents: Mapping[str, float]) -> Verdict:
    linear = [name for name, value in exponents.items() if value <= LINEAR]
    if len(linear) == len(exponents):
        return Verdict.REPRODUCED
    return Verdict.REGIME if linear else Verdict.CONTRADICTED


def check_linear_time(table: Table) -> Judgment:
    """The exponent between the smallest and the largest set must not exceed one by much."""
    exponents = _exponents(table)
    verdict = _verdict_linear_time(exponents)
    each = [_verdict_linear_time(_exponents(part)) for _, part in table.by("seed")]
    shown = ", ".join(f"{name} {value:.2f}" for name, value in exponents.items())
    return Judgment(
        verdict,
        f"exponents: {shown}",
        f"Time grows as the number of subscriptions to the power {shown}. Where operators share limits the columns are "
        "bounded and the time is linear or less. Where every limit is its own, columns and rows both grow, so that one "
        "dense matrix is quadratic in principle; sets of bits (and panels of 512 rows in compiled code) keep it near "
        f"linear in this range. Taken one by one, {each.count(verdict)} of {len(each)} draws give this verdict.",
    )


def _forms(table: Table) -> Table:
    return Table([{**row, "line": f"{row['form']}, {row['limits']} limits"} for row in table])


CLAIMS["linear-time"] = Experiment(
    rows=linear_time,
    full=grid(subscriptions=[50, 100, 200, 400, 800, 1600], limits=["shared", "distinct"], rounds=3, runs=5),
    quick=grid(subscriptions=[50, 200, 800], limits=["shared", "distinct"], rounds=2, runs=1),
    check=check_linear_time,
    figure=chart(
        "subscriptions under the topic",
        "ns of CPU for an event",
        Lines("subscriptions", "ns", by="line", of=_forms),
        x_log=10,
        y_log=10,
    ),
    times=("ns",),
)

SIZES = [5, 10, 20, 30, 40, 60, 80, 160, 320, 1000]


def threshold_interpreted(parameters: Parameters, seed: int) -> list[Row]:
    """Time the plain algorithms."""
    return time_each(INTERPRETED, parameters, seed)


def time_each(algorithms: Mapping[str, Any], parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Time some algorithms in turn, on the same rows and events."""
    assert algorithms in (COMPILED, INTERPRETED)
    rows = subscriptions(parameters["subscriptions"], seed)
    codes, living = events(parameters["events"], seed), alive(rows)
    built = {name: build(rows, DOMAINS) for name, build in algorithms.items()}
    probes = {name: functools.partial(one.probe, codes, living) for name, one in built.items()}
    spent = nanoseconds_each(probes, events=len(codes), rounds=parameters["rounds"])
    return [{"algorithm": name, "ns": value} for name, value in spent.items()]


def _ratios(table: Table) -> dict[str, dict[int, float]]:
    """Return the time of each algorithm over that of the matrix, by size."""
    ratio: dict[str, dict[int, float]] = {"counting": {}, "index": {}, "scan": {}}
    for count, part in table.by("subscriptions"):
        mine = part.where(algorithm="matrix").mean("ns")
        for name, by_count in ratio.items():
            by_count[count] = part.where(algorithm=name).mean("ns") / mine
    return ratio


def _threshold_verdict(ratio: Mapping[str, Mapping[int, float]]) -> Verdict:
    """Up to 40 subscriptions the matrix must win against both; against counting alone it is a regime."""
    small = [count for count in ratio["counting"] if count <= 40]
    wins = {name: all(ratio[name][count] > 1 for count in small) for name in ("counting", "index")}
    if all(wins.values()):
        return Verdict.REPRODUCED
    return Verdict.REGIME if wins["counting"] else Verdict.CONTRADICTED


def judge_times(table: Table, form: str) -> Judgment:
    """Compare the matrix with counting and index below 40 and above, over all draws and for each."""
    ratio = _ratios(table)
    verdict = _threshold_verdict(ratio)
    each = [_threshold_verdict(_ratios(part)) for _, part in table.by("seed")]
    small = [count for count in ratio["counting"] if count <= 40]
    last = max(ratio["counting"])
    lost = [count for count in ratio["counting"] if min(ratio["counting"][count], ratio["index"][count]) < 1]
    turn = f"one of the two is faster at {', '.join(f'{count:,}' for count in lost)}" if lost else "neither is faster"
    shown = "; ".join(
        f"{name} {min(by[c] for c in small):.2f} to {max(by[c] for c in small):.2f}, {by[last]:.2f} at {last:,}"
        for name, by in ratio.items()
    )
    return Judgment(
        verdict,
        f"matrix against counting {ratio['counting'][40]:.2f}×, index {ratio['index'][40]:.2f}× at 40 ({form})",
        f"Time of each over the time of the matrix ({form}; above 1 the matrix is faster), up to 40 subscriptions and "
        f"at the largest: {shown}. The ratios change slowly with the size, and of the sizes measured {turn}. Taken one "
        f"by one, {each.count(verdict)} of {len(each)} draws of subscriptions give this verdict. Counting tests every "
        "distinct comparison once, the index searches sorted limits by attribute and operator.",
    )


def check_threshold_interpreted(table: Table) -> Judgment:
    """Judge the interpreted form."""
    return judge_times(table, "interpreted")


CLAIMS["threshold-interpreted"] = Experiment(
    rows=threshold_interpreted,
    full=grid(subscriptions=SIZES, events=200, rounds=5, runs=5),
    quick=grid(subscriptions=[5, 20, 40, 160], events=100, rounds=3, runs=1),
    check=check_threshold_interpreted,
    figure=chart(
        "subscriptions under the topic",
        "ns of CPU for an event",
        Lines("subscriptions", "ns", by="algorithm"),
        x_log=10,
        y_log=10,
    ),
    times=("ns",),
)


def threshold_compiled(parameters: Parameters, seed: int) -> list[Row]:
    """Time the compiled algorithms."""
    return time_each(COMPILED, parameters, seed)


def check_threshold_compiled(table: Table) -> Judgment:
    """Judge the compiled form."""
    return judge_times(table, "compiled")


CLAIMS["threshold-compiled"] = replace(
    CLAIMS["threshold-interpreted"],
    rows=threshold_compiled,
    full=grid(subscriptions=SIZES, events=10_000, rounds=7, runs=5),
    quick=grid(subscriptions=[5, 20, 40, 160], events=5_000, rounds=5, runs=1),
    check=check_threshold_compiled,
)


def check_brute_force(table: Table) -> Judgment:
    """The matrix must be faster than the scan up to 40 subscriptions."""
    ratio = {
        count: part.where(algorithm="scan").mean("ns") / part.where(algorithm="matrix").mean("ns")
        for count, part in table.by("subscriptions")
    }
    small = {count: value for count, value in ratio.items() if count <= 40}
    wins = [count for count, value in ratio.items() if value > 1]
    if all(count in wins for count in small):
        verdict = Verdict.REPRODUCED
    else:
        verdict = Verdict.REGIME if any(count in wins for count in small) else Verdict.CONTRADICTED
    where = f"at {', '.join(f'{count:,}' for count in wins)} subscriptions" if wins else "at no size measured"
    return Judgment(
        verdict,
        f"scan / matrix: {small[min(small)]:.2f} at {min(small)}, {small[40]:.2f} at 40, {ratio[max(ratio)]:.2f} at "
        f"{max(ratio):,}",
        f"In compiled code a scan that stops at the first failed predicate takes {min(small.values()):.2f} to "
        f"{max(small.values()):.2f} times the time of the matrix up to 40 subscriptions: above 1 the matrix is faster, "
        f"which it is {where}. Up to 64 rows its set of live rows is one word, so a column takes a few instructions, "
        "and subscriptions that share limits are tested together; the scan tests each of them again.",
    )


CLAIMS["brute-force"] = replace(
    CLAIMS["threshold-compiled"],
    check=check_brute_force,
)


# The abstract says 40/s. Read as a rate: does the matrix win only while few subscriptions arrive each second?
#
# It has cheaper events and dearer arrivals than counting and index, or it has not; if so, there is a rate of arrivals
# at which they are even, and it is so many for each thousand events. The seed gives no rate of events; here it is a
# thousand a second.

RATES = (1, 10, 40, 100, 400)
#: Events in each second, beside the arrivals.
EVENT_RATE = 1000
STATED = 40


def rate_reading(parameters: Parameters, seed: int) -> Row:
    """Time arrivals and matches of the whole engine, text to answer; the least of some rounds."""
    event = {"a": float(seed % 20), "b": 5.0, "c": 1.0}
    arrival = spent = float("inf")
    for _ in range(parameters["rounds"]):
        matcher = make_matcher(Schema(a=float, b=float, c=float), engine=parameters["engine"])
        for number in range(parameters["held"]):
            matcher.add(number, f"a > {number % 20} AND b < {number % 13}")
        matcher.match(event)
        began = time.process_time()
        for _ in range(parameters["events"]):
            matcher.match(event)
        spent = min(spent, (time.process_time() - began) / parameters["events"])
        began = time.process_time()
        for number in range(STATED):
            matcher.add(1_000_000 + number, f"a > {number % 20} AND c < {number % 13}")
        matcher.match(event)
        arrival = min(arrival, (time.process_time() - began) / STATED)
    return {"arrival_us": 1e6 * arrival, "event_us": 1e6 * spent}


def check_rate_reading(table: Table) -> Judgment:
    """There must be a rate up to which the matrix is the cheapest, and it should be forty."""
    mean = {name: (part.mean("arrival_us"), part.mean("event_us")) for name, part in table.by("engine")}
    mine = mean.pop("matrix")
    dearer = {name: mine[0] - arrival for name, (arrival, _) in mean.items()}
    cheaper = {name: event - mine[1] for name, (_, event) in mean.items()}
    if min(*dearer.values(), *cheaper.values()) > 0:
        even = min(EVENT_RATE * cheaper[name] / dearer[name] for name in mean)
        verdict = Verdict.REPRODUCED if abs(even / STATED - 1) < 0.2 else Verdict.SHAPE
        figure = f"the matrix is the cheapest up to {even:.0f} arrivals for each {EVENT_RATE:,} events"
        reading = f"40 a second would be so at {STATED / even * EVENT_RATE:,.0f} events a second"
    else:
        verdict, figure = Verdict.CONTRADICTED, "no rate of arrivals decides between the engines"
        reading = "so 40 a second cannot be where they are even"
    shown = ", ".join(f"{name} {arrival:.0f} and {event:.1f}" for name, (arrival, event) in mean.items())
    return Judgment(
        verdict,
        figure,
        f"With {table.least('held')} subscriptions an arrival takes the matrix {mine[0]:.0f} µs, parsing included, and "
        f"an event {mine[1]:.1f} µs, in a call that takes one event; {shown}. A small matrix is built anew for every "
        f"arrival. In short: {figure}; {reading}. The seed gives no rate of events, so in the other claims “40/s” is "
        "read as 40 subscriptions under one topic.",
    )


def _cores(table: Table) -> Table:
    return Table(
        [
            {
                "rate": rate,
                "engine": name,
                "cores": (rate * part.mean("arrival_us") + EVENT_RATE * part.mean("event_us")) / 1e6,
            }
            for name, part in table.by("engine")
            for rate in RATES
        ]
    )


CLAIMS["rate-reading"] = Experiment(
    rows=rate_reading,
    full=grid(engine=["matrix", "counting", "index"], held=40, events=400, rounds=10, runs=5),
    quick=grid(engine=["matrix", "counting", "index"], held=40, events=400, rounds=5, runs=1),
    check=check_rate_reading,
    figure=chart(
        "subscriptions that arrive each second",
        "cores in use, with 1,000 events a second",
        Lines("rate", "cores", by="engine", of=_cores),
        x_log=10,
    ),
    times=("arrival_us", "event_us"),
)
