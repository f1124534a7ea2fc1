"""Seed 003, sections 1 and 2: zones and who wants what in them, tables of brokers and their upkeep."""

from __future__ import annotations

import math
import random

import numpy as np

from rookery import Schema
from rookery.brokers.ancestors import AncestorQueue
from rookery.brokers.configuration import BrokerConfiguration
from rookery.brokers.ownership import ZoneOwnership
from rookery.matching.baselines.predicates import Domains
from rookery.papers.experiments import Experiment, Parameters, grid
from rookery.papers.figures import Bars, Formula, Lines, chart, where
from rookery.papers.interpreted import PlainIndex, PlainMatrix, PlainScan
from rookery.papers.seed_003.broker_trees import BrokerTree
from rookery.papers.seed_003.static import StaticBrokers
from rookery.papers.seed_003.tables import face_neighbors
from rookery.papers.table import Row, Table
from rookery.papers.telemetry import box_rows
from rookery.papers.verdicts import Judgment, Verdict, judge
from rookery.simulated.brokers import SimulatedBrokers
from rookery.space.axes import Axis, EventSpace
from rookery.space.boxes import Boxes
from rookery.space.tree import KdTree
from rookery.space.zones import ROOT, Path, Point, box_of, inside, split

__all__ = ["CLAIMS"]

CLAIMS: dict[str, Experiment] = {}


def neighbor_tables(parameters: Parameters, seed: int) -> Row:
    """Count face neighbors on trees that grew by random joins."""
    generator = np.random.default_rng(seed)
    dimensions = parameters["dimensions"]
    paths = StaticBrokers.grown(parameters["brokers"], dimensions=dimensions, generator=generator).paths()
    sample = generator.choice(len(paths), size=(parameters["asked"],), replace=False)
    counts = [len(face_neighbors(paths[place], paths, dimensions)) for place in sample.tolist()]
    return {"neighbors": float(np.mean(counts)), "most": max(counts)}


def check_neighbor_tables(table: Table) -> Judgment:
    """The mean must not exceed a small multiple of 2d, and must not grow with N in low dimensions."""
    largest = table.where(brokers=table.most("brokers"))
    ratio = {d: part.mean("neighbors") / (2 * d) for d, part in largest.by("dimensions")}
    low = [part for d, part in table.by("dimensions") if d <= 3]
    grown = max(
        part.where(brokers=table.most("brokers")).mean("neighbors")
        / part.where(brokers=table.least("brokers")).mean("neighbors")
        for part in low
    )
    shown = ", ".join(f"{value:.2f} at d = {d}" for d, value in ratio.items())
    return judge(
        max(ratio.values()) < 2 and min(ratio.values()) > 0.5 and grown < 1.5,
        f"mean neighbors over 2d: {shown}",
        f"On trees that grew by random joins a broker has about 2d face neighbors: mean over 2d is {shown}, and with "
        f"{table.most('brokers') // table.least('brokers')} times the brokers at most {grown:.2f} times as many. In "
        "many dimensions most zones touch the edge of the space on some side, which leaves fewer.",
    )


CLAIMS["neighbor-tables"] = Experiment(
    rows=neighbor_tables,
    full=grid(dimensions=[1, 2, 3, 4, 5, 6], brokers=[256, 1024], asked=100, runs=10),
    quick=grid(dimensions=[1, 2, 3, 5], brokers=[64, 256], asked=30, runs=1),
    check=check_neighbor_tables,
    figure=chart(
        "d, dimensions",
        "face neighbors of a broker",
        Lines("dimensions", "neighbors", by="brokers", name="N = {}"),
        Formula("dimensions", lambda d: 2 * d, "2d"),
    ),
)

#: How often a broker looks for residents of all levels: until nothing is new, as live ones do all the time.
REFRESHES = 12


def queue_length(parameters: Parameters, seed: int) -> Row:
    """Fill queues of live brokers by their own look-ups, in a balanced network of 2^depth, and count what they hold."""
    dimensions, depth = parameters["dimensions"], parameters["depth"]
    bits, dice = parameters["span"].bit_length() - 1, random.Random(seed)
    levels, entries = 0, 0
    for _ in range(parameters["asked"]):
        path = _owner(tuple(dice.random() for _ in range(dimensions)), depth)
        queue = AncestorQueue(path, dimensions=dimensions, bits=bits, capacity=1)
        for _ in range(REFRESHES):
            for point in queue.probes(dice):
                queue.learn(ZoneOwnership(_owner(point, depth), 1, 1))
        levels += sum(bool(level) for level in queue.levels)
        entries += len(queue)
    return {
        "brokers": 2**depth,
        "levels": levels / parameters["asked"],
        "stated": depth / bits,
        "entries": entries / parameters["asked"],
    }


