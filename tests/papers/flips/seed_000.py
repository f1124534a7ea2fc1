"""Seed 000, the Bloom counting tree: what flips its claims."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.papers.flips import CONTRADICTED, NOT_TESTABLE, REGIME, REPRODUCED, Flip, only

from rookery.discovery import protocols
from rookery.filters import BloomTree
from rookery.filters.tree import QueryResult
from rookery.papers.table import Row
from rookery.participant import pairing


def tree(row: Row) -> bool:
    return row["protocol"] == "tree"


def bloom(row: Row) -> bool:
    return row["protocol"] == "bloom"


def simple(row: Row) -> bool:
    return row["protocol"] == "simple"


def packet(part: str, **columns: Any) -> Callable[[Row], Row]:
    return only(lambda row: part in row["packet"], lambda row: columns)


def stated_delay(row: Row) -> Row:
    """Return delays as Figure 3 has them: SDP first below four layers, then HBF_ADA, ever more."""
    layers = row["layers"]
    return {"delay_us": {"SDP": 10 << layers, "BF_SDP": 120 + 20 * layers, "HBF_ADA": 100 + layers}[row["protocol"]]}


FLIPS: dict[str, list[Flip]] = {
    "seed-000/false-positive-rate": [
        Flip("the formula holds for four keys too", REPRODUCED, lambda row: {"rate": row["equation"]}),
        Flip("large filters have twice the rate", CONTRADICTED, lambda row: {"rate": 2 * row["equation"]}),
    ],
    "seed-000/optimal-hash-count": [
        Flip("least at k = 1", CONTRADICTED, only(lambda row: row["k"] == 1, lambda row: {"rate": 0.0})),
        Flip("twice the minimum", CONTRADICTED, lambda row: {"rate": 2 * row["rate"]}),
    ],
    "seed-000/theorem-union": [
        Flip("one pair is another", CONTRADICTED, lambda row: {"union_holds": row["union_holds"] - 1}),
    ],
    "seed-000/theorem-intersection": [
        Flip("every pair is equal", REPRODUCED, lambda row: {"intersection_holds": row["pairs"]}),
    ],
    "seed-000/tree-levels": [
        Flip("a level more", CONTRADICTED, lambda row: {"levels": row["levels"] + 1}),
        Flip(
            "a level more where N is no whole tree",
            CONTRADICTED,
            only(lambda row: row["namespace_size"] == 100, lambda row: {"levels": row["levels"] + 1}),
        ),
        Flip(
            "C6 is not found",
            CONTRADICTED,
            only(lambda row: row["namespace_size"] == 14, lambda row: {"found": 2}),
        ),
    ],
    "seed-000/built-once": [
        Flip("a member is missed", CONTRADICTED, lambda row: {"missed": 1}),
        Flip("an answer is another", CONTRADICTED, lambda row: {"changed_answers": 1}),
        Flip("other bits", CONTRADICTED, lambda row: {"same_bits": False}),
    ],
    "seed-000/counter-distribution": [
        Flip("counters count twice", CONTRADICTED, lambda row: {"share": row["share"] if row["j"] % 2 == 0 else 0.0}),
        Flip("a counter in twenty is idle", CONTRADICTED, lambda row: {"share": 0.95 * row["share"]}),
    ],
    "seed-000/counter-bound": [
        Flip("shares above equation 3", CONTRADICTED, lambda row: {"share": min(1.0, 1.6 * row["tight_bound"])}),
        Flip("counters that do not count", CONTRADICTED, lambda row: {"share": 0.0 if row["j"] > 2 else 1.0}),
        Flip("the right side below the middle", CONTRADICTED, lambda row: {"bound": 0.9 * row["tight_bound"]}),
        Flip("equation 4 is not equation 3", CONTRADICTED, lambda row: {"optimal_bound": 2 * row["optimal_bound"]}),
        Flip("too few filters", NOT_TESTABLE, lambda row: {"filters": 5}),
    ],
    "seed-000/counter-overflow": [
        Flip("a full counter", CONTRADICTED, lambda row: {"largest": 15}),
        Flip("another constant", CONTRADICTED, lambda row: {"equation_5": 1.1 * row["equation_5"]}),
        Flip("equation 3 above it", CONTRADICTED, lambda row: {"equation_3": 2 * row["equation_5"]}),
    ],
    "seed-000/dynamic-rows": [
        Flip("a row for every element", CONTRADICTED, lambda row: {"rows": row["n"]}),
        Flip("one row for all", CONTRADICTED, lambda row: {"rows": 1, "dynamic_rate": row["fixed_rate"]}),
        Flip("no row ever goes", CONTRADICTED, lambda row: {"rows_after": row["rows"]}),
        Flip("one is missed", CONTRADICTED, lambda row: {"missed": 1}),
        Flip("one is missed when others have gone", CONTRADICTED, lambda row: {"missed_after": 1}),
        Flip("as bad as a fixed row", CONTRADICTED, lambda row: {"dynamic_rate": row["fixed_rate"]}),
        Flip("as large from the beginning", CONTRADICTED, lambda row: {"bits": row["bits_for_all"]}),
        Flip("small at any size", REPRODUCED, lambda row: {"dynamic_rate": min(row["dynamic_rate"], 0.02)}),
    ],
    "seed-000/construction-printed": [
        Flip(
            "the loop ends with the whole tree",
            REPRODUCED,
            lambda row: {"ended": True, "waiting": 0, "printed_nodes": row["stated_nodes"]},
        ),
    ],
    "seed-000/used-nodes": [
        Flip("a node is missing", CONTRADICTED, lambda row: {"missing": 1}),
        Flip("a node that nobody needs", CONTRADICTED, lambda row: {"needless": 1}),
        Flip("a node stays", CONTRADICTED, lambda row: {"left": 1}),
        Flip("the whole tree", CONTRADICTED, lambda row: {"nodes": row["all_nodes"]}),
    ],
    "seed-000/intersection-estimate": [
        Flip(
            "0 for disjoint nodes and for no others",
            REPRODUCED,
            lambda row: {"pruned_if_zero": 1.0, "lost_if_zero": 0.0},
        ),
    ],
    "seed-000/printed-search": [
        Flip(
            "finds all and leaves half of the nodes out",
            REPRODUCED,
            lambda row: {"found_printed": row["members"], "visited_printed": row["nodes"] // 2},
        ),
    ],
    "seed-000/search-steps": [
        Flip("nothing is found", CONTRADICTED, lambda row: {"found": 0}),
        Flip("one is not found", CONTRADICTED, lambda row: {"found": row["found"] - 1}),
        Flip("every node is visited", CONTRADICTED, lambda row: {"tree_steps": float((1 << row["layers"]) - 1)}),
        Flip("the list is shorter", CONTRADICTED, lambda row: {"tree_steps": 2 * row["list_steps"]}),
        Flip(
            "no more than at four layers",
            CONTRADICTED,
            only(lambda row: row["layers"] > 4, lambda row: {"tree_steps": row["list_steps"] / 14}),
        ),
        Flip("other levels", CONTRADICTED, lambda row: {"levels": row["levels"] + 2}),
    ],
    "seed-000/delay-layers": [
        Flip("as the seed says", REPRODUCED, lambda row: stated_delay(row)),
        Flip(
            "HBF_ADA is the smallest at every depth",
            REGIME,
            lambda row: {"delay_us": stated_delay(row)["delay_us"] + (1_000 if row["protocol"] == "SDP" else 0)},
        ),
    ],
    "seed-000/sub-nodes": [
        Flip("one filter knows the sub-node", CONTRADICTED, lambda row: {"one_filter": 1.0}),
        Flip("the tree finds nothing", CONTRADICTED, lambda row: {"tree": 0.0, "tree_right": 0.0}),
        Flip("the tree names another", CONTRADICTED, lambda row: {"tree_right": 0.9}),
        Flip("the tree leaves them all", CONTRADICTED, lambda row: {"tree": float(row["sub_nodes"])}),
        Flip("a live tree finds nothing", CONTRADICTED, lambda row: {"live_found": 0.0, "live_layer": 0.0}),
        Flip("a live tree has no layers", CONTRADICTED, lambda row: {"live_layer": 1 / row["sub_nodes"]}),
        Flip("keys do not help a filter", REPRODUCED, lambda row: {"one_filter_named": float(row["sub_nodes"])}),
    ],
    "seed-000/match-ratio": [
        Flip("one in a hundred is not discovered", REPRODUCED, lambda row: {"discovered": 0.99}),
    ],
    "seed-000/quality-of-service": [
        Flip("whatever fits is found in the tree", REPRODUCED, lambda row: {"fitting_printed": row["fitting_pairs"]}),
        Flip("not even the same is found", CONTRADICTED, lambda row: {"equal_printed": 0}),
        Flip("live, one that fits is missed", CONTRADICTED, lambda row: {"fitting_paired": row["fitting_paired"] - 1}),
        Flip("live, one that does not fit is paired", CONTRADICTED, lambda row: {"unfit_paired": 1}),
        Flip("live, nobody says why", CONTRADICTED, lambda row: {"unfit_refused": 0}),
    ],
    "seed-000/changes-announced": [
        Flip("one is not found", CONTRADICTED, only(tree, lambda row: {"found": row["found"] - 1})),
        Flip("one is not let go", CONTRADICTED, only(tree, lambda row: {"gone": row["gone"] - 1})),
        Flip("they had not met", CONTRADICTED, only(tree, lambda row: {"met_before": 0})),
    ],
    "seed-000/same-phases": [
        Flip("a third writer", CONTRADICTED, only(tree, lambda row: {"other_writers": 1})),
        Flip("another parameter", CONTRADICTED, only(tree, lambda row: {"other_parameters": 1})),
        Flip("other octets of an endpoint", CONTRADICTED, only(tree, lambda row: {"other_records": 1})),
        Flip("no tree is sent", CONTRADICTED, only(tree, lambda row: {"summaries": ""})),
        Flip("the tree decides nothing", CONTRADICTED, only(tree, lambda row: {"records": row["plain_records"]})),
        Flip(
            "a mixture misses one",
            CONTRADICTED,
            only(lambda row: row["protocol"] == "simple+tree", lambda row: {"missing": 1}),
        ),
    ],
    "seed-000/load-flat": [
        Flip("SDP grows", CONTRADICTED, only(simple, lambda row: {"kept": row["kept"] * (1 + row["ratio"])})),
        Flip("never the largest", CONTRADICTED, only(bloom, lambda row: {"kept": 10**6})),
        Flip("always the largest", REPRODUCED, only(lambda row: not simple(row), lambda row: {"kept": 1_000})),
        Flip("one is missing", CONTRADICTED, only(tree, lambda row: {"missing": 1})),
    ],
    "seed-000/load-order": [
        Flip("trees are small", REPRODUCED, only(tree, lambda row: {"kept": 500})),
        Flip(
            "where everything matches",
            REGIME,
            only(lambda row: tree(row) and row["ratio"] == 1, lambda row: {"kept": 500}),
        ),
    ],
    "seed-000/deletion": [
        Flip("the tree forgets nothing", CONTRADICTED, only(tree, lambda row: {"answered": row["gone"]})),
        Flip("live neither", CONTRADICTED, only(tree, lambda row: {"live_answered": row["live_gone"]})),
        Flip("readers keep their pairs", CONTRADICTED, only(simple, lambda row: {"live_paired": row["live_gone"]})),
        Flip("one that stays is lost", CONTRADICTED, only(tree, lambda row: {"live_lost": 1})),
        Flip("a filter forgets", CONTRADICTED, only(bloom, lambda row: {"answered": 0})),
        Flip("live filters forget nothing", REPRODUCED, only(bloom, lambda row: {"live_answered": row["live_gone"]})),
    ],
    "seed-000/wire-size": [
        Flip("the printed tree is small", REGIME, packet("printed", bytes=10)),
        Flip("every tree is small", REPRODUCED, only(lambda row: _is_tree(row), lambda row: {"bytes": 10})),
    ],
    "seed-000/early-match": [
        Flip("all is told", CONTRADICTED, only(bloom, lambda row: {"records": 10**6})),
        Flip("as many octets", CONTRADICTED, only(bloom, lambda row: {"octets": 10**9})),
        Flip("a match is missing", CONTRADICTED, only(bloom, lambda row: {"missing": 1})),
    ],
}


def _is_tree(row: Row) -> bool:
    return "HBF_ADA" in row["packet"] or row["packet"] == "live: tree"


def announces(**summaries: Any) -> Callable[[pytest.MonkeyPatch], None]:
    """Return what lets protocols announce something else; None lets them announce nothing."""

    def change(patch: pytest.MonkeyPatch) -> None:
        for protocol, made in summaries.items():
            patch.setitem(protocols._SUMMARIES, protocol, made)

    return change


def limited(limit: int) -> Callable[[pytest.MonkeyPatch], None]:
    """Return what gives a row another limit than the one for which its k is the best."""

    def change(patch: pytest.MonkeyPatch) -> None:
        made = BloomTree.__init__

        def make(self: BloomTree, *, row_capacity: int | None = None, **options: Any) -> None:
            made(self, row_capacity=limit if row_capacity is None else row_capacity, **options)

        patch.setattr(BloomTree, "__init__", make)

    return change


def searched(result: Callable[[BloomTree, QueryResult], QueryResult]) -> Callable[[pytest.MonkeyPatch], None]:
    """Return what makes another thing of every search."""

    def change(patch: pytest.MonkeyPatch) -> None:
        query = BloomTree.query
        patch.setattr(BloomTree, "query", lambda self, *keys, **options: result(self, query(self, *keys, **options)))

    return change


def nothing(tree: BloomTree, result: QueryResult) -> QueryResult:
    return QueryResult((), (), (0,))


def everywhere(tree: BloomTree, result: QueryResult) -> QueryResult:
    return replace(result, visited=tuple(tree.created_nodes))


def forgets_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(protocols._Rebuilt, "remove", lambda self, key: None)


def compares_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(pairing, "obstacles", lambda *, writer, reader: ())


BROKEN: list[tuple[str, str, Callable[[pytest.MonkeyPatch], None]]] = [
    ("seed-000/dynamic-rows", "a limit of 4", limited(4)),
    ("seed-000/dynamic-rows", "a limit of 24", limited(24)),
    ("seed-000/search-steps", "finds nothing", searched(nothing)),
    ("seed-000/search-steps", "leaves no node out", searched(everywhere)),
    ("seed-000/sub-nodes", "finds nothing", searched(nothing)),
    ("seed-000/same-phases", "no tree is sent", announces(tree=None)),
    ("seed-000/same-phases", "hashes instead of a tree", announces(tree=protocols._hashes)),
    ("seed-000/load-flat", "SDP sends a filter", announces(simple=protocols._bloom)),
    ("seed-000/load-flat", "no summaries", announces(bloom=None, tree=None)),
    ("seed-000/load-flat", "trees in which nothing is found", searched(nothing)),
    ("seed-000/load-order", "a tree as small as a ribbon", announces(tree=protocols._ribbon)),
    ("seed-000/changes-announced", "trees in which nothing is found", searched(nothing)),
    ("seed-000/deletion", "live filters that forget nothing", forgets_nothing),
    ("seed-000/quality-of-service", "policies that are not compared", compares_nothing),
]
