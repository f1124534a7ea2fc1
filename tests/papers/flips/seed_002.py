"""Seed 002, the interest-oriented overlay: what flips its claims, in both modes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.papers.flips import CONTRADICTED, REGIME, REPRODUCED, SAME_SHAPE, Flip, only

from rookery.overlay import dissemination, paper
from rookery.overlay.links import LinkTable
from rookery.overlay.selection import Selection
from rookery.papers.seed_002 import others
from rookery.papers.table import Row

Change = Callable[[Row], Row]


def column(name: str, value: Any) -> Callable[[Row], bool]:
    return lambda row: bool(row[name] == value)


def at(setting: str, change: Change) -> Change:
    return only(column("setting", setting), change)


def counted(change: Change) -> Change:
    return only(column("source", "counted"), change)


def formula(change: Change) -> Change:
    return only(column("source", "formula"), change)


STATIC_DEPTH = [
    Flip("linear", CONTRADICTED, lambda row: {"depth": float(2 ** row["peers"].bit_length())}),
    Flip("falls", CONTRADICTED, lambda row: {"depth": 10 / row["peers"]}),
]
STATIC_TABLE = [
    Flip("grows on and on", CONTRADICTED, lambda row: {"links": float(row["peers"])}),
    Flip(
        "grows more at the end",
        CONTRADICTED,
        only(lambda row: row["peers"] > 256, lambda row: {"links": 3 * row["links"]}),
    ),
]
ONLY_INTERESTED = [
    Flip("identities mislead", CONTRADICTED, lambda row: {"bloom_false_positives": 0.05}),
    Flip("the application sees it", CONTRADICTED, lambda row: {"unwanted": 1}),
    Flip("nothing arrives", CONTRADICTED, lambda row: {"missed": row["wanted"]}),
    Flip("who publishes wants it", REPRODUCED, lambda row: {"entry_per_event": 0.0}),
]
DIAMETER = [
    Flip(
        "a long way at the large end", CONTRADICTED, only(lambda row: row["peers"] > 64, lambda row: {"farthest": 30})
    ),
    Flip("an island", CONTRADICTED, lambda row: {"reached": 0.9}),
]
CLUSTERS = [
    Flip("another is primary", CONTRADICTED, lambda row: {"first_is_primary": False}),
    Flip("another follows", CONTRADICTED, lambda row: {"next_follows": False}),
    Flip("a member is left out", CONTRADICTED, lambda row: {"reached_before": 0.8}),
    Flip("a member is lost with the primary", CONTRADICTED, lambda row: {"reached_after": 0.8}),
]
PARETO_FALSE_POSITIVES = [
    Flip("rises", CONTRADICTED, lambda row: {"false_positives": row["false_positives"] + row["alpha"]}),
    Flip(
        "rises in the middle",
        SAME_SHAPE,
        only(column("alpha", 3.0), lambda row: {"false_positives": row["false_positives"] + 0.1}),
    ),
    Flip("the same for all", CONTRADICTED, lambda row: {"false_positives": 0.1}),
]
PARETO_TABLE = [
    Flip("rises", CONTRADICTED, lambda row: {"links": 10 * row["alpha"] + 1}),
    Flip(
        "rises in the middle",
        SAME_SHAPE,
        only(column("alpha", 2.0), lambda row: {"links": 3 * row["links"]}),
    ),
    Flip("the same for all", CONTRADICTED, lambda row: {"links": 10.0}),
]
MESSAGES = [
    Flip(
        "as dear as gossip",
        CONTRADICTED,
        only(column("system", "overlay"), lambda row: {"messages_per_event": 10_000.0}),
    ),
    Flip(
        "to keep the links costs nothing",
        REPRODUCED,
        only(column("system", "overlay"), lambda row: {"membership": 0.1}),
    ),
    Flip(
        "to keep the links is dear",
        CONTRADICTED,
        only(column("system", "overlay"), lambda row: {"membership": 10_000.0}),
    ),
    Flip("half is lost", CONTRADICTED, only(column("system", "overlay"), lambda row: {"delivery": 0.5})),
]
RESILIENCE = [
    Flip(
        "no repair",
        CONTRADICTED,
        only(column("when", "after repair"), lambda row: {"missed": row["wanted"] // 2}),
    ),
]
EQUAL = [
    Flip(
        "neither relays",
        REPRODUCED,
        only(column("system", "hypercube"), lambda row: {"other": 0}),
    ),
    Flip(
        "twice as many",
        CONTRADICTED,
        only(column("system", "overlay"), lambda row: {"same_cell": 2 * row["same_cell"] + 10}),
    ),
]
JOIN_OVERHEAD = [
    Flip("as the formula says", REPRODUCED, at("dynamic", lambda row: {"join_messages": 2_700.0})),
    Flip("linear in N", CONTRADICTED, at("dynamic", lambda row: {"join_messages": float(row["peers"])})),
]
FIGURE_6A = [
    Flip(
        "more where the condition holds",
        CONTRADICTED,
        formula(lambda row: {"join": 3 * row["join"]}),
    ),
    Flip("less at the panel's ratio", REPRODUCED, lambda row: {"join": row["join"] / 10, "own_event": 0.0}),
    Flip("as counted never less", CONTRADICTED, counted(lambda row: {"own_event": row["event"]})),
]
PUBLISH_MORE = [
    Flip("the formulas agree", REPRODUCED, lambda row: {"join": row["event"] / 2, "own_event": 0.0}),
    Flip("events cost as much here", CONTRADICTED, counted(lambda row: {"own_event": row["event"]})),
    Flip("joins are dear", CONTRADICTED, counted(lambda row: {"join": 1e6})),
]

FLIPS: dict[str, list[Flip]] = {
    "seed-002/identity-subsumption": [
        Flip("one is not contained", CONTRADICTED, lambda row: {"subsumed": row["subsumed"] - 1}),
        Flip("nobody covers anybody", CONTRADICTED, lambda row: {"covered": 0, "subsumed": 0}),
    ],
    "seed-002/identity-distance": [
        Flip("no relation", CONTRADICTED, lambda row: {"correlation": 0.1}),
        Flip("who shares is nearer", REPRODUCED, lambda row: {"sharing_nearer": 0.95}),
    ],
    "seed-002/table-bound": [
        Flip("within it", REPRODUCED, lambda row: {"links": min(row["links"], 2_049)}),
    ],
    "seed-002/table-bound-paper": [
        Flip("one more", CONTRADICTED, only(column("crowd", "hub"), lambda row: {"links": 2_050})),
        Flip("in the market", CONTRADICTED, only(column("crowd", "market"), lambda row: {"links": 3_000})),
    ],
    "seed-002/clusters": CLUSTERS,
    "seed-002/clusters-paper": CLUSTERS,
    "seed-002/shared-interest": [
        Flip("an island", CONTRADICTED, lambda row: {"routes": 0.9}),
        Flip("others are nearer", CONTRADICTED, lambda row: {"nearest": row["sides"] // 2}),
        Flip("rings are open", CONTRADICTED, lambda row: {"missed": row["wanted"] // 2}),
    ],
    "seed-002/shared-interest-paper": [
        Flip("all are found", REPRODUCED, lambda row: {"nearest": row["sides"], "missed": 0}),
    ],
    "seed-002/only-interested": ONLY_INTERESTED,
    "seed-002/only-interested-paper": ONLY_INTERESTED,
    "seed-002/messages-per-event": MESSAGES,
    "seed-002/messages-per-event-paper": MESSAGES,
    "seed-002/static-depth": STATIC_DEPTH,
    "seed-002/static-depth-paper": STATIC_DEPTH,
    "seed-002/static-table": STATIC_TABLE,
    "seed-002/static-table-paper": STATIC_TABLE,
    "seed-002/pareto-false-positives": PARETO_FALSE_POSITIVES,
    "seed-002/pareto-false-positives-paper": PARETO_FALSE_POSITIVES,
    "seed-002/pareto-table": PARETO_TABLE,
    "seed-002/pareto-table-paper": PARETO_TABLE,
    "seed-002/dynamic-table": [
        Flip("larger", REPRODUCED, at("dynamic", lambda row: {"links": 2 * row["links"]})),
    ],
    "seed-002/dynamic-table-paper": [
        Flip("larger", REPRODUCED, at("dynamic", lambda row: {"links": 2 * row["links"]})),
    ],
    "seed-002/dynamic-depth": [
        Flip("less deep", REPRODUCED, at("dynamic", lambda row: {"depth": row["depth"] / 2})),
        Flip("less deep when larger", CONTRADICTED, at("dynamic", lambda row: {"depth": 1_000 / row["peers"]})),
    ],
    "seed-002/dynamic-depth-paper": [
        Flip("deeper", SAME_SHAPE, at("dynamic", lambda row: {"depth": 3 * row["depth"]})),
        Flip("deeper, and less when larger", CONTRADICTED, at("dynamic", lambda row: {"depth": 1_000 / row["peers"]})),
    ],
    "seed-002/hops-and-tables": [
        Flip(
            "inversely proportional",
            REPRODUCED,
            lambda row: {"links": 10.0, "depth": 1.0} if row["setting"] == "static" else {"links": 5.0, "depth": 2.0},
        ),
        Flip("in proportion", CONTRADICTED, lambda row: {"depth": row["links"]}),
    ],
    "seed-002/hops-and-tables-paper": [
        Flip("inversely proportional", REPRODUCED, lambda row: {"depth": 1 / row["links"]}),
        Flip("against each other, by little", SAME_SHAPE, lambda row: {"depth": row["links"] ** -0.3}),
    ],
    "seed-002/resilience": RESILIENCE,
    "seed-002/resilience-paper": RESILIENCE,
    "seed-002/equal-false-positives": EQUAL,
    "seed-002/equal-false-positives-paper": [
        Flip("alike in a wanted cell", REGIME, lambda row: {"same_cell": 100}),
        Flip("alike everywhere", REPRODUCED, lambda row: {"same_cell": 100, "other": 0}),
    ],
    "seed-002/half-the-bits": [
        Flip("half of them, and d/2 steps", REPRODUCED, lambda row: {"share": 0.5, "steps": 512.0}),
    ],
    "seed-002/diameter": DIAMETER,
    "seed-002/diameter-paper": DIAMETER,
    "seed-002/join-overhead": JOIN_OVERHEAD,
    "seed-002/join-overhead-paper": JOIN_OVERHEAD,
    "seed-002/relay-probability": [
        Flip("as the formula says", REPRODUCED, lambda row: {"uninterested_per_event": row["stated_messages"]}),
    ],
    "seed-002/figure-6a": FIGURE_6A,
    "seed-002/figure-6a-paper": FIGURE_6A,
    "seed-002/figure-6b": [
        Flip(
            "at the stated place", REPRODUCED, counted(lambda row: {"join": 1_301 * (row["event"] - row["own_event"])})
        ),
        Flip(
            "no threshold at the small end", REGIME, counted(only(column("peers", 64), lambda row: {"own_event": 1e6}))
        ),
        Flip("no threshold", CONTRADICTED, counted(lambda row: {"own_event": 1e6})),
        Flip("the formulas cross elsewhere", CONTRADICTED, formula(lambda row: {"join": 2 * row["join"]})),
    ],
    "seed-002/figure-6b-paper": [
        Flip("a threshold at every size", SAME_SHAPE, counted(lambda row: {"own_event": 0.0})),
        Flip("no threshold", CONTRADICTED, counted(lambda row: {"own_event": 1e6})),
        Flip("the formulas cross elsewhere", CONTRADICTED, formula(lambda row: {"join": 2 * row["join"]})),
    ],
    "seed-002/publish-more": PUBLISH_MORE,
    "seed-002/publish-more-paper": PUBLISH_MORE,
    "seed-002/false-negatives": [
        Flip("one in fifty is missed", CONTRADICTED, lambda row: {"missed": row["wanted"] / 50}),
    ],
    "seed-002/false-negatives-paper": [
        Flip("none is missed", REPRODUCED, lambda row: {"missed": 0}),
    ],
}


def sees_one_side(patch: pytest.MonkeyPatch) -> None:
    """Let tables keep the covered nodes alone: few links, and rings that are open."""
    patch.setattr(LinkTable, "chosen", property(lambda table: set(table.parents)))


def takes_all(patch: pytest.MonkeyPatch) -> None:
    """Let the printed scan take everybody."""

    def select(own: Any, known: Any, rule: Any) -> Selection:
        return Selection((), frozenset(one.node for one in known), frozenset())

    patch.setattr(paper, "select", select)


def relays_nothing(patch: pytest.MonkeyPatch) -> None:
    """Let an event stop at the first who gets it."""
    patch.setattr(dissemination, "_receivers", lambda state, event: [])


def joins_at_triple_price(patch: pytest.MonkeyPatch) -> None:
    """Let the formula of Proposition 2 be another."""
    stated = others.join_overhead
    patch.setattr(others, "join_overhead", lambda **settings: 3 * stated(**settings))


def floods(patch: pytest.MonkeyPatch) -> None:
    """Let every event go along every link."""
    patch.setattr(
        dissemination,
        "_receivers",
        lambda state, event: [(node, False) for node in state.table.known],
    )


BROKEN: list[tuple[str, str, Callable[[pytest.MonkeyPatch], None]]] = [
    ("seed-002/table-bound", "tables of parents alone", sees_one_side),
    ("seed-002/table-bound-paper", "the scan takes everybody", takes_all),
    ("seed-002/figure-6a", "a join by the formula costs three times as much", joins_at_triple_price),
    ("seed-002/figure-6b", "a join by the formula costs three times as much", joins_at_triple_price),
    ("seed-002/messages-per-event", "an event stops at once", relays_nothing),
    ("seed-002/publish-more", "every link gets every event", floods),
    ("seed-002/false-negatives", "an event stops at once", relays_nothing),
]
