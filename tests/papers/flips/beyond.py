"""Beyond the seeds: what flips the claims about the parts together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.papers.flips import CONTRADICTED, Flip, only

#: Sockets and Spark, or many filters: judged from the committed rows; `test_reproduce.py` runs the quick
#: parameters of the first, and with --slow of both.
COMMITTED = {"beyond/one-answer", "beyond/ribbon-size"}

FLIPS: dict[str, list[Flip]] = {
    "beyond/ribbon-size": [
        Flip(
            "the ribbon is a tenth above the floor",
            CONTRADICTED,
            only(lambda row: row["structure"] == "ribbon", lambda row: {"of_floor": 1.1}),
        ),
        Flip(
            "another one is nearer",
            CONTRADICTED,
            only(lambda row: row["structure"] == "golomb" and row["endpoints"] == 100, lambda row: {"of_floor": 0.9}),
        ),
    ],
    "beyond/zones-and-matrices": [
        Flip(
            "one pair differs",
            CONTRADICTED,
            only(lambda row: row["subscriptions"] == 1000, lambda row: {"same_pairs": False}),
        ),
        Flip(
            "zones are slower",
            CONTRADICTED,
            only(lambda row: row["method"] != "one matrix", lambda row: {"ns": 10.0**9}),
        ),
    ],
    "beyond/one-answer": [
        Flip("one missed", CONTRADICTED, only(lambda row: row["route"] == "Spark", lambda row: {"missed": 1})),
        Flip("one extra", CONTRADICTED, only(lambda row: row["route"] == "live overlay", lambda row: {"extra": 1})),
        Flip("no pair at all", CONTRADICTED, lambda row: {"pairs": 0}),
    ],
}

BROKEN: list[tuple[str, str, Callable[..., Any]]] = []