def _owner(point: Point, depth: int) -> Path:
    """Return the zone that holds a point in the balanced network."""
    path = ROOT
    for cut in range(depth):
        axis, box = cut % len(point), box_of(path, len(point))
        middle = (box.lower[axis] + box.upper[axis]) / 2
        path = split(path, axis, middle)[point[axis] >= middle]
    return path


def check_queue_length(table: Table) -> Judgment:
    """Levels are ⌊log_m N⌋; addresses are d for each level where m = 2^d."""
    levels = all(row["levels"] == int(row["stated"] + 1e-9) for row in table)
    whole = Table([row for row in table if row["span"] == 2 ** row["dimensions"]])
    storage = all(abs(row["entries"] - row["levels"] * row["dimensions"]) < 1e-9 for row in whole)
    million = table.where(span=8, depth=20)
    addresses = million.where(dimensions=3).mean("entries")
    return judge(
        levels and storage and million.mean("levels") == 6,
        f"m = 8, N = 2^20: {million.mean('levels'):.0f} levels, {addresses:.0f} addresses for d = 3",
        f"Queues that brokers fill by their own look-ups have ⌊log_m N⌋ levels, {million.mean('levels'):.0f} for m = 8 "
        f"and N = 2^20, as stated. With m = 2^d each level holds exactly d addresses, one across each dimension of the "
        f"domain ({addresses:.0f} there for d = 3), so storage is d·c for each level. That counts one resident of each "
        "zone inside the domain; copies of whole neighbor tables, as printed, would be larger, and live brokers keep "
        "up to four residents.",
    )


CLAIMS["queue-length"] = Experiment(
    rows=queue_length,
    full=grid(depth=[4, 6, 8, 10, 12, 16, 20], dimensions=[2, 3], span=[4, 8], asked=20, runs=3),
    quick=grid(depth=[6, 12, 20], dimensions=[2, 3], span=[4, 8], asked=4, runs=1),
    check=check_queue_length,
    figure=(
        chart(
            "N, brokers",
            "levels of the queue",
            Lines("brokers", "levels", "m = 4", of=where(span=4, dimensions=2)),
            Lines("brokers", "levels", "m = 8", first=1, of=where(span=8, dimensions=2)),
            Formula("brokers", lambda size: math.log(size, 4), "log_m N, m = 4"),
            x_log=2,
        ),
        chart(
            "N, brokers",
            "addresses in the queue",
            Lines("brokers", "entries", "m = 4", of=where(span=4, dimensions=2)),
            Lines("brokers", "entries", "m = 8", first=1, of=where(span=8, dimensions=2)),
            x_log=2,
        ),
    ),
)

SECOND = 1_000_000


def maintenance(parameters: Parameters, seed: int) -> Row:
    """Let brokers come or go, a second between two of them; then look at every queue, and publish."""
    space = EventSpace(Schema(x=float, y=float), [Axis("x", 0, 1), Axis("y", 0, 1)])
    network, dice = SimulatedBrokers(BrokerConfiguration(space=space), seed=seed), random.Random(f"maintenance {seed}")
    for _ in range(parameters["brokers"]):
        network.join()
        network.run(SECOND)
    network.run(120 * SECOND)
    for _ in range(round(parameters["changed"] * parameters["brokers"])):
        if parameters["change"] == "join":
            network.join()
        else:
            getattr(network, parameters["change"])(dice.choice(sorted(network.brokers)))
        network.run(SECOND if parameters["change"] != "crash" else 30 * SECOND)
    network.run(300 * SECOND)
    zones = [owned for broker in network.brokers.values() for owned in broker.owned.values()]
    entries = [(zone, held) for owned in zones for level in owned.levels[1:] for zone, held in level.items()]
    homes = {owned.ownership.owner: owned.path for owned in zones}
    right = sum(any(inside(homes.get(ownership.owner, ()), zone) for ownership in held) for zone, held in entries)
    for number, broker in enumerate(sorted(network.brokers)):
        network.subscribe(broker, f"s{number}", f"x < {(number + 1) / len(network.brokers)}")
    network.run(10 * SECOND)
    count, due = len(network.brokers), 0
    for _ in range(parameters["events"]):
        event = {"x": dice.random(), "y": dice.random()}
        due += sum(event["x"] < (number + 1) / count for number in range(count))
        network.publish(dice.choice(sorted(network.brokers)), event)
    network.run(30 * SECOND)
    return {"entries": len(entries), "right": right / len(entries), "due": due, "delivered": len(network.delivered)}


