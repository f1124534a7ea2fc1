"""The run-length code of the filter against its load: measured bits, the worst case 9x + 4y, and the raw table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rookery.papers.endpoints import endpoint_keys
from rookery.papers.figures import chart, lines, reference
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict
from rookery.filters.cuckoo.codec import decode_slots
from rookery.filters.cuckoo.plain import encode_runs
from rookery.filters.cuckoo.table import CuckooTable
from rookery.filters.hashing import KeyHasher

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

#: Bits of an entry: the seed's, and the default for discovery.
WIDTHS = [8, 12]
LOADS = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.83, 0.86, 0.88]
FULL = grid(load=LOADS, log2_buckets=11, width=WIDTHS, runs=10)
QUICK = grid(load=LOADS, log2_buckets=9, width=WIDTHS, runs=2)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Fill a table to a load and write its code."""
    table = CuckooTable(log2_buckets=parameters["log2_buckets"], width=parameters["width"])
    slots = 2 * table.bucket_count
    wanted = round(parameters["load"] * slots)
    hashes = KeyHasher(seed=0).many(endpoint_keys(2 * slots, seed=seed))
    while table.count < wanted and hashes.size:  # a key that finds no room in a nearly full table is passed over
        done = table.insert_many(hashes[: wanted - table.count])
        hashes = hashes[done + 1 :]
    code = encode_runs(table.slots.tolist(), table.width)
    payload = int(code + "0" * (-len(code) % 8), 2).to_bytes((len(code) + 7) // 8, "big")
    back = decode_slots(payload, encoding=1, bit_count=len(code), slot_count=slots, width=table.width)
    x, y = table.count, slots - table.count
    return [
        {
            "slots": slots,
            "fingerprints": x,
            "code_bits": len(code),
            "worst_bits": (table.width + 1) * x + 4 * y,
            "raw_bits": table.width * slots,
            "same_back": bool((back == table.slots).all()),
            "ratio": len(code) / (table.width * slots),
        }
    ]


def plot(table: Table) -> Any:
    """Draw the code over the load, as a share of the raw table."""
    figure, axes = chart("load of the table", "bits, as a share of the raw table")
    lines(axes, table, x="load", y="ratio", by="width")
    loads = table.values("load")
    reference(
        axes, loads, [(9 * load + 4 * (1 - load)) / 8 for load in loads], "8 bits, worst case (9x + 4y) / 8(x + y)"
    )
    reference(axes, loads, [1.0 for _ in loads], "raw table")
    axes.set_ylim(bottom=0)
    return figure


def check(table: Table) -> Judgment:
    """The code must decode to the same table and never exceed 9x + 4y."""
    exceeded = sum(row["code_bits"] > row["worst_bits"] for row in table)
    holds = not exceeded and all(table.list("same_back"))
    low, half = (table.where(load=load, width=8).mean("ratio") for load in (0.1, 0.5))
    return Judgment(
        Verdict.REPRODUCED if holds else Verdict.CONTRADICTED,
        f"{low:.0%} of the raw table at a load of 10 %, {half:.0%} at 50 %; 9x + 4y never exceeded",
        "A non-empty entry takes 9 bits (or shares them with an equal neighbor) and up to eight empty ones take 4, so "
        f"no table exceeds 9x + 4y bits, and all {len(table):,} codes decode to the table they came from. The worst "
        f"case is far off while the table is empty, where runs are long: {low:.0%} of the raw size at a load of 10 %. "
        "Entries of 12 bits take 13 and 4.",
    )
