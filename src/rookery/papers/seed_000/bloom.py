"""Seed 000, section 1: what one filter does, counters, and rows that come as elements do."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from rookery.filters import BloomFilter, BloomTree, CountingBloomFilter
from rookery.filters.equations import optimal_hash_count as best_hash_count
from rookery.papers.endpoints import absent_keys, endpoint_keys
from rookery.papers.experiments import Experiment, Parameters, Sweep, grid
from rookery.papers.figures import Bars, Formula, Lines, chart, where
from rookery.papers.seed_000 import equations
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict, judge

__all__ = ["CLAIMS"]

CLAIMS: dict[str, Experiment] = {}
#: How far the mean over all filters may be from the formula: about four standard errors of the quick run.
TOLERANCE = 0.08


def false_positive_rate(parameters: Parameters, seed: int) -> Row:
    """Ask several filters of one size for keys that they do not hold."""
    n, k, m = parameters["n"], parameters["k"], parameters["n"] * parameters["bits_per_key"]
    wrong, others = 0, absent_keys(parameters["asked"], seed=seed)
    for number in range(parameters["filters"]):
        made = BloomFilter(bit_count=m, hash_count=k)
        made.add_many(endpoint_keys(n, seed=seed, owner=f"filter{number}-"))
        wrong += int(made.contains_many(others).sum())
    return {
        "rate": wrong / (parameters["asked"] * parameters["filters"]),
        "equation": equations.bloom_rate(n=n, m=m, k=k),
        "approximation": equations.bloom_rate_approximate(n=n, m=m, k=k),
    }


def check_false_positive_rate(table: Table) -> Judgment:
    """The formula must hold for filters of a thousand keys and more; small ones are looked at apart."""
    ratio = {n: part.mean("rate") / part.mean("equation") for n, part in table.by("n")}
    gap = max(abs(part.mean("approximation") / part.mean("equation") - 1) for _, part in table.by("n"))
    large = all(abs(value - 1) < TOLERANCE for n, value in ratio.items() if n >= 1000)
    small = all(abs(value - 1) < TOLERANCE for value in ratio.values())
    shown = ", ".join(f"{value:.2f} for {n:,}" for n, value in ratio.items())
    verdict = Verdict.REPRODUCED if small else Verdict.REGIME if large else Verdict.CONTRADICTED
    return Judgment(
        verdict,
        f"measured / formula: {ratio[min(ratio)]:.2f} at n = {min(ratio)}, {ratio[max(ratio)]:.2f} at n = "
        f"{max(ratio):,}",
        f"Measured rate over equation 1 by number of keys: {shown}. The formula holds for large filters. In small ones "
        "the product's k positions, made from one 64-bit hash, are not independent, which the formula assumes, so "
        f"more keys are taken wrongly. The exponential form differs from the exact one by up to {gap:.1%} (in the "
        "smallest).",
    )


CLAIMS["false-positive-rate"] = Experiment(
    rows=false_positive_rate,
    full=grid(n=[4, 8, 16, 64, 256, 1000, 4000, 10_000], bits_per_key=10, k=7, asked=10_000, filters=20, runs=10),
    quick=grid(n=[4, 16, 1000, 4000], bits_per_key=10, k=7, asked=20_000, filters=10, runs=2),
    check=check_false_positive_rate,
    figure=chart(
        "n, keys in the filter (m = 10 n, k = 7)",
        "false-positive rate",
        Lines("n", "rate", "measured"),
        Formula("n", "equation", "equation 1"),
        x_log=10,
        y_range=(0, None),
    ),
)


def optimal_hash_count(parameters: Parameters, seed: int) -> list[Row]:
    """Measure the rate for every k up to twice the optimum."""
    n, m = parameters["n"], parameters["n"] * parameters["bits_per_key"]
    keys, others = endpoint_keys(n, seed=seed), absent_keys(parameters["asked"], seed=seed)
    rows: list[Row] = []
    for k in range(1, round(2 * best_hash_count(n=n, m=m)) + 1):
        made = BloomFilter(bit_count=m, hash_count=k)
        made.add_many(keys)
        wrong = int(made.contains_many(others).sum())
        rows.append(
            {"k": k, "wrong": wrong, "rate": wrong / len(others), "equation": equations.bloom_rate(n=n, m=m, k=k)}
        )
    return rows


def check_optimal_hash_count(table: Table) -> Judgment:
    """The best k is a neighbor of (m/n)·ln 2, and the rate there is 2^(−(m/n)·ln 2) but for the rounding of k."""
    found, holds = [], True
    for bits, part in table.by("bits_per_key"):
        n = part.least("n")
        ideal = best_hash_count(n=n, m=n * bits)
        floor = equations.bloom_rate_minimal(n=n, m=n * bits)
        rates = {k: one.mean("rate") for k, one in part.by("k")}
        nearest = round(ideal)
        # Around the optimum the curve is flat, so the measured best may be one beside it by chance.
        noise = 4 * math.sqrt(floor / part.where(k=nearest).total("asked"))
        holds &= rates[nearest] <= min(rates.values()) + noise and abs(rates[nearest] / floor - 1) < 0.1 + noise / floor
        found.append(f"{rates[nearest]:.3%} at k = {nearest} for m/n = {bits} (formula {floor:.3%} at k = {ideal:.2f})")
    return judge(
        holds,
        found[-1],
        "The rate measured with the product's own filter is least at the whole number next to (m/n)·ln 2, and there "
        "it is the stated minimum up to what rounding k costs: " + "; ".join(found) + ".",
    )


CLAIMS["optimal-hash-count"] = Experiment(
    rows=optimal_hash_count,
    full=grid(bits_per_key=[6, 10, 16], n=1000, asked=200_000, runs=10),
    quick=grid(bits_per_key=[6, 10], n=1000, asked=50_000, runs=2),
    check=check_optimal_hash_count,
    figure=chart(
        "k, hash functions",
        "false-positive rate",
        Lines("k", "rate", by="bits_per_key", name="m/n = {}"),
        Formula("k", "equation", "equation 1, m/n = {}", by="bits_per_key"),
        y_log=10,
    ),
)


def theorem_intersection(parameters: Parameters, seed: int) -> Row:
    """Count the pairs of sets for which the theorem holds, for unions and for intersections."""
    keys, shared, pairs = parameters["keys"], parameters["shared"], parameters["pairs"]
    union = intersection = extra = 0
    for pair in range(pairs):
        names = endpoint_keys(2 * keys - shared, seed=seed, owner=f"pair{pair}-")
        one, other = names[:keys], names[keys - shared :]
        first, second = (_bits(part, parameters) for part in (one, other))
        union += bool((_bits(names, parameters) == (first | second)).all())
        common = _bits(names[keys - shared : keys], parameters)
        surplus = int(np.bitwise_count((first & second) & ~common).sum())
        assert not (common & ~(first & second)).any()  # ⊆ always holds
        intersection += surplus == 0
        extra += surplus
    return {"union_holds": union, "intersection_holds": intersection, "surplus_ones": extra / pairs}


def _bits(keys: list[str], parameters: Mapping[str, Any]) -> Any:
    made = BloomFilter(bit_count=parameters["bits"], hash_count=parameters["hashes"])
    made.add_many(keys)
    return made.bits


def check_theorem_intersection(table: Table) -> Judgment:
    """Equality must hold for every pair; it holds where A = B."""
    apart = Table([row for row in table if row["shared"] != row["keys"]])
    holds, of = apart.total("intersection_holds"), apart.total("pairs")
    surplus = apart.where(shared=0).mean("surplus_ones")
    return judge(
        holds == of,
        f"holds for {holds:,} of {of:,} pairs of different sets",
        f"β(A∩B) is contained in β(A)∧β(B), and equal to it for {holds:,} of {of:,} pairs of different sets: two "
        "elements that are not shared can set the same bit. For disjoint sets of 100 keys the filter of the "
        f"intersection is empty while the AND has {surplus:.0f} ones on average. Nothing in Rookery takes the AND for "
        "an intersection.",
    )


CLAIMS["theorem-intersection"] = Experiment(
    rows=theorem_intersection,
    full=grid(shared=[0, 1, 10, 50, 90, 99, 100], keys=100, bits=960, hashes=7, pairs=200, runs=10),
    quick=grid(shared=[0, 50, 99, 100], keys=100, bits=960, hashes=7, pairs=30, runs=2),
    check=check_theorem_intersection,
    figure=chart(
        "keys that A and B (100 each) share",
        "ones of β(A)∧β(B) that are not in β(A∩B)",
        Lines("shared", "surplus_ones", "measured"),
    ),
)


def check_theorem_union(table: Table) -> Judgment:
    """Every pair must hold."""
    holds, of = table.total("union_holds"), table.total("pairs")
    return judge(
        holds == of,
        f"holds for {holds:,} of {of:,} pairs",
        f"The OR of two filters of one size and one set of hash functions equals the filter of the union, bit for bit, "
        f"for {holds:,} of {of:,} pairs of sets. It holds by construction: each element sets the same bits in both.",
    )


def _halves(table: Table) -> dict[str, float]:
    halves = {"β(A∪B) = β(A)∨β(B)": "union_holds", "β(A∩B) = β(A)∧β(B)": "intersection_holds"}
    return {label: table.total(column) / table.total("pairs") for label, column in halves.items()}


CLAIMS["theorem-union"] = replace(
    CLAIMS["theorem-intersection"],
    check=check_theorem_union,
    figure=chart("share of the pairs (A, B) for which it holds", "", Bars(_halves)),
)


def counter_distribution(parameters: Parameters, seed: int) -> list[Row]:
    """Count the counters of each value."""
    n, m, k = parameters["n"], parameters["m"], parameters["k"]
    counts = np.zeros(16, dtype=np.int64)
    for number in range(parameters["filters"]):
        made = CountingBloomFilter(bit_count=m, hash_count=k)
        made.add_many(endpoint_keys(n, seed=seed, owner=f"filter{number}-"))
        counts += np.bincount(made.counters, minlength=16)
    return [
        {
            "j": j,
            "share": int(counts[j]) / int(counts.sum()),
            "equation": equations.counter_probability(j=j, n=n, m=m, k=k),
        }
        for j in range(9)
    ]


def check_counter_distribution(table: Table) -> Judgment:
    """The total variation between the two must be small."""
    distance = sum(abs(part.mean("share") - part.mean("equation")) for _, part in table.by("j")) / 2
    return judge(
        distance < 0.01,
        f"total variation {distance:.4f} between measured and binomial",
        f"The values of {table.least('m'):,} counters after {table.least('n'):,} keys follow the binomial law: the "
        f"total variation distance is {distance:.4f}. A position that one key hits twice is counted once here, which "
        "moves the law by less than that.",
    )


def _seen(table: Table) -> Table:
    return Table([row for row in table if row["share"] > 0])


CLAIMS["counter-distribution"] = Experiment(
    rows=counter_distribution,
    full=grid(n=1000, m=9585, k=7, filters=50, runs=10),
    quick=grid(n=1000, m=9585, k=7, filters=5, runs=2),
    check=check_counter_distribution,
    figure=chart(
        "j, value of a counter",
        "share of the counters",
        Lines("j", "share", "measured", of=_seen),
        Formula("j", "equation", "equation 2"),
        y_log=10,
    ),
)


# Equations 3 and 4: the chance that some counter reaches j never exceeds the bound.
#
# A bound can be seen to fail only where it is below 1 and met by enough filters; other j decide nothing. So that idle
# counters do not pass for small ones, shares are also held against m independent counters (equation 2).

#: Two with the best k, one with a smaller k: equation 3 is for any k, equation 4 for the best.
_SHAPES = ({"n": 100, "m": 1010, "k": 7}, {"n": 100, "m": 1443, "k": 10}, {"n": 100, "m": 1010, "k": 3})
#: Filters that must be expected at the bound before a j counts.
EXPECTED = 10
#: −ln of the probability below which chance is no excuse.
SURPRISE = math.log(1e5)


def counter_bound(parameters: Parameters, seed: int) -> list[Row]:
    """Record the largest counter of each filter."""
    n, m, k = parameters["n"], parameters["m"], parameters["k"]
    reached = np.empty(parameters["filters"], dtype=np.int64)
    for number in range(parameters["filters"]):
        made = CountingBloomFilter(bit_count=m, hash_count=k)
        made.add_many(endpoint_keys(n, seed=seed, owner=f"filter{number}-"))
        reached[number] = made.counters.max()
    best = k == round(best_hash_count(n=n, m=m))
    rows: list[Row] = []
    for j in range(2, 17):
        one = sum(equations.counter_probability(j=value, n=n, m=m, k=k) for value in range(j, 64))
        rows.append(
            {
                "j": j,
                "share": float((reached >= j).mean()),
                "law": -math.expm1(m * math.log1p(-one)),
                "tight_bound": equations.counter_overflow_bound_tight(j=j, n=n, m=m, k=k),
                "bound": equations.counter_overflow_bound(j=j, n=n, m=m, k=k),
                "optimal_bound": equations.counter_overflow_bound_optimal(j=j, m=m) if best else 0.0,
            }
        )
    return rows


def _beyond_chance(share: float, limit: float, count: int) -> bool:
    """Say whether so many hits are too many, or too few, for a probability of `limit` (Chernoff's inequality)."""
    parts = ((one, other) for one, other in ((share, limit), (1 - share, 1 - limit)) if one)
    return count * sum(one * math.log(one / other) for one, other in parts) > SURPRISE


def check_counter_bound(table: Table) -> Judgment:
    """No share may exceed its bound by more than chance, where that can be seen; and the bounds must be in order."""
    above = idle = 0
    shares = []
    for part in (one for _, shape in table.by("m") for _, same in shape.by("k") for _, one in same.by("j")):
        count, bound, share, law = part.total("filters"), *map(part.mean, ("tight_bound", "share", "law"))
        above += share > bound and _beyond_chance(share, bound, count)
        if bound < 1 and bound * count >= EXPECTED:
            shares.append(share / bound)
            idle += share < law / 2 and _beyond_chance(share, law / 2, count)
    ordered = all(row["tight_bound"] <= row["bound"] for row in table)
    near = max(abs(row["bound"] / row["optimal_bound"] - 1) for row in table if row["optimal_bound"])
    holds = not above + idle and ordered and near < 0.05
    verdict = (Verdict.REPRODUCED if holds else Verdict.CONTRADICTED) if len(shares) >= 3 else Verdict.NOT_TESTABLE
    filters, top = table.where(j=2).total("filters"), max(row["j"] for row in table if row["share"])
    return Judgment(
        verdict,
        f"{above} of {len(shares)} testable bounds are exceeded; largest counter {top} in {filters:,} filters",
        f"Over {filters:,} filters of 100 keys in three shapes {len(shares)} of the bounds are below 1 and met often "
        f"enough to be tested; {above} are exceeded beyond chance. The measured shares are at most "
        f"{max(shares, default=0):.2f} of the middle of equation 3. Its right side lies above its middle, as stated, "
        f"and equation 4 is that at the best k (within {near:.1%}: k is a whole number). The text says “greater than "
        "j”; the formula is for “at least j”, which is how it is read here.",
    )


def _best(table: Table) -> Table:
    return table.where(m=1010, k=7)


def _best_seen(table: Table) -> Table:
    return _seen(_best(table))


CLAIMS["counter-bound"] = Experiment(
    rows=counter_bound,
    full=Sweep(tuple({**shape, "filters": 10_000} for shape in _SHAPES), runs=4),
    quick=Sweep(tuple({**shape, "filters": 400} for shape in _SHAPES), runs=2),
    check=check_counter_bound,
    figure=chart(
        "j (n = 100, m = 1010, k = 7)",
        "P(some counter ≥ j)",
        Lines("j", "share", "measured", of=_best_seen),
        Formula("j", "tight_bound", "equation 3, middle", of=_best),
        Formula("j", "bound", "equation 3, right", of=_best),
        Formula("j", "optimal_bound", "equation 4", of=_best),
        y_log=10,
    ),
)

STATED = 1.37e-15
#: What a counter of four bits reads when it is full: it is never seen at 16.
SATURATED = 15


def counter_overflow(parameters: Parameters, seed: int) -> Row:
    """Fill a filter to its capacity and look at its largest counter."""
    m, k = parameters["m"], parameters["k"]
    n = round(m * 0.6931471805599453 / k)
    made = CountingBloomFilter(bit_count=m, hash_count=k)
    made.add_many(endpoint_keys(n, seed=seed))
    return {
        "n": n,
        "largest": int(made.counters.max()),
        "equation_5": equations.counter_overflow_bound_optimal(j=16, m=m),
        "equation_3": equations.counter_overflow_bound_tight(j=16, n=n, m=m, k=k),
    }


def check_counter_overflow(table: Table) -> Judgment:
    """The constant must be the stated one, and no counter may reach 15, where the product's counters stop."""
    constants = [row["equation_5"] / row["m"] for row in table]
    constant, largest = constants[0], table.most("largest")
    stated = all(abs(one / STATED - 1) < 0.005 for one in constants)
    tighter = all(row["equation_3"] <= row["equation_5"] for row in table)
    return judge(
        stated and tighter and largest < SATURATED,
        f"{constant:.4e}·m; the largest counter seen is {largest}",
        f"(e·ln 2 / 16)^16 is {constant:.4e}, the stated 1.37·10⁻¹⁵. The largest counter of filters with up to "
        f"{table.most('m'):,} counters filled to capacity is {largest}; a full one reads {SATURATED}. “Four bytes” in "
        "the text are four bits: only then does a counter overflow at 16.",
    )


CLAIMS["counter-overflow"] = Experiment(
    rows=counter_overflow,
    full=grid(m=[100, 1000, 10_000, 100_000, 1_000_000], k=7, runs=10),
    quick=grid(m=[100, 1000, 10_000, 100_000], k=7, runs=1),
    check=check_counter_overflow,
    figure=chart(
        "m, counters",
        "bound on P(some counter ≥ 16)",
        Lines("m", "equation_5", "m·(e·ln 2 / 16)^16"),
        Lines("m", "equation_3", "equation 3, middle", first=1),
        Formula("m", lambda m: STATED * m, "stated: 1.37·10⁻¹⁵·m"),
        x_log=10,
        y_log=10,
    ),
)


# Section 1.2.3: a new row of m bits when the last is full, where a filter whose size was fixed beforehand drowns.
#
# Two kinds of row: of the seed's size (117 bits and 5 hash functions, 16 elements at 3 %), and for 2⁻¹¹, the rate of
# live announcements. The limit of a row is the number of elements for which its k is the best (equation 1), 16 in both.

_SIZES, _QUICK_SIZES = [1, 8, 16, 17, 32, 48, 96, 160, 320, 640], [1, 16, 17, 48, 160, 640]
_ROWS = ({"m": 117, "k": 5}, {"m": 254, "k": 11})
#: An error that is no longer small: one in ten.
LARGE = 0.1


def dynamic_rows(parameters: Parameters, seed: int) -> Row:
    """Put keys into one node of a tree and into filters of two fixed sizes; then take three quarters out again."""
    n, m, k = parameters["n"], parameters["m"], parameters["k"]
    limit, most = math.floor(m * math.log(2) / k), max(_SIZES)
    keys, others = endpoint_keys(n, seed=seed), absent_keys(parameters["asked"], seed=seed)
    node = BloomTree(namespace_size=1, node_size=1, bit_count=m, hash_count=k)  # one level: a single node
    fixed = BloomFilter(bit_count=m, hash_count=k)
    for made in (node, fixed):
        made.add_many(keys)
    received = BloomTree.from_bytes(node.to_bytes())
    row: dict[str, Any] = {
        "rows": len(node.matrix(0).rows),
        "stated_rows": math.ceil(n / limit),
        "bits": len(node.matrix(0).rows) * m,
        "bits_for_all": math.ceil(most / limit) * m,  # what is fixed beforehand for the largest number
        "dynamic_rate": float(received.contains_many(others).mean()),
        "fixed_rate": float(fixed.contains_many(others).mean()),
        "missed": int((~received.contains_many(keys)).sum()),
    }
    random.Random(seed).shuffle(keys)
    gone, left = keys[math.ceil(n / 4) :], keys[: math.ceil(n / 4)]
    for key in gone:
        node.remove(key)
    missed = int((~BloomTree.from_bytes(node.to_bytes()).contains_many(left)).sum())
    after = {"rows_after": len(node.matrix(0).rows), "stated_after": math.ceil(len(left) / limit)}
    return {**row, **after, "missed_after": missed}


def check_dynamic_rows(table: Table) -> Judgment:
    """s = ⌈n / limit⌉ up and down, nothing missed, below a fixed row beyond the limit; and is the error small?"""
    stated = all(row["rows"] == row["stated_rows"] and row["rows_after"] == row["stated_after"] for row in table)
    missed = table.total("missed") + table.total("missed_after")
    # At 17 elements the two differ by one element, which is within chance.
    beyond = [part for _, kind in table.by("m") for _, part in kind.by("n") if part.least("n") >= 32]
    better = all(part.mean("dynamic_rate") < part.mean("fixed_rate") for part in beyond)
    saves = all(row["bits"] < row["bits_for_all"] for row in table if row["n"] < table.most("n"))
    rates = {m: {n: part.mean("dynamic_rate") for n, part in kind.by("n")} for m, kind in table.by("m")}
    small = {m: max((n for n, rate in found.items() if rate < LARGE), default=0) for m, found in rates.items()}
    most = table.most("n")
    if not (stated and better and saves) or missed or min(small.values()) < 17:
        verdict = Verdict.CONTRADICTED
    else:
        verdict = Verdict.REPRODUCED if min(small.values()) == most else Verdict.REGIME
    fixed = table.where(m=117, n=most).mean("fixed_rate")
    return Judgment(
        verdict,
        f"at {most} elements {rates[117][most]:.0%} in rows for 3 % and {rates[254][most]:.1%} in rows for 0.05 %, "
        f"where one fixed row has {fixed:.0%}",
        "A row is added whenever the limit of 16 elements is passed, and goes when elements go: s = ⌈n / limit⌉ both "
        f"ways, and {missed} elements were missed. The rate is below that of one fixed row from 32 on. Each row "
        f"adds its own, so in rows made for 3 % it is below {LARGE:.0%} up to {small[117]} elements and "
        f"{rates[117][most]:.0%} at {most}; in rows made for 2⁻¹¹ it is {rates[254][most]:.1%} there.",
    )


CLAIMS["dynamic-rows"] = Experiment(
    rows=dynamic_rows,
    full=Sweep(tuple(one for row in _ROWS for one in grid(n=_SIZES, **row, asked=20_000).configurations), runs=10),
    quick=Sweep(tuple(one for row in _ROWS for one in grid(n=_QUICK_SIZES, **row, asked=5_000).configurations)),
    check=check_dynamic_rows,
    figure=(
        chart(
            "elements",
            "rows s",
            Lines("n", "rows", "s as elements come", of=where(m=117)),
            Lines("n", "rows_after", "s when three quarters have gone", first=1, of=where(m=117)),
        ),
        chart(
            "elements",
            "false-positive rate",
            Lines("n", "dynamic_rate", "s × 117, dynamic", of=where(m=117)),
            Lines("n", "fixed_rate", "one fixed row of 117", first=1, of=where(m=117)),
            Lines("n", "dynamic_rate", "s × 254, dynamic", first=2, of=where(m=254)),
        ),
    ),
)