def check_maintenance(table: Table) -> Judgment:
    """Nearly every entry must name a resident, and every event must arrive."""
    right, due, made = table.mean("right"), table.total("due"), table.total("delivered")
    return judge(
        made == due and right > 0.95,
        f"{made:,} of {due:,} deliveries made; {right:.1%} of the queues' entries name a resident",
        f"Five minutes after up to {table.most('changed'):.0%} of the brokers have come, left or crashed, {right:.1%} "
        f"of all entries of the queues name a broker that lives in the zone, and {made:,} of {due:,} deliveries are "
        "made. Crashes are half a minute apart here, so that each is noticed before the next.",
    )


def _delivered(table: Table) -> Table:
    return Table([{**row, "share": row["delivered"] / row["due"]} for row in table])


CLAIMS["maintenance"] = Experiment(
    rows=maintenance,
    full=grid(change=["join", "leave", "crash"], brokers=64, changed=[0.1, 0.3, 0.5], events=200, runs=3),
    quick=grid(change=["join", "leave", "crash"], brokers=12, changed=[0.25, 0.5], events=40, runs=1),
    check=check_maintenance,
    figure=(
        chart(
            "share of the brokers that came or went",
            "entries of the queues with a resident of the zone",
            Lines("changed", "right", by="change"),
            y_range=(0, 1.05),
        ),
        chart(
            "share of the brokers that came or went",
            "deliveries that are made",
            Lines("changed", "share", by="change", of=_delivered),
            y_range=(0, 1.05),
        ),
    ),
)


# Section 1: each split makes two zones of equal load.
#
# The load of a zone is the count of its events. Two draws of the same law: by the first brokers join and cut, the
# second is counted. A split is judged where both halves together have at least 400 events of the second draw, since
# chance alone parts fewer unevenly.

JOINS = ["anywhere, cut in the middle", "anywhere, cut at the median", "at an event", "at the fuller of two"]
FEWEST = 400
#: What counts as the same load: halves of 45 and 55 %; and zones of at most twice the mean.
SAME, ALIKE = 0.55, 2.0


def load_split(parameters: Parameters, seed: int) -> Row:
    """Let brokers join a space with skewed events; count fresh events in the halves of each split."""
    generator = np.random.default_rng(seed)
    count, join, size = parameters["brokers"], parameters["join"], parameters["events"]
    heavy = generator.pareto(1.5, (2, size))
    events = np.stack([heavy / (1 + heavy), generator.beta(2, 8, (2, size))], axis=2)
    brokers = StaticBrokers.grown(
        count,
        dimensions=2,
        generator=generator,
        events=None if join == JOINS[0] else events[0],
        joins=generator.random((2 * count, 2)) if join in JOINS[:2] else None,
        choices=2 if join == JOINS[3] else 1,
    )
    loads = np.bincount(brokers.owners(events[1]), minlength=count)
    before = np.concatenate([[0], np.cumsum(loads)])
    held = before[brokers.first + brokers.count] - before[brokers.first]  # by node: brokers are numbered left to right
    split = np.flatnonzero((brokers.low >= 0) & (held >= FEWEST))
    larger = np.maximum(held[brokers.low[split]], held[brokers.high[split]]) / held[split]
    return {
        "splits": len(split),
        "larger_half": float(larger.mean()),
        "same": float((larger <= SAME).mean()),
        "unevenness": float(loads.max() / loads.mean()),
    }


def check_load_split(table: Table) -> Judgment:
    """The halves of a split must be alike; if all zones are, it holds without a condition."""
    larger = {name: part.mean("larger_half") for name, part in table.by("join")}
    uneven = {name: part.mean("unevenness") for name, part in table.by("join")}
    halves = all(larger[name] <= SAME for name in JOINS[1:])
    always = larger[JOINS[0]] <= SAME and max(uneven.values()) <= ALIKE
    verdict = Verdict.CONTRADICTED if not halves else Verdict.REPRODUCED if always else Verdict.REGIME
    return Judgment(
        verdict,
        "larger half of a split: " + ", ".join(f"{value:.0%} {name}" for name, value in larger.items()),
        f"A cut at the median of a sample of the zone's events leaves {larger[JOINS[3]]:.0%} of fresh events in the "
        f"larger half on average over {table.where(join=JOINS[3]).total('splits'):,} splits "
        f"({table.where(join=JOINS[3]).mean('same'):.0%} of them at most {SAME:.0%}), as stated. A cut in the middle, "
        f"which is all that a broker can do before it has seen events, leaves {larger[JOINS[0]]:.0%}. And equal halves "
        f"do not make all zones alike: with newcomers landing anywhere the busiest broker has {uneven[JOINS[1]]:.0f} "
        f"times the mean ({uneven[JOINS[0]]:.0f} with cuts in the middle). It needs newcomers that come where the "
        f"events are: {uneven[JOINS[2]]:.1f}, and {uneven[JOINS[3]]:.1f} if they take the fuller of two zones.",
    )


