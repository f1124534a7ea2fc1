"""How fast a spool takes and gives records, beside SQLite with the same promise: durable before it counts.

`python -m benchmarks spool [--seconds 3]`. Both append the same records in groups of 1, 100 and 10,000, each group
durable before the next (SQLite: write-ahead log, `synchronous=FULL`, one transaction a group), and are then read from
end to end: the spool as Arrow batches with every checksum verified, SQLite as rows. Ratios matter, the disk decides
the rest.
"""

from __future__ import annotations

import argparse
import sqlite3
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow as pa

from rookery import Schema
from rookery.live.spool import Description, Spool, SpoolWriter, record_schema

QUOTES = Schema(symbol=str, price=float, size=int)
GROUPS = (1, 100, 10_000)


def rows(first: int, count: int) -> list[dict[str, Any]]:
    """Make records as the recorder does."""
    return [
        {"_writer": "0110bbd2310634021444f475:00000502", "_sequence": number, "_written": None}
        | {"symbol": f"S{number % 50}", "price": number / 4, "size": number}
        for number in range(first, first + count)
    ]


def spool_appends(folder: Path, size: int, seconds: float) -> tuple[int, float]:
    """Append groups for so long; return how many records, and in which time."""
    stored = record_schema(QUOTES)
    with SpoolWriter(folder, Description("quotes", 0, "Quote", QUOTES)) as writer:
        start = time.perf_counter()
        while time.perf_counter() - start < seconds:
            batch = pa.RecordBatch.from_pylist(rows(writer.end, size), schema=stored)
            writer.append(batch, {"0110bbd2310634021444f475:00000502": writer.end + size})
        return writer.end, time.perf_counter() - start


def sqlite_appends(path: Path, size: int, seconds: float) -> tuple[int, float]:
    """Do the same with SQLite."""
    base = sqlite3.connect(path, isolation_level=None)
    base.execute("pragma journal_mode=wal")
    base.execute("pragma synchronous=full")
    base.execute(
        "create table records (id integer primary key, writer text, sequence int, written int, symbol text, "
        "price real, size int)"
    )
    count, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        base.execute("begin")
        values = [(row["_writer"], row["_sequence"], None, *list(row.values())[3:]) for row in rows(count, size)]
        base.executemany(
            "insert into records (writer, sequence, written, symbol, price, size) values (?,?,?,?,?,?)", values
        )
        base.execute("commit")
        count += size
    took = time.perf_counter() - start
    base.close()
    return count, took


def spool_read(folder: Path) -> tuple[int, float]:
    """Read everything; return how many records, and in which time."""
    start = time.perf_counter()
    spool = Spool(folder)
    count = sum(batch.num_rows for batch in spool.read(spool.first, spool.end))
    return count, time.perf_counter() - start


def sqlite_read(path: Path) -> tuple[int, float]:
    """Do the same with SQLite."""
    start = time.perf_counter()
    base = sqlite3.connect(path)
    count = sum(1 for _ in base.execute("select * from records order by id"))
    base.close()
    return count, time.perf_counter() - start


def main(arguments: list[str]) -> int:
    """Print one line for each size of group."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks spool", description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0)
    asked = parser.parse_args(arguments)
    pa.RecordBatch.from_pylist(rows(0, 1), schema=record_schema(QUOTES))  # imports pandas, once
    print(f"{'records a group':>15} {'spool/s':>12} {'SQLite/s':>12} {'ratio':>7}")
    with tempfile.TemporaryDirectory(prefix="rookery-spool-") as name:
        folder = Path(name)
        for size in GROUPS:
            count, took = spool_appends(folder / f"spool{size}", size, asked.seconds)
            other, other_took = sqlite_appends(folder / f"sqlite{size}", size, asked.seconds)
            ours, theirs = count / took, other / other_took
            print(f"{size:15,} {ours:12,.0f} {theirs:12,.0f} {ours / theirs:6.2f}x")
        count, took = spool_read(folder / f"spool{GROUPS[-1]}")
        other, other_took = sqlite_read(folder / f"sqlite{GROUPS[-1]}")
        print(f"{'read again':>15} {count / took:12,.0f} {other / other_took:12,.0f}", end="")
        print(f" {count / took / (other / other_took):6.2f}x")
    return 0
