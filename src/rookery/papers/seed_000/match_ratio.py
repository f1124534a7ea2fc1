"""Section 3: do false positives keep a joining node from being discovered?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rookery.papers.endpoints import absent_keys, endpoint_keys
from rookery.papers.figures import chart, lines
from rookery.papers.joiners import PEERS
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict
from rookery.filters import summarize

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(
    rate=[0.5, 0.1, 0.03, 0.01, 0.001], structure=["bloom", "tree"], endpoints=50, peers=PEERS, wanted=20, runs=10
)
QUICK = grid(rate=[0.5, 0.1, 0.01], structure=["bloom", "tree"], endpoints=50, peers=PEERS, wanted=20, runs=1)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Let a joiner ask each peer's summary for topics, half of which the peer has."""
    wanted = parameters["wanted"]
    true = found = false = 0
    for peer in range(parameters["peers"]):
        keys = endpoint_keys(parameters["endpoints"], seed=seed, owner=f"peer{peer}-")
        summary = summarize(keys, parameters["structure"], parameters["rate"])
        true += wanted
        found += int(np.count_nonzero(summary.contains_many(keys[:wanted])))
        false += int(np.count_nonzero(summary.contains_many(absent_keys(wanted, seed=seed + 1000 * peer))))
    return [{"discovered": found / true, "precision": found / (found + false), "needless": false / true}]


def plot(table: Table) -> Any:
    """Draw what is discovered, and what of it is right."""
    figure, axes = chart("false-positive rate that the summary is made for", "share")
    bloom = table.where(structure="bloom")
    lines(axes, bloom, x="rate", y="discovered", label="true matches discovered")
    lines(axes, bloom, x="rate", y="precision", label="answers that are true matches", first=1)
    axes.set_xscale("log")
    axes.set_ylim(0, 1.05)
    return figure


def check(table: Table) -> Judgment:
    """The claim is that discovery falls short of 100 %."""
    worst = table.where(rate=table.most("rate"))
    least = table.least("discovered")
    return Judgment(
        Verdict.CONTRADICTED if least == 1 else Verdict.REPRODUCED,
        f"{least:.0%} discovered at every rate; {worst.mean('precision'):.0%} of the answers right at a rate of "
        f"{table.most('rate'):.0%}",
        "A false positive adds a match that is none; it never takes one away. Every true match was discovered at every "
        f"rate, even at {table.most('rate'):.0%}, where {1 - worst.mean('precision'):.0%} of the answers were needless "
        "and cost one exchange each. What can make discovery fall short is the printed search (see printed-search).",
    )
