"""Seed 002, section III: semantic identities, and the tables, clusters and routes that they make."""

from __future__ import annotations

import random
from bisect import bisect_left
from collections import defaultdict

import numpy as np

from rookery.overlay.configuration import SECOND
from rookery.overlay.identity import SemanticSpace, hamming
from rookery.overlay.links import LinkTable
from rookery.overlay.paper import PaperTable
from rookery.overlay.state import Phase
from rookery.papers.experiments import Experiment, Parameters, grid
from rookery.papers.figures import Bars, Formula, Lines, chart, most, where
from rookery.papers.seed_002.overlays import configured, joined, measure, static
from rookery.papers.seed_002.workload import StockMarket
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict, judge
from rookery.simulated.overlay import SimulatedOverlay

__all__ = ["CLAIMS"]

CLAIMS: dict[str, Experiment] = {}


def identity_subsumption(parameters: Parameters, seed: int) -> Row:
    """Compare all pairs: who covers whom by cells, and whose ones contain whose."""
    market, dice = StockMarket(stocks=4, buckets=16), random.Random(seed)
    space = SemanticSpace(
        cell_count=market.cell_count, bit_count=parameters["bits"], hash_count=parameters["hash_count"]
    )
    peers = [
        space.describe(node=node, random_id=node, cells=market.draw_interests(dice).cells)
        for node in range(parameters["peers"])
    ]
    covered = holds = contained = wrong = 0
    for one in peers:
        for other in peers:
            if one.node == other.node:
                continue
            covers, subsumes = other.cells <= one.cells, not other.bits & ~one.bits
            covered += covers
            holds += covers and subsumes
            contained += subsumes
            wrong += subsumes and not covers
    return {"covered": covered, "subsumed": holds, "contained": contained, "contained_not_covered": wrong}


def check_identity_subsumption(table: Table) -> Judgment:
    """Every covered pair must be contained."""
    covered, holds = table.total("covered"), table.total("subsumed")
    return judge(
        holds == covered > 0,
        f"holds for {holds:,} of {covered:,} covered pairs",
        f"All {holds:,} pairs in which one node covers the other have the ones contained. The converse is not true: "
        f"{table.total('contained_not_covered'):,} of {table.total('contained'):,} pairs with contained ones are not "
        "covered, nearly all of them with identities of 64 bits, so identities can rule covering out and not in.",
    )


def _contained(table: Table) -> dict[str, float]:
    return {
        "covered, so ones contained": table.total("subsumed") / table.total("covered"),
        "ones contained, yet not covered": table.total("contained_not_covered") / table.total("contained"),
    }


CLAIMS["identity-subsumption"] = Experiment(
    rows=identity_subsumption,
    full=grid(peers=400, hash_count=[2, 4], bits=[64, 1024], runs=10),
    quick=grid(peers=120, hash_count=[2, 4], bits=[64, 1024], runs=1),
    check=check_identity_subsumption,
    figure=chart("share of the pairs", "", Bars(_contained, "{:.2%}")),
)


def identity_distance(parameters: Parameters, seed: int) -> Row:
    """Compare all pairs: cells that one wants and the other does not, and bits that differ."""
    market, dice = StockMarket(), random.Random(seed)
    space = SemanticSpace(
        cell_count=market.cell_count, bit_count=parameters["bits"], hash_count=parameters["hash_count"]
    )
    peers = [
        space.describe(node=node, random_id=node, cells=market.draw_interests(dice).cells)
        for node in range(parameters["peers"])
    ]
    pairs = [(one, other) for place, one in enumerate(peers) for other in peers[:place]]
    cells = np.array([len(one.cells ^ other.cells) for one, other in pairs], dtype=float)
    bits = np.array([hamming(one.bits, other.bits) for one, other in pairs], dtype=float)
    shared = np.array([len(one.cells & other.cells) > 1 for one, other in pairs])  # more than the one all have
    order = np.argsort(np.argsort(bits, kind="stable"), kind="stable")
    near = (order[shared].sum() - shared.sum() * (shared.sum() - 1) / 2) / (shared.sum() * (~shared).sum())
    return {
        "correlation": round(float(np.corrcoef(cells, bits)[0, 1]), 9),
        "sharing_nearer": round(1 - float(near), 9),
        "pairs_sharing": int(shared.sum()),
    }


