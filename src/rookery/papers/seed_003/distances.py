"""Seed 003, section 3: network coordinates, and residents that are near (MGNP)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from rookery.brokers.coordinates import (
    choose_landmarks,
    extent_of,
    place_host,
    place_landmarks,
    relative_errors,
)
from rookery.brokers.proximity import scale
from rookery.papers.experiments import Experiment, Parameters, grid
from rookery.papers.figures import Bars, Formula, Lines, chart, where
from rookery.papers.seed_003.latencies import MATRICES, latency_matrix
from rookery.papers.seed_003.placed import PlacedBrokers
from rookery.papers.seed_003.static import StaticBrokers
from rookery.papers.seed_003.stretch import CHOICES, stretch
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict, judge
from rookery.space.zones import box_of, inside

__all__ = ["CLAIMS"]

CLAIMS: dict[str, Experiment] = {}
#: What counts as shorter: by three twentieths, more than another draw of zones and routes changes.
SHORTER = 0.85


def mgnp_stretch(parameters: Parameters, seed: int) -> list[Row]:
    """Every host is a broker; add up the times of the hops, for each way to choose residents."""
    times, dimensions = latency_matrix(parameters["matrix"], parameters["hosts"]), parameters["dimensions"]
    if times is None:
        return []  # a real matrix that is not at hand
    generator = np.random.default_rng(seed)
    hosts = len(times)
    chosen = choose_landmarks(times, 15)
    landmarks = place_landmarks(times[np.ix_(chosen, chosen)], dimensions, generator)
    positions = np.array([place_host(landmarks, times[host, chosen]) for host in range(hosts)])
    paths = StaticBrokers.grown(hosts, dimensions=dimensions, generator=generator).paths()
    paths = [paths[number] for number in generator.permutation(hosts)]
    pairs = generator.integers(hosts, size=(parameters["pairs"], 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    error = float(np.median(relative_errors(positions, times)))
    rows: list[Row] = []
    for choice in CHOICES:
        found = stretch(
            choice, paths=paths, times=times, positions=positions, extent=extent_of(landmarks), bits=dimensions,
            pairs=pairs, generator=generator,
        )  # fmt: skip
        rows.append({"choice": choice, "stretch": round(found, 6), "error": round(error, 6), "found_hosts": hosts})
    return rows


def check_mgnp_stretch(table: Table) -> Judgment:
    """MGNP must be shorter than inherited and random residents on every matrix."""
    found, shorter = {}, []
    for name, part in table.by("matrix"):
        ratios = []
        for dimensions, one in part.by("dimensions"):
            mean = {choice: same.mean("stretch") for choice, same in one.by("choice")}
            ratios.append(mean["mgnp"] / min(mean["inherited"], mean["random"]))
            found[name, dimensions] = (
                f"{name} {mean['mgnp']:.2f} (inherited {mean['inherited']:.2f}, random {mean['random']:.2f}, by true "
                f"times {mean['oracle']:.2f}; median error of the coordinates {one.mean('error'):.0%})"
            )
        if max(ratios) < SHORTER:
            shorter.append(name)
    matrices = table.values("matrix")
    longer = [name for name in matrices if name not in shorter]
    verdict = Verdict.REGIME if shorter and longer else Verdict.REPRODUCED if shorter else Verdict.CONTRADICTED
    first = [text for (_, dimensions), text in found.items() if dimensions == table.least("dimensions")]
    return Judgment(
        verdict,
        f"shorter on {', '.join(shorter) or 'none'}; not on {', '.join(longer) or 'none'}; stretch with MGNP: "
        f"{first[0]}",
        f"Time of a route over the direct time, with MGNP and d = {table.least('dimensions')}: {'; '.join(first)}. "
        "Where coordinates fit the times they take most of what there is to gain, which is the choice by true "
        "round-trip times. Where the times of pairs have nothing to do with each other no coordinates fit, and a "
        "resident chosen by them is no nearer than any other.",
    )


CLAIMS["mgnp-stretch"] = Experiment(
    rows=mgnp_stretch,
    full=grid(matrix=MATRICES, hosts=490, dimensions=[2, 3], pairs=1000, runs=2),
    quick=grid(matrix=MATRICES, hosts=48, dimensions=2, pairs=400, runs=1),
    check=check_mgnp_stretch,
    figure=chart(
        "way to choose the next resident (d = 2)",
        "time over the brokers / direct time",
        Lines("choice", "stretch", by="matrix", of=where(dimensions=2), joined=False),
        y_range=(0, None),
    ),
)

#: The largest median error that still tells near from far.
FITS = 0.35


def check_gnp_accuracy(table: Table) -> Judgment:
    """The median error must be small on every matrix."""
    errors = {name: {d: one.mean("error") for d, one in part.by("dimensions")} for name, part in table.by("matrix")}
    fits = [name for name, by_dimension in errors.items() if max(by_dimension.values()) < FITS]
    verdict = Verdict.REPRODUCED if len(fits) == len(errors) else Verdict.REGIME if fits else Verdict.CONTRADICTED
    shown = "; ".join(
        f"{name} " + ", ".join(f"{value:.0%} in {d} dimensions" for d, value in by_dimension.items())
        for name, by_dimension in errors.items()
    )
    return Judgment(
        verdict,
        f"median error: {shown}",
        "Fifteen landmarks place every host, and the distance predicts the round-trip time with a median relative "
        f"error of {shown}. Good enough, where it is below {FITS:.0%}, to prefer near residents, not to measure. It "
        "rests on times that are nearly distances: where each pair has a time of its own, whatever the others are, no "
        "coordinates stand for them.",
    )


def _errors(table: Table) -> dict[str, float]:
    return {
        f"{name}, d = {d}": one.mean("error") for name, part in table.by("matrix") for d, one in part.by("dimensions")
    }


CLAIMS["gnp-accuracy"] = replace(
    CLAIMS["mgnp-stretch"],
    check=check_gnp_accuracy,
    figure=chart("median relative error of the predicted round-trip time", "", Bars(_errors, "{:.1%}")),
)

EXTENT = ((0.0, 0.0), (1.0, 1.0))


def gnp_storage(parameters: Parameters, seed: int) -> Row:
    """Algorithm 2: everybody publishes its coordinates in its zone of each level; count what each broker keeps."""
    generator = np.random.default_rng([seed, parameters["depth"]])
    brokers = StaticBrokers.balanced(2, parameters["depth"])
    paths, bits = brokers.paths(), parameters["span"].bit_length() - 1
    centers = generator.random((parameters["clusters"], 2))
    positions = centers[generator.integers(len(centers), size=len(paths))] + generator.normal(0, 0.05, (len(paths), 2))
    if parameters["clusters"] == 1:
        positions = generator.random((len(paths), 2))  # hosts spread evenly
    levels = parameters["depth"] // bits
    points = [
        scale(tuple(place), box_of(path[: level * bits], 2), EXTENT)
        for place, path in zip(positions.tolist(), paths, strict=True)
        for level in range(1, levels + 1)
    ]
    kept = np.bincount(brokers.owners(np.array(points)), minlength=len(paths))
    return {
        "brokers": len(paths),
        "stated": math.log(len(paths), parameters["span"]),
        "mean": float(kept.mean()),
        "most": int(kept.max()),
    }


def check_gnp_storage(table: Table) -> Judgment:
    """The maximum must not exceed log_m N."""
    mean_holds = all(abs(row["mean"] - row["stated"]) < 1e-9 for row in table)
    most = table.where(brokers=table.most("brokers"))
    even, clustered = (most.where(clusters=count).mean("most") for count in (1, 8))
    stated = most.mean("stated")
    if all(row["most"] <= row["stated"] for row in table):
        verdict = Verdict.REPRODUCED
    else:
        verdict = Verdict.SHAPE if mean_holds else Verdict.CONTRADICTED
    return Judgment(
        verdict,
        f"N = {table.most('brokers'):,}: {most.mean('mean'):.0f} on average, {even:.0f} to {clustered:.0f} at most",
        f"Everybody publishes once for each level, so a broker keeps log_m N coordinates on average, {stated:.0f} at N "
        f"= {table.most('brokers'):,}, which holds by construction; the stated 10 for N = 2^20 is that mean. It is not "
        f"the maximum: {even:.0f} with hosts spread evenly and {clustered:.0f} with hosts in eight clusters, as "
        "real hosts are.",
    )


def _spread(table: Table) -> Table:
    named = {1: "most, hosts spread evenly", 8: "most, hosts in 8 clusters"}
    return Table([{**row, "hosts": named[row["clusters"]]} for row in table])


CLAIMS["gnp-storage"] = Experiment(
    rows=gnp_storage,
    full=grid(depth=[4, 6, 8, 10, 12, 14], clusters=[1, 8], span=4, runs=5),
    quick=grid(depth=[4, 6, 8], clusters=[1, 8], span=4, runs=2),
    check=check_gnp_storage,
    figure=chart(
        "N, brokers",
        "coordinates that a broker keeps",
        Lines("brokers", "mean", "mean", of=where(clusters=8)),
        Lines("brokers", "most", by="hosts", first=1, of=_spread),
        Formula("brokers", lambda size: math.log(size, 4), "stated: log_m N"),
        x_log=2,
    ),
)

BOXES = ["all hosts", "98 % of each side"]


def scaled_neighbors(parameters: Parameters, seed: int) -> Row:
    """Map hosts on a square plane into a zone after some cuts; compare who is nearest to whom."""
    generator = np.random.default_rng(seed)
    hosts = generator.random((parameters["hosts"], 2)) * 200
    extent = ((0.0, 0.0), (200.0, 200.0)) if parameters["box"] == BOXES[0] else ((2.0, 2.0), (198.0, 198.0))
    zones = StaticBrokers.balanced(2, parameters["cuts"]).paths()
    zone = box_of(zones[int(generator.integers(len(zones)))], 2)
    images = np.array([scale(tuple(place), zone, extent) for place in hosts.tolist()])
    before, after = (np.linalg.norm(at[:, None] - at[None, :], axis=2) for at in (hosts, images))
    for distances in (before, after):
        np.fill_diagonal(distances, np.inf)
    one, other = generator.integers(len(hosts), size=(2, 20_000)), generator.integers(len(hosts), size=(2, 20_000))
    apart = (one[0] != one[1]) & (other[0] != other[1])
    order = (before[one[0], one[1]] < before[other[0], other[1]]) == (after[one[0], one[1]] < after[other[0], other[1]])
    nearest = after[np.arange(len(hosts)), before.argmin(axis=1)] <= after.min(axis=1) * (1 + 1e-9)
    return {"nearest_kept": float(nearest.mean()), "order_kept": float(order[apart].mean())}


def check_scaled_neighbors(table: Table) -> Judgment:
    """Everything must be kept, in every zone."""
    whole = table.where(box=BOXES[0])
    square, oblong = (Table([row for row in whole if row["cuts"] % 2 == odd]) for odd in (0, 1))
    kept, less = square.mean("nearest_kept"), oblong.mean("nearest_kept")
    clipped = table.where(box=BOXES[1], cuts=2).mean("nearest_kept")
    verdict = Verdict.CONTRADICTED if kept < 0.999 else Verdict.REPRODUCED if less > 0.999 else Verdict.REGIME
    return Judgment(
        verdict,
        f"nearest neighbor kept: {kept:.0%} in zones of the plane's shape, {less:.0%} in zones cut once more",
        f"In zones with the shape of the coordinates' box every host keeps its nearest neighbor ({kept:.1%}) and all "
        f"distances their order. After an odd number of cuts a zone is twice as long as wide, and {less:.0%} keep it, "
        f"{oblong.mean('order_kept'):.0%} of the pairs of distances their order. Real landmarks do not enclose "
        f"everybody: with a box of 98 % of each side hosts outside it go to its edge, and {clipped:.0%} keep theirs.",
    )


CLAIMS["scaled-neighbors"] = Experiment(
    rows=scaled_neighbors,
    full=grid(cuts=[0, 1, 2, 3, 4, 5, 6], box=BOXES, hosts=300, runs=5),
    quick=grid(cuts=[0, 1, 2, 3], box=BOXES, hosts=80, runs=2),
    check=check_scaled_neighbors,
    figure=chart(
        "cuts above the zone",
        "hosts whose nearest neighbor stays the nearest",
        Lines("cuts", "nearest_kept", by="box"),
        y_range=(0, 1.05),
    ),
)


# Section 3.2: a near broker needs to be located once; what changes is told.
#
# A broker locates each zone of its queue once, and again only when its own zone has changed or the resident that it
# chose is gone; of new residents it is told by the indexes that it asked. That brokers also look again every minute is
# switched off here, by a long period; in the end all look once more, and it is seen whether that finds anything nearer.

#: How much farther than after looking again the resident may be for being told to be as good.
AS_GOOD = 1.1
NEVER = 10**6


def located_once(parameters: Parameters, seed: int) -> Row:
    """Let brokers with coordinates find near residents; let others join; see whom they prefer, and look once more."""
    placed = PlacedBrokers(seed=seed, period=NEVER)
    placed.join(parameters["brokers"])
    first, before = _preferred(placed), placed.counted("located")
    placed.join(round(parameters["grown"] * parameters["brokers"]))
    now, located = _preferred(placed), placed.counted("located") - before
    placed.look_again()
    again = _preferred(placed)
    both = sorted(first.keys() & now.keys() & again.keys())

    def mean(found: Mapping[Any, int]) -> float:
        return sum(placed.apart(key[0], found[key]) for key in both) / len(both)

    return {
        "entries": len(both),
        "kept": sum(first[key] == now[key] for key in both) / len(both),
        "before": mean(first),
        "told": mean(now),
        "again": mean(again),
        "located": located / len(now),
    }


def _preferred(placed: PlacedBrokers) -> dict[Any, int]:
    return {(number, zone): resident.owner for number, zone, resident in placed.entries()}


def check_located_once(table: Table) -> Judgment:
    """Nothing may change while nobody joins; after joins being told must be as good as looking again."""
    still, grown = table.where(grown=0.0), table.where(grown=1.0)
    stays, located = still.mean("kept"), still.mean("located")
    before, told, again = (grown.mean(column) for column in ("before", "told", "again"))
    if stays < 0.99 or located > 0:
        verdict = Verdict.CONTRADICTED
    else:
        verdict = Verdict.REPRODUCED if told < before and told <= AS_GOOD * again else Verdict.REGIME
    return Judgment(
        verdict,
        f"{stays:.1%} keep their resident while nobody joins; after the network has doubled the mean distance is "
        f"{told:.1f} by what was told, {again:.1f} after looking once more",
        f"While nobody joins, {stays:.1%} of the entries keep their resident and nobody looks again: once is enough. "
        f"When the network has doubled, {grown.mean('kept'):.0%} keep it; the others were told of a nearer one or have "
        f"found one for a changed zone of their own: the mean distance is {told:.1f} instead of {before:.1f}, with "
        f"{grown.mean('located'):.1f} look-ups an entry. Looking once more makes it {again:.1f}. Rookery tells, and "
        "looks every minute besides: of a broker that died without a word nobody tells.",
    )


CLAIMS["located-once"] = Experiment(
    rows=located_once,
    full=grid(brokers=32, grown=[0.0, 0.25, 0.5, 1.0], runs=3),
    quick=grid(brokers=16, grown=[0.0, 1.0], runs=1),
    check=check_located_once,
    figure=(
        chart(
            "brokers that joined since, as a share",
            "entries that keep their resident",
            Lines("grown", "kept", "the same resident"),
            y_range=(0, 1.05),
        ),
        chart(
            "brokers that joined since, as a share",
            "distance to the resident",
            Lines("grown", "before", "located first"),
            Lines("grown", "told", "told since", first=1),
            Lines("grown", "again", "looked once more", first=2),
            y_range=(0, None),
        ),
    ),
)


# Section 3.3: looking up a near resident takes one hop; measuring would take a probe of every candidate.
#
# Simulated brokers locate residents by Algorithm 3. A question is one index that is asked, a measurement one round trip
# to a candidate. A search that is cheap because it finds nothing would prove nothing, so what it found is judged too:
# the share of the candidates that are nearer than the chosen one, which is a half for a choice at random.

#: Zones with fewer residents leave nothing to choose.
FEWEST = 3
#: The first place and four neighbors at most; and nearer than three of four candidates.
MOST_QUESTIONS, NEARER = 5, 0.25


def search_cost(parameters: Parameters, seed: int) -> Row:
    """Let all look for residents once more; count the questions, and compare what was found with all residents."""
    placed = PlacedBrokers(seed=seed, period=3600)
    placed.join(parameters["brokers"])
    located, questions = placed.counted("located"), placed.counted("questions")
    placed.look_again()
    located, questions = placed.counted("located") - located, placed.counted("questions") - questions
    homes, widest, nearer = placed.homes(), 0, []
    for number, zone, resident in placed.entries():
        apart = {other: placed.apart(number, other) for path, other in homes.items() if inside(path, zone)}
        widest = max(widest, len(apart))
        if len(apart) >= FEWEST and resident.owner in apart:
            nearer.append(sum(one < apart[resident.owner] for one in apart.values()) / (len(apart) - 1))
    return {
        "questions": questions / max(1, located),
        "candidates": widest,
        "nearer": sum(nearer) / len(nearer) if nearer else 1.0,
    }


def check_search_cost(table: Table) -> Judgment:
    """The questions must stay few while the candidates grow, and what is found must be near."""
    first, last = (table.where(brokers=size) for size in (table.least("brokers"), table.most("brokers")))
    few = 0 < table.most("questions") <= MOST_QUESTIONS and last.mean("candidates") > last.mean("questions")
    grows = last.mean("candidates") > 2 * first.mean("candidates")
    near = last.mean("nearer") < NEARER
    return judge(
        few and grows and near,
        f"N = {table.most('brokers'):,}: {last.mean('questions'):.1f} questions for {last.mean('candidates'):.0f} "
        f"candidates; {last.mean('nearer'):.0%} of them are nearer than the chosen one",
        "The search asks where the own coordinates fall and the neighbors of that place, one hop around it: "
        f"{last.mean('questions'):.1f} questions at N = {table.most('brokers'):,}, {first.mean('questions'):.1f} at "
        f"N = {table.least('brokers'):,}, and no round-trip time is measured; {last.mean('nearer'):.0%} of the "
        "residents are nearer than the one that it finds. Measuring all would take "
        f"{last.mean('candidates'):.0f} in the widest zone. "
        "The seed asks the neighbors only where the first place is empty; asking them always finds closer ones. Each "
        "question travels by Spanhop, ½·log2 N hops.",
    )


CLAIMS["search-cost"] = Experiment(
    rows=search_cost,
    full=grid(brokers=[16, 32, 64], runs=3),
    quick=grid(brokers=[12, 48], runs=1),
    check=check_search_cost,
    figure=(
        chart(
            "N, brokers",
            "questions or measurements for the widest zone",
            Lines("brokers", "candidates", "measure every resident"),
            Lines("brokers", "questions", "Algorithm 3, as it runs here", first=1),
            x_log=2,
            y_log=10,
        ),
        chart(
            "N, brokers",
            "candidates nearer than the chosen",
            Lines("brokers", "nearer", "share", first=1),
            x_log=2,
            y_range=(0, 1),
        ),
    ),
)
