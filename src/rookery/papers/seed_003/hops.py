"""Seed 003, sections 2.2 to 2.4: routes of Spanhop and of greedy routing, as stated and as printed."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np

from rookery.brokers.ownership import ZoneOwnership
from rookery.brokers.spanhop import greedy_hop, next_hop
from rookery.papers.drawing import COLORS, legend
from rookery.papers.experiments import Experiment, Parameters, grid
from rookery.papers.figures import Bars, Formula, Lines, chart, most, where
from rookery.papers.seed_003.printed import printed_hops
from rookery.papers.seed_003.static import StaticBrokers
from rookery.papers.seed_003.tables import exact_tables
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict, judge
from rookery.space.zones import box_of, contains

__all__ = ["CLAIMS"]

CLAIMS: dict[str, Experiment] = {}
STATED = {0: "B1 B9 B13 B16", 9: "B1 B5 B13 B16"}
#: The seed numbers the four brokers of a domain going round.
ROUND = (0, 1, 3, 2)


def worked_route(parameters: Parameters, seed: int) -> Row:
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
    return {
        "route": " ".join(f"B{number}" for number in taken),
        "xs": " ".join(str((box.lower[0] + box.upper[0]) / 2) for box in places),
        "ys": " ".join(str((box.lower[1] + box.upper[1]) / 2) for box in places),
    }


def check_worked_route(table: Table) -> Judgment:
    """Both routes must be the stated ones."""
    routes = {row["failed"]: row["route"] for row in table}
    return judge(
        routes == STATED,
        f"{routes[0].replace(' ', ' → ')}; without B9 {routes[9].replace(' ', ' → ')}",
        "In the layout of the seed's figures, four domains of four brokers, the route from B1 to B16 and the one "
        "around the failed B9 are the stated ones.",
    )


def _map(axes: Any, table: Table) -> None:
    """Draw the routes from zone to zone."""
    for number, row in enumerate(table):
        xs, ys = ([float(value) for value in row[name].split()] for name in ("xs", "ys"))
        label = f"{row['route']}" + (f" (B{row['failed']} failed)" if row["failed"] else "")
        axes.plot(xs, ys, marker="os"[number], color=COLORS[number], label=label)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1])
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1])
    legend(axes, loc="upper left")


CLAIMS["worked-route"] = Experiment(
    rows=worked_route,
    full=grid(failed=[0, 9], runs=1),
    quick=grid(failed=[0, 9], runs=1),
    check=check_worked_route,
    figure=chart("first attribute", "second attribute", _map),
)

DEPTHS = [4, 8, 10, 12, 16, 20]


def spanhop_hops(parameters: Parameters, seed: int) -> list[Row]:
    """Route random events from random brokers over a balanced partition of 2^depth zones."""
    dimensions, depth = parameters["dimensions"], parameters["depth"]
    brokers = StaticBrokers.balanced(dimensions, depth)
    rows: list[Row] = []
    for algorithm, span, count in (
        ("Spanhop", 2 ** min(dimensions, depth), parameters["routes"]),
        ("greedy", 1, parameters["greedy_routes"]),
    ):
        generator = np.random.default_rng([seed, depth, dimensions])
        sources = generator.integers(len(brokers), size=(count,)).astype(np.int32)
        found = brokers.route(sources, generator.random((count, dimensions)), span=span, seed=seed)
        rows.append(
            {
                "algorithm": algorithm,
                "brokers": len(brokers),
                "hops": found.mean,
                "most": int(found.hops.max()),
                "loops": found.loops,
            }
        )
    return rows


def check_spanhop_hops(table: Table) -> Judgment:
    """Hops over ln N must be one constant."""
    mine = table.where(algorithm="Spanhop", dimensions=2)
    constants = [part.mean("hops") / math.log(size) for size, part in mine.by("brokers")]
    most = mine.most("brokers")
    last = mine.where(brokers=most).mean("hops")
    greedy = table.where(algorithm="greedy", dimensions=2, brokers=most).mean("hops")
    spread = max(constants) / min(constants) - 1
    holds = spread < 0.05 and not table.total("loops")
    return judge(
        holds,
        f"{last:.2f} hops at N = {most:,} (greedy {greedy:.0f}); hops / ln N = {sum(constants) / len(constants):.3f}",
        f"Spanhop takes ½·log2 N = 0.72·ln N hops: hops over ln N stay within {spread:.1%} of each other from "
        f"{mine.least('brokers'):,} to {most:,} brokers, where it is {last:.2f} hops and greedy routing "
        f"{greedy:.0f}. That is with Algorithm 1 repaired, m = 2^d, and residents chosen at random inside a domain.",
    )


CLAIMS["spanhop-hops"] = Experiment(
    rows=spanhop_hops,
    full=grid(dimensions=[2, 3, 5, 7, 10], depth=DEPTHS, routes=20_000, greedy_routes=300, runs=3),
    quick=grid(dimensions=[2, 3, 5, 7, 10], depth=[6, 10, 14], routes=3_000, greedy_routes=150, runs=1),
    check=check_spanhop_hops,
    figure=chart(
        "N, brokers",
        "mean hops (d = 2)",
        Lines("brokers", "hops", by="algorithm", of=where(dimensions=2)),
        Formula("brokers", lambda size: 0.5 * math.log2(size), "½·log2 N = 0.72·ln N", of=where(dimensions=2)),
        x_log=2,
        y_log=10,
    ),
)


def check_dimension_independent(table: Table) -> Judgment:
    """At each size the means must be one."""
    mine = table.where(algorithm="Spanhop")
    spread = {}
    for size, part in mine.by("brokers"):
        means = [one.mean("hops") for _, one in part.by("dimensions")]
        spread[size] = max(means) / min(means) - 1
    most = max(spread)
    shown = ", ".join(f"{one.mean('hops'):.2f} for d = {d}" for d, one in mine.where(brokers=most).by("dimensions"))
    return judge(
        max(spread.values()) < 0.05,
        f"N = {most:,}: {shown}",
        f"At N = {most:,} the mean is {shown}; over all sizes the largest difference between dimensions is "
        f"{max(spread.values()):.1%}. Each cut of the tree costs half a hop on average, and how many cuts there are "
        "depends on N alone.",
    )


CLAIMS["dimension-independent"] = replace(
    CLAIMS["spanhop-hops"],
    check=check_dimension_independent,
    figure=chart(
        "N, brokers",
        "mean hops, Spanhop",
        Lines("brokers", "hops", by="dimensions", name="d = {}", of=where(algorithm="Spanhop")),
        x_log=2,
    ),
)


def _gains(table: Table) -> Table:
    rows = []
    for dimensions, part in table.by("dimensions"):
        for size, one in part.by("brokers"):
            gain = one.where(algorithm="greedy").mean("hops") / one.where(algorithm="Spanhop").mean("hops")
            rows.append({"dimensions": dimensions, "brokers": size, "gain": gain})
    return Table(rows)


def check_gain_grows(table: Table) -> Judgment:
    """For d = 2 and 3 the gain must rise with every size."""
    gains = _gains(table)
    small = {d: gains.where(dimensions=d).list("gain") for d in (2, 3)}
    rising = all(values == sorted(values) and values[-1] > 1.5 * values[0] for values in small.values())
    most = gains.most("brokers")
    shown = ", ".join(f"{row['gain']:.1f} for d = {row['dimensions']}" for row in gains.where(brokers=most))
    return judge(
        rising,
        f"N = {most:,}: greedy needs {shown} times the hops",
        f"For d = 2 and 3 the advantage grows with every size. At N = {most:,} greedy routing takes {shown} times the "
        "hops of Spanhop.",
    )


CLAIMS["gain-grows"] = replace(
    CLAIMS["spanhop-hops"],
    check=check_gain_grows,
    figure=chart(
        "N, brokers",
        "hops of greedy / hops of Spanhop",
        Lines("brokers", "gain", by="dimensions", name="d = {}", of=_gains),
        x_log=2,
        y_log=10,
    ),
)

#: What counts as the same: within a tenth.
SAME = 1.1


def check_many_dimensions(table: Table) -> Judgment:
    """For ten dimensions the ratio must be one at every size."""
    high = _gains(table).where(dimensions=10)
    same = [row["brokers"] for row in high if row["gain"] <= SAME]
    last = high.rows[-1]
    verdict = Verdict.REPRODUCED if len(same) == len(high) else Verdict.REGIME if same else Verdict.CONTRADICTED
    reach = f"up to N = {max(same):,}" if same else "at no size"
    return Judgment(
        verdict,
        f"d = 10: the same {reach}; {last['gain']:.2f} times at N = {last['brokers']:,}",
        f"With ten dimensions greedy routing takes the same hops as Spanhop {reach}: while there are "
        "no more than two zones along each dimension, every greedy step settles one cut, as a Spanhop step does. "
        f"Beyond 2^d brokers it falls behind, by a factor of {last['gain']:.2f} at N = {last['brokers']:,}.",
    )


def _high(table: Table) -> Table:
    return Table([row for row in _gains(table) if row["dimensions"] >= 7])


CLAIMS["many-dimensions"] = replace(
    CLAIMS["spanhop-hops"],
    check=check_many_dimensions,
    figure=chart(
        "N, brokers",
        "hops of greedy / hops of Spanhop",
        Lines("brokers", "gain", by="dimensions", name="d = {}", of=_high),
        Formula("brokers", 1.0, "the same", of=_high),
        x_log=2,
        y_range=(0, None),
    ),
)


def check_more_dimensions(table: Table) -> Judgment:
    """In the largest network greedy hops must fall with every d, and Spanhop's stay."""
    last = table.where(brokers=table.most("brokers"))
    hops = {
        name: [one.mean("hops") for _, one in part.by("dimensions")]
        for name, part in ((algorithm, last.where(algorithm=algorithm)) for algorithm in ("greedy", "Spanhop"))
    }
    falls = all(one > other for one, other in itertools.pairwise(hops["greedy"]))
    stays = max(hops["Spanhop"]) / min(hops["Spanhop"]) < 1.05
    shown = ", ".join(
        f"{value:,.0f} at d = {d}" for d, value in zip(last.values("dimensions"), hops["greedy"], strict=True)
    )
    return judge(
        falls and stays,
        f"N = {table.most('brokers'):,}: greedy hops {shown}",
        f"With N = {table.most('brokers'):,} brokers greedy routing takes {shown} hops; Spanhop takes "
        f"{min(hops['Spanhop']):.1f} to {max(hops['Spanhop']):.1f} whatever d is. What more attributes cost in "
        "matching is another matter (see matching-dimensions).",
    )