def _halves(table: Table) -> dict[str, float]:
    return {name: part.mean("larger_half") for name, part in table.by("join")}


def _unevenness(table: Table) -> dict[str, float]:
    return {name: part.mean("unevenness") for name, part in table.by("join")}


CLAIMS["load-split"] = Experiment(
    rows=load_split,
    full=grid(join=JOINS, brokers=1024, events=100_000, runs=10),
    quick=grid(join=JOINS, brokers=256, events=20_000, runs=3),
    check=check_load_split,
    figure=(
        chart("events in the larger half of a split", "", Bars(_halves, "{:.0%}")),
        chart("events of the busiest / mean", "", Bars(_unevenness, "{:.1f}")),
    ),
)


def target_zones(parameters: Parameters, seed: int) -> Row:
    """Turn boxes into target zones; look for events inside a box whose zone is none of them."""
    generator = np.random.default_rng([seed, parameters["zones"]])
    events = generator.beta(2, 5, (parameters["events"], 2))
    low = generator.random((parameters["subscriptions"], 2)) * (1 - parameters["side"])
    boxes = Boxes(low, low + parameters["side"])
    tree = KdTree.fit(events, axes=[Axis("x"), Axis("y")], zones=parameters["zones"])
    rule, zone = tree.zones_met(boxes)
    targets = np.zeros((len(low), tree.zone_count), dtype=bool)
    targets[rule, zone] = True
    home = tree.zones_of(events)
    wanted = lost = 0
    for number in range(len(low)):
        inside = ((events >= boxes.lower[number]) & (events <= boxes.upper[number])).all(axis=1)
        wanted += int(inside.sum())
        lost += int((~targets[number, home[inside]]).sum())
    return {"wanted": wanted, "lost": lost, "targets": len(rule) / len(low), "share": len(rule) / targets.size}


def check_target_zones(table: Table) -> Judgment:
    """A subscription must go to several zones, and no event inside it may lie in another one."""
    wanted, lost = table.total("wanted"), table.total("lost")
    most = table.where(zones=table.most("zones"))
    small, whole = (most.where(side=side) for side in (table.least("side"), table.most("side")))
    several = min(part.most("targets") for _, part in table.by("zones")) > 1  # else it would coincide with a zone
    return judge(
        wanted and not lost and several,
        f"{lost} of {wanted:,} wanted events lie outside the target zones",
        f"Every one of {wanted:,} wanted events lies in a zone that its subscription was sent to, so the broker of the "
        f"zone can match it. What it costs are copies: {small.mean('targets'):.1f} of {table.most('zones'):,} zones "
        f"for a box of {table.least('side'):.0%} of each side, and {whole.mean('targets'):,.0f} for one that wants "
        "everything.",
    )


CLAIMS["target-zones"] = Experiment(
    rows=target_zones,
    full=grid(side=[0.01, 0.03, 0.1, 0.3, 1.0], zones=[16, 256, 1024], subscriptions=1000, events=20_000, runs=5),
    quick=grid(side=[0.01, 0.1, 1.0], zones=[16, 256], subscriptions=200, events=2_000, runs=1),
    check=check_target_zones,
    figure=chart(
        "side of a subscription, as a share of each attribute",
        "zones that a subscription goes to",
        Lines("side", "targets", by="zones", name="{:,} zones"),
        x_log=10,
        y_log=10,
    ),
)

#: Nobody knows who wants what; one broker wants an event; a tenth; all.
WANTED = ["nothing is known", "by one", "by a tenth", "by all"]


def flooding(parameters: Parameters, seed: int) -> Row:
    """Send events over a random tree of brokers and count messages."""
    count, wanted, events = parameters["brokers"], parameters["wanted"], parameters["events"]
    tree = BrokerTree(count, random.Random(seed))
    share = {WANTED[1]: 1 / count, WANTED[2]: 0.1, WANTED[3]: 1.0}
    messages, reached = tree.flood(events) if wanted == WANTED[0] else tree.route(events, share[wanted])
    return {"messages": messages / events, "reached": reached}


