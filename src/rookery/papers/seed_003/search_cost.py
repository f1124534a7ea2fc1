"""Section 3.3: looking up a near resident takes one hop; measuring would take a probe of every candidate.

Simulated brokers locate residents by Algorithm 3. A question is one index that is asked, a measurement one round trip
to a candidate. A search that is cheap because it finds nothing would prove nothing, so what it found is judged too: the
share of the candidates that are nearer than the chosen one, which is a half for a choice at random.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rookery.papers.figures import charts, lines
from rookery.papers.placed import PlacedBrokers
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict
from rookery.space.zones import inside

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(brokers=[16, 32, 64], runs=3)
QUICK = grid(brokers=[12, 48], runs=1)
#: Zones with fewer residents leave nothing to choose.
FEWEST = 3
#: The first place and four neighbors at most; and nearer than three of four candidates.
MOST_QUESTIONS, NEARER = 5, 0.25


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
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
    return [
        {
            "questions": questions / max(1, located),
            "candidates": widest,
            "nearer": sum(nearer) / len(nearer) if nearer else 1.0,
        }
    ]


def plot(table: Table) -> Any:
    """Draw the questions beside the candidates, and how good the choice is."""
    figure, (left, right) = charts(
        ("N, brokers", "questions or measurements for the widest zone"),
        ("N, brokers", "candidates nearer than the chosen"),
    )
    lines(left, table, x="brokers", y="candidates", label="measure every resident")
    lines(left, table, x="brokers", y="questions", label="Algorithm 3, as it runs here", first=1)
    lines(right, table, x="brokers", y="nearer", label="share", first=1)
    for axes in (left, right):
        axes.set_xscale("log", base=2)
    left.set_yscale("log")
    right.set_ylim(0, 1)
    return figure


def check(table: Table) -> Judgment:
    """The questions must stay few while the candidates grow, and what is found must be near."""
    first, last = (table.where(brokers=size) for size in (table.least("brokers"), table.most("brokers")))
    few = 0 < table.most("questions") <= MOST_QUESTIONS and last.mean("candidates") > last.mean("questions")
    grows = last.mean("candidates") > 2 * first.mean("candidates")
    near = last.mean("nearer") < NEARER
    return Judgment(
        Verdict.REPRODUCED if few and grows and near else Verdict.CONTRADICTED,
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
