"""The worked example, played by two participants: A writes T1 to T4, B wants T1, T3 and T5; then A writes T5."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rookery.papers.announced import ListeningNetwork, read, write
from rookery.papers.figures import bars, chart
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

#: How many other endpoints A has. With 8 of them in 16 slots, T5 is the one that passes 80 %; with none the 4 slots
#: are full at T4 already.
FULL = grid(others=[0, 8], runs=10)
QUICK = grid(others=[0, 8], runs=5)
SECOND, TYPE = 1_000_000, "Sample"


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Let two participants play it; another seed gives other names."""
    others, network = parameters["others"], ListeningNetwork(seed)
    one = network.join(discovery="cuckoo:patent" if others else "cuckoo:patent,buckets=2")
    two = network.join(discovery="cuckoo:patent")

    def topic(number: int) -> str:
        return f"T{number} of {seed}"

    def asked() -> str:
        """Which topics B has told A that it reads."""
        told = {endpoint.announcement.topic for endpoint in one.participant.remote_endpoints}
        return " ".join(f"T{number}" for number in (1, 3, 5) if topic(number) in told)

    for number in range(others):
        write(one, f"other {number} of {seed}", TYPE)
    for number in (1, 2, 3, 4):
        write(one, topic(number), TYPE)
    wanted = {number: read(two, topic(number), TYPE) for number in (1, 3, 5)}
    network.run(SECOND)
    early, paired = asked(), sum(bool(two.participant.matched(wanted[number])) for number in (1, 3))
    before = network.of(one)[-1].filter
    write(one, topic(5), TYPE)
    network.run(SECOND)
    after = network.of(one)[-1]
    return [
        {
            "first_answer": early,
            "second_answer": asked(),
            "paired_first": paired,
            "paired": sum(bool(two.participant.matched(guid)) for guid in wanted.values()),
            "filters_sent": len(after.filter.tables),
            "grew_at_t5": after.filter.tables[0].log2_buckets > before.tables[0].log2_buckets,
            "bytes": len(after.container),
        }
    ]


def plot(table: Table) -> Any:
    """Draw how often each answer came."""
    figure, axes = chart("share of the runs", "")
    count = len(table)
    right = (
        sum(row["first_answer"] == "T1 T3" for row in table),
        sum(row["second_answer"] == "T1 T3 T5" for row in table),
    )
    bars(axes, {"B first asks for T1 and T3": right[0] / count, "then for T5 as well": right[1] / count}, form="{:.0%}")
    return figure


def check(table: Table) -> Judgment:
    """B must ask for T1 and T3, then T5 too; a false positive may add T5 early."""
    late = all(row["second_answer"] == "T1 T3 T5" for row in table)
    early = sum(row["first_answer"] == "T1 T3" for row in table)
    never_less = all(str(row["first_answer"]).startswith("T1 T3") for row in table)
    grown = table.where(others=8)
    paired = set(table.list("paired_first")) == {2} and set(table.list("paired")) == {3}
    holds = late and never_less and paired and all(grown.list("grew_at_t5")) and set(grown.list("filters_sent")) == {2}
    return Judgment(
        Verdict.REPRODUCED if holds else Verdict.CONTRADICTED,
        f"T1 and T3 in {early} of {len(table)} runs, then T5 in all {len(table)}",
        f"B asks for T1 and T3 ({len(table) - early} of {len(table)} times for T5 as well, a false positive), and "
        "after A has added T5 for all three. Where T5 is the endpoint that passes 80 %, the filter doubles then and "
        "two filters are sent. With a table of four slots, the smallest that holds T1 to T4, it has doubled at T4 "
        "already.",
    )