def check_identity_distance(table: Table) -> Judgment:
    """The distance must follow what is not shared, and pairs that share must be the nearer ones."""
    wide = table.where(bits=1024)
    follows, nearer = wide.mean("correlation"), wide.mean("sharing_nearer")
    verdict = Verdict.CONTRADICTED if follows < 0.9 else Verdict.REPRODUCED if nearer > 0.9 else Verdict.REGIME
    return Judgment(
        verdict,
        f"1,024 bits: correlation {follows:.3f} with the cells not shared; a sharing pair is nearer in {nearer:.0%}",
        f"The Hamming distance of two identities follows the number of cells that one wants and the other does not "
        f"(correlation {follows:.3f} at 1,024 bits, {table.where(bits=64).mean('correlation'):.2f} at 64). It is a "
        "poor sign of something in common: of a pair that shares a cell and a pair that does not, the first is the "
        f"nearer one in {nearer:.0%} of the cases, because the distance grows with how much the two want at all. "
        "Equation 1 divides by the affinity for that reason, and needs the cells for it.",
    )


CLAIMS["identity-distance"] = Experiment(
    rows=identity_distance,
    full=grid(bits=[64, 256, 1024], hash_count=[2, 4], peers=300, runs=5),
    quick=grid(bits=[64, 1024], hash_count=4, peers=100, runs=2),
    check=check_identity_distance,
    figure=chart(
        "bits of an identity (4 hash functions)",
        "share, or correlation",
        Lines("bits", "correlation", "Hamming distance with cells not shared", of=where(hash_count=4)),
        Lines("bits", "sharing_nearer", "a pair that shares cells is the nearer one", first=1, of=where(hash_count=4)),
        Formula("bits", 0.5, "by chance", of=where(hash_count=4)),
        x_log=2,
        y_range=(0, 1.05),
    ),
)


def half_the_bits(parameters: Parameters, seed: int) -> Row:
    """Let peers with evenly drawn interests join as printed; count the ones and the answers."""
    overlay, _, _ = joined(parameters["peers"], seed, configuration=configured("paper"))
    assert overlay.space.bit_count == parameters["bits"]
    ones = [peer.descriptor.bits.bit_count() for peer in overlay]
    return {
        "ones": sum(ones) / len(ones),
        "most_ones": max(ones),
        "share": sum(ones) / len(ones) / parameters["bits"],
        "steps": overlay.messages["JoinReply"] / parameters["peers"],
    }


def check_half_the_bits(table: Table) -> Judgment:
    """Half of the bits, and about d/2 steps."""
    bits, share, steps = table.least("bits"), table.mean("share"), table.where(peers=table.most("peers")).mean("steps")
    holds = abs(share - 0.5) < 0.1 and 0.5 < steps / (bits / 2) < 2
    return judge(
        holds,
        f"{share:.1%} of the bits are set, {steps:.1f} steps for a join at N = {table.most('peers')}",
        f"With evenly drawn interests {share:.1%} of the {bits} bits are set ({table.most('most_ones')} at most): how "
        "many depends on how much a node wants, not on how evenly. Half of them would take a node that wants some 180 "
        f"of the 1,024 cells with four bits each. A join by the metric takes {steps:.1f} steps at N = "
        f"{table.most('peers')}, not {bits // 2}: one answer brings many cells, and a joiner makes do after twenty "
        "answers that bring nothing new, which are most of these steps.",
    )


CLAIMS["half-the-bits"] = Experiment(
    rows=half_the_bits,
    full=grid(peers=[64, 128, 256], bits=1024, runs=2),
    quick=grid(peers=[64, 128], bits=1024, runs=1),
    check=check_half_the_bits,
    figure=(
        chart(
            "N, nodes",
            "share of the bits that are set",
            Lines("peers", "share", "identities of 1024 bits"),
            Formula("peers", 0.5, "stated: ½"),
            x_log=2,
            y_range=(0, 0.6),
        ),
        chart(
            "N, nodes",
            "steps of a join",
            Lines("peers", "steps", "joining by the metric", first=1),
            Formula("peers", 512, "stated: d/2 = 512"),
            x_log=2,
            y_log=10,
        ),
    ),
)


# Proposition 1: a routing table has at most 2d + c entries.
#
# Two crowds: the stock market, everybody known to everybody, and one node that wants 900 of the 1,024 cells among
# 12,000 that want two each, half of them inside what it wants and half of them partly.


def table_bound(parameters: Parameters, seed: int) -> Row:
    """Return the largest table of the crowd, and what its owner wants."""
    configuration = configured(parameters["mode"])
    if parameters["crowd"] == "market":
        overlay, _, _ = static(parameters["peers"], seed, configuration=configuration)
        tables = [peer.state.table for peer in overlay if peer.state.phase is Phase.ACTIVE]
        return _row(max(tables, key=lambda one: len(one.chosen)))
    space, dice, wide = (
        SemanticSpace(cell_count=1024, bit_count=parameters["bits"]),
        random.Random(seed),
        parameters["cells"],
    )
    hub = space.describe(node=0, random_id=dice.getrandbits(64), cells=range(wide))
    table = LinkTable(hub) if parameters["mode"] == "sound" else PaperTable(hub, configuration.rule)
    for node in range(1, parameters["others"] + 1):
        second = dice.randrange(wide) if node % 2 else dice.randrange(wide, 1024)
        table.consider(space.describe(node=node, random_id=dice.getrandbits(64), cells={dice.randrange(wide), second}))
    return _row(table)


