"""Claim 8: each endpoint has two places, p1 = hash and p2 = p1 xor hash(fingerprint), each found from the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rookery.experiments.figures import chart, lines, reference
from rookery.experiments.sweeps import grid
from rookery.experiments.table import Row, Table
from rookery.experiments.verdicts import Judgment, Verdict
from rookery.filters.cuckoo.plain import bucket_offset
from rookery.filters.hashing import fmix64

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(log2_buckets=[1, 2, 4, 6, 8, 10, 12], width=8)
QUICK = grid(log2_buckets=[1, 2, 4, 6, 8], width=8)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Go through every fingerprint, and every bucket of a sample."""
    buckets, width = 1 << parameters["log2_buckets"], parameters["width"]
    tags = range(1 << (width - 1), 1 << width)
    returns = pairs = same = 0
    for tag in tags:
        offset = bucket_offset(tag, width, buckets)
        for bucket in range(min(buckets, 64)):
            pairs += 1
            returns += (bucket ^ offset) < buckets and (bucket ^ offset) ^ offset == bucket and offset != 0
        same += fmix64((tag & 0x7F) + 1) & (buckets - 1) == 0  # as written, before 0 is avoided
    return [{"buckets": buckets, "pairs": pairs, "returns": returns, "same_place_as_written": same / len(tags)}]


def plot(table: Table) -> Any:
    """Draw how often the two places would be one, as written."""
    figure, axes = chart("buckets", "fingerprints whose two places are one, as written")
    lines(axes, table, x="buckets", y="same_place_as_written", label="measured")
    sizes = table.values("buckets")
    reference(axes, sizes, [1 / size for size in sizes], "1 / buckets")
    axes.set_xscale("log", base=2)
    return figure


def check(table: Table) -> Judgment:
    """Going there and back must end at the start, always."""
    returns, pairs = table.total("returns"), table.total("pairs")
    return Judgment(
        Verdict.REPRODUCED if returns == pairs else Verdict.CONTRADICTED,
        f"{returns:,} of {pairs:,} pairs of places lead to each other",
        "XOR with a hash of the fingerprint leads from each place to the other, so a fingerprint can be moved without "
        f"knowing its key: {returns:,} of {pairs:,}. As written the hash can be 0, and then both places are one, for "
        "one fingerprint in as many as there are buckets; here it is never 0.",
    )
