"""Claim 8: each endpoint has two places, p1 = hash and p2 = p1 xor hash(fingerprint), each found from the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rookery.papers.endpoints import endpoint_keys
from rookery.papers.figures import chart, lines, reference
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict
from rookery.filters.cuckoo.plain import bucket_offset
from rookery.filters.cuckoo.table import CuckooTable
from rookery.filters.hashing import KeyHasher, fmix64

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(log2_buckets=[1, 2, 4, 6, 8, 10, 12], width=8, tables=10)
QUICK = grid(log2_buckets=[1, 2, 4, 6, 8], width=8, tables=10)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Fill tables to 75 %, with displacements; compare where each fingerprint lies with where its key says."""
    width, buckets = parameters["width"], 1 << parameters["log2_buckets"]
    counted = dict.fromkeys(("keys", "at_first", "at_second", "led", "found", "one_place"), 0)
    written = 0
    for number in range(parameters["tables"]):
        table = CuckooTable(log2_buckets=parameters["log2_buckets"], width=width)
        keys = endpoint_keys(3 * buckets // 2, seed=seed, owner=f"table{number}-")
        hashes = KeyHasher(seed=0).many(keys)
        done = table.insert_many(hashes)
        counted["keys"] += done
        counted["found"] += sum(table.contains_hash(one) for one in hashes[:done].tolist())
        for slot in np.flatnonzero(table.slots).tolist():
            bucket, value, tag = slot // 2, int(table.shadow[slot]), int(table.slots[slot])
            as_written = fmix64((value >> 57) + 1) & (buckets - 1)  # of the seven bits of the fingerprint
            first = value & (buckets - 1)
            second = first ^ max(1, as_written)
            written += as_written == 0
            counted["at_first"] += bucket == first
            counted["at_second"] += bucket == second
            counted["one_place"] += first == second
            # What a displacement knows is the slot alone: its bucket and its fingerprint.
            counted["led"] += {bucket, bucket ^ bucket_offset(tag, width, buckets)} == {first, second}
    return [{"buckets": buckets, **counted, "same_place_as_written": written / counted["keys"]}]


def plot(table: Table) -> Any:
    """Draw how often the two places would be one, as written."""
    figure, axes = chart("buckets", "fingerprints whose two places are one, as written")
    lines(axes, table, x="buckets", y="same_place_as_written", label="measured")
    sizes = table.values("buckets")
    reference(axes, sizes, [1 / size for size in sizes], "1 / buckets")
    axes.set_xscale("log", base=2)
    return figure


def check(table: Table) -> Judgment:
    """Every fingerprint in one of its two places, both in use, each leading to the other, and all keys found."""
    keys, first, second = (table.total(name) for name in ("keys", "at_first", "at_second"))
    led, found = table.total("led"), table.total("found")
    holds = first + second == led == found == keys and not table.total("one_place") and second > 0.05 * keys
    return Judgment(
        Verdict.REPRODUCED if holds else Verdict.CONTRADICTED,
        f"{first:,} of {keys:,} fingerprints in the first place, {second:,} in the second; {led:,} lead to the other",
        f"Of {keys:,} fingerprints in tables filled to 75 % {first:,} lie in the place that the key's hash names and "
        f"{second:,} in the other, and from the slot alone the other place is found for {led:,}, so a fingerprint can "
        "be moved without knowing its key. As written the hash can be 0, and then both places are one, for one "
        "fingerprint in as many as there are buckets; here it is never 0.",
    )
