"""Seed 004, the predicate matrix: what flips its claims. What rests on a time is judged from the committed rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.papers.flips import CONTRADICTED, REGIME, REPRODUCED, Flip, only

from rookery.papers import telemetry
from rookery.papers.interpreted import PlainMatrix
from rookery.papers.table import Row


def matrix(row: Row) -> bool:
    return row["algorithm"] == "matrix"


def few(row: Row) -> bool:
    return row["subscriptions"] <= 40


FLIPS: dict[str, list[Flip]] = {
    "seed-004/same-answer": [
        Flip(
            "one answers otherwise",
            CONTRADICTED,
            only(lambda row: row["subscriptions"] == 40, lambda row: {"differing": 1}),
        ),
        Flip("nothing matches", CONTRADICTED, lambda row: {"matches": 0}),
    ],
    "seed-004/fewer-tests": [
        Flip("as many as the scan", CONTRADICTED, only(matrix, lambda row: {"tests": 10.0**6})),
        Flip(
            "more than the index",
            REGIME,
            lambda row: {"tests": {"matrix": 2.0, "index": 1.0}.get(str(row["algorithm"]), 3.0)},
        ),
        Flip(
            "more than counting from 160 on",
            CONTRADICTED,
            only(lambda row: matrix(row) and row["subscriptions"] >= 160, lambda row: {"tests": 10.0**6}),
        ),
    ],
    "seed-004/column-order": [
        Flip(
            "the order costs",
            CONTRADICTED,
            only(lambda row: row["order"] == "common first", lambda row: {"tests": 10.0**6}),
        ),
        Flip(
            "it saves half everywhere",
            REPRODUCED,
            only(lambda row: row["order"] == "common first", lambda row: {"tests": 0.0}),
        ),
        Flip(
            "it changes an answer",
            CONTRADICTED,
            only(lambda row: row["order"] == "common first", lambda row: {"matches": row["matches"] + 1}),
        ),
    ],
    "seed-004/linear-time": [
        Flip("quadratic", CONTRADICTED, lambda row: {"ns": row["subscriptions"] ** 2}),
        Flip("linear everywhere", REPRODUCED, lambda row: {"ns": row["subscriptions"]}),
    ],
    "seed-004/threshold-interpreted": [
        Flip("the fastest up to 40", REPRODUCED, only(matrix, lambda row: {"ns": 1.0})),
        Flip("slower than counting", CONTRADICTED, only(matrix, lambda row: {"ns": 10.0**9})),
        Flip(
            "slower at 40 alone",
            CONTRADICTED,
            only(lambda row: matrix(row) and row["subscriptions"] == 40, lambda row: {"ns": 10.0**9}),
        ),
    ],
    "seed-004/threshold-compiled": [
        Flip("slower than counting", CONTRADICTED, only(matrix, lambda row: {"ns": 10.0**9})),
        Flip("the index is faster", REGIME, only(lambda row: row["algorithm"] == "index", lambda row: {"ns": 1.0})),
        Flip(
            "slower at 40 alone",
            CONTRADICTED,
            only(lambda row: matrix(row) and row["subscriptions"] == 40, lambda row: {"ns": 10.0**9}),
        ),
    ],
    "seed-004/brute-force": [
        Flip("slower than the scan", CONTRADICTED, only(matrix, lambda row: {"ns": 10.0**9})),
        Flip(
            "faster at 5 alone",
            REGIME,
            only(lambda row: matrix(row) and row["subscriptions"] > 5, lambda row: {"ns": 10.0**9}),
        ),
        Flip(
            "slower where it is small alone",
            CONTRADICTED,
            only(lambda row: matrix(row) and few(row), lambda row: {"ns": 10.0**9}),
        ),
    ],
    "seed-004/rate-reading": [
        Flip(
            "even at 40 a second",
            REPRODUCED,
            lambda row: (
                {"event_us": 10.0, "arrival_us": 700.0}
                if row["engine"] == "matrix"
                else {"event_us": 22.0, "arrival_us": 400.0}
            ),
        ),
        Flip(
            "cheaper in both",
            CONTRADICTED,
            only(lambda row: row["engine"] == "matrix", lambda row: {"arrival_us": 1.0}),
        ),
        Flip(
            "dearer in both",
            CONTRADICTED,
            only(lambda row: row["engine"] == "matrix", lambda row: {"event_us": 10.0**6}),
        ),
    ],
}


def keeps_what_it_covers(patch: pytest.MonkeyPatch) -> None:
    """Let the matrix answer with one match too few."""
    probe = PlainMatrix.probe
    patch.setattr(PlainMatrix, "probe", lambda made, codes, living: probe(made, codes, living)[:-1])


def tests_everything(patch: pytest.MonkeyPatch) -> None:
    """Let the matrix test every predicate of every row, as the scan does."""

    class Scan(telemetry.INTERPRETED["scan"]):  # type: ignore[misc]
        pass

    patch.setitem(telemetry.INTERPRETED, "matrix", Scan)


BROKEN: list[tuple[str, str, Callable[[pytest.MonkeyPatch], Any]]] = [
    ("seed-004/same-answer", "a row is deleted that matches", keeps_what_it_covers),
    ("seed-004/fewer-tests", "no row is deleted", tests_everything),
]