def _row(table: LinkTable | PaperTable) -> dict[str, int]:
    return {"links": len(table.chosen), "wanted_cells": len(table.own.cells), "ones": table.own.bits.bit_count()}


def check_table_bound(table: Table) -> Judgment:
    """No table of any crowd may exceed it."""
    bound, most = 2 * table.least("bits") + 1, table.most("links")
    market, hub = (table.where(crowd=crowd).most("links") for crowd in ("market", "hub"))
    largest = next(row for row in table if row["links"] == most)
    by_cells, by_bits = 4 * largest["wanted_cells"] + 1, 2 * largest["ones"] + 1
    return judge(
        most <= bound,
        f"largest table {market} in the market, {hub:,} of a node that wants most of the grid; 2d + c = {bound:,}",
        f"In the market the largest table has {market} entries. A node that wants {table.least('cells')} of the 1,024 "
        f"cells has {hub:,}, where 2d + c = {bound:,}. "
        + (
            f"The step to d − n neighbors cannot be derived: what follows from two classes and two passes that start "
            f"afresh is 4·|S| + c = {by_cells:,} for a node with |S| cells."
            if table.values("mode") == ["sound"]
            else f"It holds by construction: each link adds a bit that no link before has, and the second pass goes on "
            f"where the first one ended, so there are at most n + n + c = {by_bits:,} links for n bits that are set."
        ),
    )


def _largest(table: Table) -> dict[str, float]:
    shown = {f"{crowd}": part.most("links") for crowd, part in table.by("crowd")}
    return {**shown, "stated: 2d + c": 2 * table.least("bits") + 1}


CLAIMS["table-bound"] = Experiment(
    rows=table_bound,
    full=grid(mode="sound", crowd=["market", "hub"], peers=2048, cells=900, others=12_000, bits=1024, runs=3),
    quick=grid(mode="sound", crowd=["market", "hub"], peers=256, cells=900, others=12_000, bits=1024, runs=1),
    check=check_table_bound,
    figure=chart("links of the largest table", "", Bars(_largest)),
)