CLAIMS["more-dimensions"] = replace(
    CLAIMS["spanhop-hops"],
    check=check_more_dimensions,
    figure=chart(
        lambda table: f"d, dimensions (N = {table.most('brokers'):,})",
        "mean hops",
        Lines("dimensions", "hops", by="algorithm", of=most("brokers")),
        y_log=10,
    ),
)


def _stated(brokers: int, dimensions: int) -> float:
    return float(dimensions / 4 * brokers ** (1 / dimensions))


def _without_wrapping(depth: int, dimensions: int) -> float:
    """Mean distance on a grid without wrap-around: a side of n zones costs (n - 1/n)/3."""
    sides = [2 ** ((depth + dimensions - 1 - axis) // dimensions) for axis in range(dimensions)]
    return float(sum((side - 1 / side) / 3 for side in sides))


def check_greedy_hops(table: Table) -> Judgment:
    """Compare with the stated formula and with the one for a grid that does not wrap around."""
    greedy = table.where(algorithm="greedy")
    large = Table([row for row in greedy if row["depth"] >= 10 and row["dimensions"] in (2, 3)])
    stated, exact = [], []
    for dimensions, part in large.by("dimensions"):
        for depth, one in part.by("depth"):
            stated.append(one.mean("hops") / _stated(2**depth, dimensions))
            exact.append(one.mean("hops") / _without_wrapping(depth, dimensions))
    ratio, fit = sum(stated) / len(stated), sum(exact) / len(exact)
    if all(abs(one - 1) < 0.15 for one in stated):
        verdict = Verdict.REPRODUCED
    else:
        verdict = Verdict.SHAPE if all(abs(one - 1) < 0.15 for one in exact) else Verdict.CONTRADICTED
    return Judgment(
        verdict,
        f"{ratio:.2f} times (d/4)·N^(1/d); {fit:.2f} times (d/3)(n − 1/n)",
        f"Hops grow as N^(1/d), as stated (d = 2 and 3), but they are {ratio:.2f} times the stated number. "
        "(d/4)·N^(1/d) is the mean distance on a torus; an information space has edges and does not wrap around, and "
        "there it is (d/3)(n − 1/n) "
        f"with n = N^(1/d), which the measurement meets ({fit:.2f}).",
    )


def _low(table: Table) -> Table:
    return Table([row for row in table.where(algorithm="greedy") if row["dimensions"] in (2, 3)])


CLAIMS["greedy-hops"] = replace(
    CLAIMS["spanhop-hops"],
    check=check_greedy_hops,
    figure=chart(
        "N, brokers",
        "mean hops, greedy",
        Lines("brokers", "hops", by="dimensions", name="d = {}", of=_low),
        Formula("brokers", lambda size: _stated(size, 2), "stated, d = 2: (d/4)·N^(1/d)", of=_low),
        Formula(
            "brokers", lambda size: _without_wrapping(size.bit_length() - 1, 2), "(d/3)(n − 1/n), n = N^(1/d)", of=_low
        ),
        x_log=2,
        y_log=10,
    ),
)

SPANS = [2, 4, 8, 16, 32, 64, 128]


def optimal_span(parameters: Parameters, seed: int) -> Row:
    """Route with one span."""
    dimensions, depth, count = parameters["dimensions"], parameters["depth"], parameters["routes"]
    brokers = StaticBrokers.balanced(dimensions, depth)
    generator = np.random.default_rng([seed, dimensions])
    sources = generator.integers(len(brokers), size=(count,)).astype(np.int32)
    found = brokers.route(sources, generator.random((count, dimensions)), span=parameters["span"], seed=seed)
    stated = (
        dimensions / 4 * parameters["span"] ** (1 / dimensions) * depth * math.log(2) / math.log(parameters["span"])
    )
    return {"hops": found.mean, "stated": stated, "levels": depth // (parameters["span"].bit_length() - 1)}


def check_optimal_span(table: Table) -> Judgment:
    """The best measured m must be the power of two next to e^d."""
    found, holds, clear = [], True, True
    for dimensions, part in table.by("dimensions"):
        hops = {span: one.mean("hops") for span, one in part.by("span")}
        least = min(hops.values())
        best = [span for span, value in hops.items() if value < 1.02 * least]
        ideal = math.e**dimensions
        near = 2 ** round(math.log2(ideal))
        holds &= near in best
        clear &= max(best) == 2**dimensions
        found.append(
            f"d = {dimensions}: least for m up to {max(best)} ({least:.2f} hops), {hops[near]:.2f} at m = {near} next "
            f"to e^d = {ideal:.1f}"
        )
    return judge(
        holds,
        found[0],
        "; ".join(found) + ". The formula treats a domain as a torus with a side of m^(1/d) zones, which is no whole "
        "number; on real domains all m up to 2^d cost the same half hop for each cut and larger ones cost more. "
        + ("m = 2^d is best: the same hops with the fewest levels to keep." if clear else ""),
    )


CLAIMS["optimal-span"] = Experiment(
    rows=optimal_span,
    full=grid(dimensions=[2, 3, 4], span=SPANS, depth=12, routes=40_000, runs=5),
    quick=grid(dimensions=[2, 3], span=SPANS, depth=12, routes=3_000, runs=1),
    check=check_optimal_span,
    figure=chart(
        "m, brokers of a routing domain (N = 4,096)",
        "mean hops",
        Lines("span", "hops", by="dimensions", name="d = {}, measured"),
        Formula("span", "stated", "g(m), d = {}", by="dimensions"),
        x_log=2,
    ),
)


def algorithm_printed(parameters: Parameters, seed: int) -> Row:
    """Ask every broker of sixteen what it would do; then count the loops of a large network."""
    generator = np.random.default_rng(seed)
    paths = StaticBrokers.balanced(2, 4).paths()
    tables = exact_tables(paths, dimensions=2, bits=2, resident=lambda b, zone, within: within[0], in_domain=False)
    wrong = copies = 0
    for point in map(tuple, generator.random((parameters["points"], 2)).tolist()):
        for table in tables:
            received, sent = printed_hops(table, point)
            wrong += received and not contains(box_of(table.path, 2), point)
            copies += len(sent)
    brokers = StaticBrokers.grown(parameters["brokers"], dimensions=2, generator=generator, choices=1)
    sources = generator.integers(len(brokers), size=(parameters["routes"],)).astype(np.int32)
    points = generator.random((parameters["routes"], 2))
    loops = {
        domain: brokers.route(sources, points, span=parameters["span"], limit=500, in_domain=domain).loops
        for domain in (False, True)
    }
    asked = parameters["points"] * len(paths)
    return {
        "wrong_receivers": wrong / parameters["points"],
        "copies": copies / asked,
        "loops_printed": loops[False] / parameters["routes"],
        "loops_repaired": loops[True] / parameters["routes"],
    }


def check_algorithm_printed(table: Table) -> Judgment:
    """As printed it should deliver to one broker, send one copy, and end."""
    wrong, copies, loops = table.mean("wrong_receivers"), table.mean("copies"), table.mean("loops_printed")
    holds = wrong == 0 and copies <= 1 and loops == 0
    return judge(
        holds,
        f"{wrong:.1f} of 16 brokers receive an event wrongly, {copies:.1f} copies each; {1e6 * loops:,.0f} loops in a "
        "million",
        f"Lines 1 to 7 accept an event if any one coordinate is inside the zone, so {wrong:.1f} of 15 others receive "
        f"it too; the breaks leave the inner loop alone, so {copies:.1f} copies go out of each broker; and hops that "
        f"may leave the domain make {1e6 * loops:,.0f} of a million routes go round for ever on a partition grown by "
        f"joins. Repaired (all dimensions, one copy, inside the domain): {1e6 * table.mean('loops_repaired'):,.0f}.",
    )


def _loops(table: Table) -> dict[str, float]:
    return {
        f"{name}, m = {span}": 1e6 * part.mean(column)
        for span, part in table.by("span")
        for name, column in (("as printed", "loops_printed"), ("repaired", "loops_repaired"))
    }


CLAIMS["algorithm-printed"] = Experiment(
    rows=algorithm_printed,
    full=grid(dimensions=2, span=[4, 8], brokers=1024, routes=300_000, points=100, runs=5),
    quick=grid(dimensions=2, span=[4, 8], brokers=1024, routes=60_000, points=20, runs=1),
    check=check_algorithm_printed,
    figure=(
        chart(
            "of 16 brokers, for an event",
            "",
            Bars({"receive it wrongly": "wrong_receivers", "copies each sends": "copies"}),
        ),
        chart("routes of a million that never end", "", Bars(_loops, "{:,.0f}")),
    ),
)


def failure_cases(parameters: Parameters, seed: int) -> list[Row]:
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


def check_failure_cases(table: Table) -> Judgment:
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


CLAIMS["failure-cases"] = Experiment(
    rows=failure_cases,
    full=grid(failed=[0.0, 0.05, 0.1, 0.2, 0.3], brokers=512, routes=500, runs=10),
    quick=grid(failed=[0.0, 0.1, 0.3], brokers=256, routes=200, runs=1),
    check=check_failure_cases,
    figure=(
        chart(
            "share of the brokers that failed",
            "routes that arrive",
            Lines("failed", "arrived", by="algorithm"),
            y_range=(0, 1.05),
        ),
        chart("share of the brokers that failed", "hops", Lines("failed", "hops", by="algorithm")),
    ),
)
