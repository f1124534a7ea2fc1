"""Seed 003, the K-D brokers: what flips its claims."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.papers.flips import CONTRADICTED, REGIME, REPRODUCED, Flip, only

from rookery.brokers import proximity
from rookery.brokers.ancestors import AncestorQueue
from rookery.brokers.proximity import Proximity
from rookery.papers.seed_003 import distances, static, stretch, zones
from rookery.papers.seed_003.flooding import FloodingBroker
from rookery.papers.table import Row
from rookery.space.tree import KdTree

#: What takes long is judged from the committed rows; the quick parameters run with --slow.
COMMITTED = {"seed-003/maintenance"}


def greedy(row: Row) -> bool:
    return row["algorithm"] == "greedy"


def spanhop(row: Row) -> bool:
    return row["algorithm"] == "Spanhop"


def whole_box(row: Row) -> bool:
    return row["box"] == "all hosts"


FLIPS: dict[str, list[Flip]] = {
    "seed-003/load-split": [
        Flip("halves of 60 and 40 %", CONTRADICTED, lambda row: {"larger_half": 0.6}),
        Flip(
            "where newcomers come by load alone",
            CONTRADICTED,
            only(lambda row: row["join"] == zones.JOINS[3], lambda row: {"larger_half": 0.6}),
        ),
        Flip("any cut, and all zones alike", REPRODUCED, lambda row: {"larger_half": 0.51, "unevenness": 1.5}),
    ],
    "seed-003/target-zones": [
        Flip(
            "a wanted event lies elsewhere", CONTRADICTED, only(lambda row: row["side"] == 0.1, lambda row: {"lost": 1})
        ),
        Flip("each goes to one zone", CONTRADICTED, lambda row: {"targets": 1.0}),
        Flip("nothing is wanted", CONTRADICTED, lambda row: {"wanted": 0}),
    ],
    "seed-003/greedy-hops": [
        Flip(
            "the stated number",
            REPRODUCED,
            lambda row: {"hops": row["dimensions"] / 4 * row["brokers"] ** (1 / row["dimensions"])},
        ),
        Flip("linear in N", CONTRADICTED, only(greedy, lambda row: {"hops": row["brokers"] / 8})),
        Flip("as few as Spanhop", CONTRADICTED, only(greedy, lambda row: {"hops": 0.72 * math.log(row["brokers"])})),
        Flip(
            "more in three dimensions alone",
            CONTRADICTED,
            only(lambda row: greedy(row) and row["dimensions"] == 3, lambda row: {"hops": 2 * row["hops"]}),
        ),
    ],
    "seed-003/more-dimensions": [
        Flip("no better in many dimensions", CONTRADICTED, only(greedy, lambda row: {"hops": 100.0})),
        Flip("Spanhop needs them too", CONTRADICTED, only(spanhop, lambda row: {"hops": 50 / row["dimensions"]})),
    ],
    "seed-003/neighbor-tables": [
        Flip("5d neighbors", CONTRADICTED, lambda row: {"neighbors": 5 * row["dimensions"]}),
        Flip("d² neighbors", CONTRADICTED, lambda row: {"neighbors": row["dimensions"] ** 2 + 1}),
        Flip("more with every broker", CONTRADICTED, lambda row: {"neighbors": row["brokers"] / 100}),
    ],
    "seed-003/matching-dimensions": [
        Flip("d!", REPRODUCED, lambda row: {"tests": math.factorial(row["dimensions"])}),
        Flip(
            "d! by one algorithm",
            REPRODUCED,
            only(lambda row: row["algorithm"] == "index", lambda row: {"tests": math.factorial(row["dimensions"])}),
        ),
    ],
    "seed-003/algorithm-printed": [
        Flip(
            "one receiver, one copy, no loop",
            REPRODUCED,
            lambda row: {"wrong_receivers": 0.0, "copies": 1.0, "loops_printed": 0.0},
        ),
    ],
    "seed-003/worked-route": [
        Flip("past B5", CONTRADICTED, only(lambda row: row["failed"] == 0, lambda row: {"route": "B1 B5 B13 B16"})),
        Flip("through the failed B9", CONTRADICTED, lambda row: {"route": "B1 B9 B13 B16"}),
    ],
    "seed-003/failure-cases": [
        Flip("all arrive", REPRODUCED, lambda row: {"arrived": 1.0}),
        Flip(
            "a tenth failed stops many",
            CONTRADICTED,
            only(lambda row: row["failed"] == 0.1, lambda row: {"arrived": 0.8}),
        ),
        Flip(
            "not all arrive without failures",
            CONTRADICTED,
            only(lambda row: row["failed"] == 0.0, lambda row: {"arrived": 0.99}),
        ),
    ],
    "seed-003/maintenance": [
        Flip("a delivery is missing", CONTRADICTED, lambda row: {"delivered": row["due"] - 1}),
        Flip("one is made twice", CONTRADICTED, lambda row: {"delivered": row["due"] + 1}),
        Flip("queues name brokers that are gone", CONTRADICTED, lambda row: {"right": 0.8}),
    ],
    "seed-003/spanhop-hops": [
        Flip("√N", CONTRADICTED, only(spanhop, lambda row: {"hops": row["brokers"] ** 0.5})),
        Flip("one never arrives", CONTRADICTED, only(spanhop, lambda row: {"loops": 1})),
    ],
    "seed-003/optimal-span": [
        Flip("as g(m) says", REPRODUCED, lambda row: {"hops": row["stated"]}),
    ],
    "seed-003/dimension-independent": [
        Flip(
            "more in ten",
            CONTRADICTED,
            only(lambda row: row["dimensions"] == 10, lambda row: {"hops": 1.1 * row["hops"]}),
        ),
    ],
    "seed-003/queue-length": [
        Flip("a level for each cut", CONTRADICTED, lambda row: {"levels": row["depth"]}),
        Flip(
            "seven for a million",
            CONTRADICTED,
            only(lambda row: (row["depth"], row["span"]) == (20, 8), lambda row: {"levels": 7.0}),
        ),
        Flip("whole tables", CONTRADICTED, lambda row: {"entries": 2 * row["entries"]}),
        Flip("a level is empty", CONTRADICTED, lambda row: {"levels": row["levels"] - 0.25}),
    ],
    "seed-003/gain-grows": [
        Flip(
            "the same gain at all sizes", CONTRADICTED, only(greedy, lambda row: {"hops": 3 * math.log(row["brokers"])})
        ),
        Flip(
            "it falls in three dimensions",
            CONTRADICTED,
            only(lambda row: greedy(row) and row["dimensions"] == 3, lambda row: {"hops": 10.0}),
        ),
    ],
    "seed-003/many-dimensions": [
        Flip("the same at every size", REPRODUCED, lambda row: {"hops": math.log(row["brokers"])}),
        Flip("never the same", CONTRADICTED, only(greedy, lambda row: {"hops": 2 * math.log(row["brokers"])})),
    ],
    "seed-003/flooding": [
        Flip("linear for one subscriber", REPRODUCED, lambda row: {"messages": row["brokers"] - 1}),
        Flip("the logarithm for all", CONTRADICTED, lambda row: {"messages": math.log(row["brokers"])}),
        Flip(
            "√N wanted by a tenth",
            CONTRADICTED,
            only(lambda row: row["wanted"] == "by a tenth", lambda row: {"messages": row["brokers"] ** 0.5}),
        ),
        Flip(
            "a subscriber is missed",
            CONTRADICTED,
            only(lambda row: row["wanted"] == "by one", lambda row: {"reached": 0.9}),
        ),
    ],
    "seed-003/gnp-accuracy": [
        Flip("small on every matrix", REPRODUCED, lambda row: {"error": 0.2}),
        Flip("large on every matrix", CONTRADICTED, lambda row: {"error": 0.6}),
    ],
    "seed-003/scaled-neighbors": [
        Flip("kept in oblong zones too", REPRODUCED, only(whole_box, lambda row: {"nearest_kept": 1.0})),
        Flip("lost in square ones", CONTRADICTED, only(whole_box, lambda row: {"nearest_kept": 0.9})),
    ],
    "seed-003/mgnp-stretch": [
        Flip(
            "shorter on every matrix",
            REPRODUCED,
            only(lambda row: row["choice"] == "mgnp", lambda row: {"stretch": 1.1}),
        ),
        Flip(
            "as long as inherited",
            CONTRADICTED,
            only(lambda row: row["choice"] == "mgnp", lambda row: {"stretch": 4.0}),
        ),
        Flip(
            "inherited ones are as near",
            CONTRADICTED,
            only(lambda row: row["choice"] in ("inherited", "random"), lambda row: {"stretch": 1.5}),
        ),
    ],
    "seed-003/gnp-storage": [
        Flip("nobody keeps more", REPRODUCED, lambda row: {"most": int(row["stated"])}),
        Flip("twice as many on average", CONTRADICTED, lambda row: {"mean": 2 * row["stated"]}),
        Flip("the mean is one level less", CONTRADICTED, lambda row: {"mean": row["stated"] - 1}),
    ],
    "seed-003/search-cost": [
        Flip("every candidate is asked", CONTRADICTED, lambda row: {"questions": row["candidates"]}),
        Flip("what is found is as far as any", CONTRADICTED, lambda row: {"nearer": 0.5}),
        Flip("nobody asks", CONTRADICTED, lambda row: {"questions": 0.0}),
        Flip("there is nothing to choose", CONTRADICTED, lambda row: {"candidates": 2}),
    ],
    "seed-003/located-once": [
        Flip("nobody is told", REGIME, lambda row: {"told": row["before"]}),
        Flip("looking again finds nearer ones", REGIME, lambda row: {"again": 0.8 * row["told"]}),
        Flip("residents change by themselves", CONTRADICTED, lambda row: {"kept": 0.9}),
        Flip("they look again", CONTRADICTED, lambda row: {"located": 1.0}),
    ],
}


def passes_on_to_one(patch: pytest.MonkeyPatch) -> None:
    def take(broker: Any, message: Any, sender: int) -> None:
        if message.event_id not in broker._seen:
            broker._seen[message.event_id] = None
            broker._outbox += [(peer, message) for peer in broker.peers if peer != sender][:1]

    patch.setattr(FloodingBroker, "_take", take)


def levels_of(cuts: int) -> Callable[[pytest.MonkeyPatch], None]:
    """Return what gives queues a level for each so many cuts, whatever the span."""

    def change(patch: pytest.MonkeyPatch) -> None:
        made = AncestorQueue.__init__

        def init(queue: AncestorQueue, path: Any, *, dimensions: int, bits: int, capacity: int) -> None:
            made(queue, path, dimensions=dimensions, bits=cuts, capacity=capacity)

        patch.setattr(AncestorQueue, "__init__", init)

    return change


def learns_nothing_deep(patch: pytest.MonkeyPatch) -> None:
    learn = AncestorQueue.learn
    patch.setattr(
        AncestorQueue,
        "learn",
        lambda queue, ownership, *, first=True: (
            learn(queue, ownership, first=first) if ownership.path[0].bit != queue._path[0].bit else None
        ),
    )


def farthest(patch: pytest.MonkeyPatch) -> None:
    def choose(position: Any, candidates: list[Any]) -> Any:
        return max(candidates, key=lambda ownership: math.dist(position, ownership.position), default=None)

    for module in (proximity, stretch):
        patch.setattr(module, "closest", choose)


def loses_a_zone(patch: pytest.MonkeyPatch) -> None:
    met = KdTree.zones_met
    patch.setattr(KdTree, "zones_met", lambda tree, boxes: tuple(part[:-1] for part in met(tree, boxes)))


BROKEN: list[tuple[str, str, Callable[[pytest.MonkeyPatch], None]]] = [
    ("seed-003/flooding", "a broker passes on to one peer", passes_on_to_one),
    ("seed-003/queue-length", "a level for each cut", levels_of(1)),
    ("seed-003/queue-length", "a level for five cuts", levels_of(5)),
    ("seed-003/queue-length", "deep levels learn nobody", learns_nothing_deep),
    ("seed-003/search-cost", "the farthest is chosen", farthest),
    ("seed-003/search-cost", "the index forgets", lambda patch: patch.setattr(Proximity, "put", lambda *given: None)),
    (
        "seed-003/load-split",
        "cuts in the middle",
        lambda patch: patch.setattr(
            static, "cut_of", lambda box, axis, points: (box.lower[axis] + box.upper[axis]) / 2
        ),
    ),
    (
        "seed-003/gnp-accuracy",
        "everybody amid the landmarks",
        lambda patch: patch.setattr(distances, "place_host", lambda landmarks, times: np.mean(landmarks, axis=0)),
    ),
    ("seed-003/mgnp-stretch", "the farthest is chosen", farthest),
    ("seed-003/target-zones", "a zone is left out", loses_a_zone),
    ("seed-003/located-once", "nobody is told", lambda patch: patch.setattr(Proximity, "changed", lambda *given: None)),
]