def check_flooding(table: Table) -> Judgment:
    """Messages must grow as N wherever the subscribers are; every one must be reached."""
    least, most = table.least("brokers"), table.most("brokers")
    sent = {
        kind: [part.where(brokers=size).mean("messages") for size in (least, most)] for kind, part in table.by("wanted")
    }
    power = {kind: math.log(high / low) / math.log(most / least) for kind, (low, high) in sent.items()}
    linear = [kind for kind, value in power.items() if value > 0.85]
    if table.least("reached") < 1 or not {WANTED[0], WANTED[2], WANTED[3]} <= set(linear):
        verdict = Verdict.CONTRADICTED
    else:
        verdict = Verdict.REPRODUCED if WANTED[1] in linear else Verdict.REGIME
    shown = ", ".join(f"{high:,.0f} wanted {kind}" for kind, (_, high) in sent.items() if kind != WANTED[0])
    return Judgment(
        verdict,
        f"N = {most:,}: {shown} messages for an event; {sent[WANTED[0]][1]:,.0f} where {WANTED[0]}",
        f"With matching at each hop an event at N = {most:,} takes {shown}; the exponents of N are "
        + ", ".join(f"{value:.2f} ({kind})" for kind, value in power.items())
        + ". So it is O(N) if a share of all brokers want an event, which no router can avoid, since each of them has "
        "to be told. Wanted by one, it is the depth of the tree, about ln N here. Without tables it is N − 1, which "
        "holds by construction.",
    )


CLAIMS["flooding"] = Experiment(
    rows=flooding,
    full=grid(brokers=[16, 64, 256, 1024], wanted=WANTED, events=20, runs=10),
    quick=grid(brokers=[16, 256], wanted=WANTED, events=10, runs=2),
    check=check_flooding,
    figure=chart(
        "N, brokers",
        "messages for an event",
        Lines("brokers", "messages", by="wanted"),
        Formula("brokers", lambda size: size - 1, "N − 1"),
        x_log=2,
        y_log=2,
    ),
)


def matching_dimensions(parameters: Parameters, seed: int) -> list[Row]:
    """Match boxes of d sides; count the predicates that are evaluated."""
    d, count = parameters["dimensions"], parameters["subscriptions"]
    generator = np.random.default_rng([seed, d])
    low = generator.integers(0, 700, size=(count, d))
    rows = box_rows(np.arange(count), low, low + 300)
    codes = generator.integers(0, 1000, size=(parameters["events"], d))
    found: list[Row] = []
    for name, build in (("scan", PlainScan), ("index", PlainIndex), ("matrix", PlainMatrix)):
        one = build(rows, Domains.uniform(d, 0, 1000))
        one.probe(codes, np.ones(count, np.uint8))
        found.append({"algorithm": name, "tests": one.tests / parameters["events"] / count})
    return found


def check_matching_dimensions(table: Table) -> Judgment:
    """Evaluations must grow faster than d to be factorial."""
    most = table.most("dimensions")
    grown = {
        name: part.where(dimensions=most).mean("tests") / part.where(dimensions=1).mean("tests")
        for name, part in table.by("algorithm")
    }
    shown = ", ".join(f"{value:.1f} ({name})" for name, value in grown.items())
    return Judgment(
        Verdict.CONTRADICTED if max(grown.values()) <= most + 0.5 else Verdict.REPRODUCED,
        f"d = {most}: {shown} times the work of d = 1; d! is {math.factorial(most):,}",
        f"Eight attributes instead of one make matching cost {shown} times as much, at most d times, because each "
        "attribute is tested at most once for a subscription. Nothing in content matching enumerates the orders of the "
        "attributes, which is what d! would count. So Spanhop's advantage does not rest on it.",
    )


CLAIMS["matching-dimensions"] = Experiment(
    rows=matching_dimensions,
    full=grid(dimensions=[1, 2, 3, 4, 5, 6, 7, 8], subscriptions=200, events=200, runs=5),
    quick=grid(dimensions=[1, 2, 4, 8], subscriptions=100, events=40, runs=1),
    check=check_matching_dimensions,
    figure=chart(
        "d, attributes of a subscription",
        "predicates evaluated, for each subscription",
        Lines("dimensions", "tests", by="algorithm"),
        Formula("dimensions", math.factorial, "d!"),
        y_log=10,
    ),
)