def clusters(parameters: Parameters, seed: int) -> Row:
    """Let nodes of the same mind join among others, then let the primary crash."""
    market, dice = StockMarket(), random.Random(seed)
    overlay = SimulatedOverlay(
        seed=seed,
        space=SemanticSpace(cell_count=market.cell_count),
        configuration=configured(parameters["mode"], heartbeat=5 * SECOND),
    )
    shared, cluster = market.draw_interests(dice), []
    for number in range(parameters["others"]):
        overlay.join(market.draw_interests(dice))
        overlay.run(SECOND // 2)
        if number < parameters["members"]:
            cluster.append(overlay.join(shared).node)
            overlay.run(SECOND // 2)
    while len(cluster) < parameters["members"]:
        cluster.append(overlay.join(shared).node)
        overlay.run(SECOND // 2)
    overlay.run(30 * SECOND)
    first = [node for node in cluster if overlay.peers[node].state.phase is Phase.ACTIVE]
    stock, low, high = shared.boxes[0]
    quote = (stock, (low + high) / 2)
    once = _reached(overlay, quote, cluster)
    overlay.crash([cluster[0]])
    overlay.run(60 * SECOND)
    second = [node for node in cluster[1:] if overlay.peers[node].state.phase is Phase.ACTIVE]
    return {
        "first_is_primary": first == cluster[:1],
        "next_follows": second == cluster[1:2],
        "reached_before": once,
        "reached_after": _reached(overlay, quote, cluster[1:]),
    }


def _reached(overlay: SimulatedOverlay, quote: tuple[int, float], cluster: list[int]) -> float:
    outside = next(node for node in overlay.ready if node not in cluster)
    event = overlay.publish(outside, quote)
    overlay.run(5 * SECOND)
    return sum(node in overlay.deliveries[event] for node in cluster) / len(cluster)


def check_clusters(table: Table) -> Judgment:
    """All four must hold in every run."""
    share = {name: table.mean(name) for name in ("first_is_primary", "next_follows", "reached_before", "reached_after")}
    return judge(
        all(value == 1 for value in share.values()),
        f"first is primary {share['first_is_primary']:.0%}, next follows {share['next_follows']:.0%}, members reached "
        f"{share['reached_after']:.0%}",
        "Nodes with the same interests stand behind the one that joined first; when it crashes the one that joined "
        "next takes its place, and an event from outside reaches all members before and after. In `sound` "
        "mode a cluster is one of equal cells, in `paper` mode one of equal identities.",
    )


CLAIMS["clusters"] = Experiment(
    rows=clusters,
    full=grid(mode="sound", members=[3, 8, 20], others=30, runs=10),
    quick=grid(mode="sound", members=[3, 8], others=10, runs=2),
    check=check_clusters,
    figure=chart(
        "share of the runs, or of the members",
        "",
        Bars(
            {
                "the first to join is the primary": "first_is_primary",
                "the next to join follows it": "next_follows",
                "members reached before": "reached_before",
                "members reached after the crash": "reached_after",
            },
            "{:.0%}",
        ),
    ),
)


def shared_interest(parameters: Parameters, seed: int) -> Row:
    """Let nodes join one by one; see whom they found, whether links lead everywhere, and what is delivered."""
    overlay, market, dice = joined(parameters["peers"], seed, configuration=configured(parameters["mode"]))
    sides, nearest = _nearest(overlay)
    row = {"sides": sides, "nearest": nearest, "routes": _routes(overlay)}
    return {**row, **measure(overlay, market, dice, events=parameters["events"])}


def _nearest(overlay: SimulatedOverlay) -> tuple[int, int]:
    """Count the rings' sides that have somebody, and those where the node knows who really is the nearest there."""
    primaries = [peer for peer in overlay if peer.state.phase is Phase.ACTIVE]
    rings: dict[int, list[int]] = defaultdict(list)
    for peer in sorted(primaries, key=lambda one: one.descriptor.position):
        for cell in peer.descriptor.cells:
            rings[cell].append(peer.descriptor.position)
    sides = found = 0
    for peer in primaries:
        for cell in peer.descriptor.cells:
            ring, table = rings[cell], peer.state.table
            place = bisect_left(ring, peer.descriptor.position)
            after, before = table.ring_next(cell), table.ring_before(cell)
            for known, true in ((after, ring[(place + 1) % len(ring)]), (before, ring[place - 1])):
                if true != peer.descriptor.position:
                    sides += 1
                    found += known is not None and known.position == true
    return sides, found


def _routes(overlay: SimulatedOverlay) -> float:
    """Return the share of the nodes that links lead to from the first one."""
    links = {peer.node: peer.state.table.chosen | peer.state.table.incoming for peer in overlay}
    links |= {p.node: {p.state.primary.node} for p in overlay if p.state.primary is not None}
    for node, chosen in list(links.items()):
        for other in chosen:
            links[other].add(node)
    seen, edge = set(), {min(links)}
    while edge:
        seen |= edge
        edge = {other for node in edge for other in links[node]} - seen
    return len(seen) / len(links)


def check_shared_interest(table: Table) -> Judgment:
    """There must be a route everywhere, and every joiner must know who is nearest on each of its rings."""
    routes, nearest = table.least("routes"), table.total("nearest") / table.total("sides")
    share = 1 - table.total("missed") / table.total("wanted")
    holds = routes == 1 and nearest > 0.99 and share > 0.99
    return judge(
        holds,
        f"links lead to {routes:.0%} of the nodes; joiners know {nearest:.1%} of their nearest; {share:.1%} delivered",
        f"The shared interest connects everybody: links lead to {routes:.0%} of the nodes. Of those who stand next to "
        f"a joiner on the rings of its cells it knows {nearest:.1%}, and {share:.1%} of the deliveries are made. "
        + (
            "Here the shared interest is a ring with fingers and a directory."
            if table.values("mode") == ["sound"]
            else "The metric has no gradient: two nodes that share one rare interest look as far apart as two that "
            "share none, so going down it seldom meets the holder of a rare cell, and rings are left open."
        ),
    )


def _reach(most: Table) -> dict[str, float]:
    return {
        "nodes that links lead to": most.mean("routes"),
        "nearest that are known": most.total("nearest") / most.total("sides"),
        "deliveries that are made": most.mean("delivery"),
    }


CLAIMS["shared-interest"] = Experiment(
    rows=shared_interest,
    full=grid(mode="sound", peers=[64, 256, 512], events=80, runs=10),
    quick=grid(mode="sound", peers=[64, 128], events=40, runs=1),
    check=check_shared_interest,
    figure=chart(lambda table: f"share, N = {table.most('peers')}", "", Bars(_reach, "{:.1%}", of=most("peers"))),
)
