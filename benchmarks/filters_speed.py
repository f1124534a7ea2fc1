"""Nanoseconds per key, add and query, beside the Bloom filters of PyPI.

Rule: everybody gets one batch of strings that it has not seen before. A Python string remembers its hash, so every list
is made anew, outside the clock; for us it becomes an Arrow array, also outside, or inside where the table says "from a
list". All questions are for absent keys, at a design rate of 1 %. The clock is the CPU time of this process and the
best pass counts: what other processes take from the machine is noise that only adds.
"""

from __future__ import annotations

import gc
import importlib.metadata
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from rookery.filters import (
    BlockedBloomFilter,
    BloomFilter,
    CuckooFilter,
    GolombSet,
    RibbonFilter,
)

__all__ = ["report"]

RATE = 0.01
ADD_TARGET, QUERY_TARGET = 4.0, 10.0


@dataclass(frozen=True, slots=True)
class Contender:
    """One filter: how to make it, add a batch and ask for a batch; `share` of the keys, for the slow ones."""

    name: str
    make: Callable[[int], Any]
    add: Callable[[Any, Any], Any]
    ask: Callable[[Any, Any], Any]
    arrow: bool = False
    share: float = 1.0
    finish: Callable[[Any], Any] = bool


def _ask_each(held: Any, keys: list[str]) -> list[bool]:
    return [key in held for key in keys]


def _add_each(held: Any, keys: list[str]) -> None:
    add = held.add
    for key in keys:
        add(key)


def peers() -> tuple[list[Contender], list[str]]:
    """Return the installed peers, and a line for each that is not."""
    found, absent = [], []

    def peer(package: str, build: Callable[[], list[Contender]]) -> None:
        try:
            version = importlib.metadata.version(package)
            found.extend(
                Contender(f"{each.name} {version}", each.make, each.add, each.ask, share=each.share) for each in build()
            )
        except ImportError:
            absent.append(f"{package}: not installed; see benchmarks/requirements.txt")

    def rbloom() -> list[Contender]:
        import rbloom

        return [Contender("rbloom", lambda n: rbloom.Bloom(n, RATE), lambda f, keys: f.update(keys), _ask_each)]

    def abloom() -> list[Contender]:
        import abloom

        return [Contender("abloom", lambda n: abloom.BloomFilter(n, RATE), lambda f, keys: f.update(keys), _ask_each)]

    def fastbloom() -> list[Contender]:
        import fastbloom_rs

        return [
            Contender(
                "fastbloom-rs",
                lambda n: fastbloom_rs.BloomFilter(n, RATE),
                lambda f, keys: f.add_str_batch(keys),
                lambda f, keys: f.contains_str_batch(keys),
            )
        ]

    def pybloom() -> list[Contender]:
        import pybloom_live

        return [Contender("pybloom-live", lambda n: pybloom_live.BloomFilter(n, RATE), _add_each, _ask_each, share=0.1)]

    def probables() -> list[Contender]:
        import probables

        return [
            Contender(
                "pyprobables",
                lambda n: probables.BloomFilter(est_elements=n, false_positive_rate=RATE),
                _add_each,
                _ask_each,
                share=0.05,
            )
        ]

    for package, build in (
        ("rbloom", rbloom),
        ("abloom", abloom),
        ("fastbloom-rs", fastbloom),
        ("pybloom-live", pybloom),
        ("pyprobables", probables),
    ):
        peer(package, build)
    return found, absent


def ours() -> list[Contender]:
    """Return Rookery's structures; what a ribbon solves and a Golomb set sorts later is not in the add column."""

    def add(held: Any, keys: pa.Array) -> None:
        held.add_many(keys)

    def ask(held: Any, keys: pa.Array) -> Any:
        return held.contains_many(keys)

    return [
        Contender("Rookery blocked Bloom", lambda n: BlockedBloomFilter.sized_for(n, RATE), add, ask, arrow=True),
        Contender("Rookery Bloom", lambda n: BloomFilter.sized_for(n, RATE), add, ask, arrow=True),
        Contender("Rookery cuckoo", lambda n: CuckooFilter.sized_for(n, RATE), add, ask, arrow=True),
        Contender("Rookery Golomb set", lambda n: GolombSet.sized_for(n, RATE), add, ask, arrow=True),
        Contender(
            "Rookery ribbon",
            lambda n: RibbonFilter.sized_for(n, RATE),
            add,
            ask,
            arrow=True,
            share=0.1,
            finish=RibbonFilter.rebuild,
        ),
        Contender("Rookery blocked Bloom, from a list", lambda n: BlockedBloomFilter.sized_for(n, RATE), add, ask),
    ]


def _short_strings(count: int, prefix: str) -> pa.Array:
    return pa.array([f"{prefix}\x1frt/topic_{i}\x1fT" for i in range(count)])


def _measure(contender: Contender, present: pa.Array, absent: pa.Array) -> tuple[float, float, float]:
    """Return (add, query) in ns of CPU per key and the measured false-positive rate of one pass."""
    count = max(1, int(len(present) * contender.share))
    held = contender.make(count)
    gc.disable()
    keys = _fresh(present[:count], contender.arrow)
    begin = time.process_time_ns()
    contender.add(held, keys)
    added = time.process_time_ns() - begin
    contender.finish(held)
    keys = _fresh(absent[:count], contender.arrow)
    begin = time.process_time_ns()
    answers = contender.ask(held, keys)
    asked = time.process_time_ns() - begin
    gc.enable()
    return added / count, asked / count, sum(map(bool, answers)) / count


def _fresh(keys: pa.Array, arrow: bool) -> Any:
    """Return the keys as new strings: an Arrow array, or a list."""
    made = keys.to_pylist()
    return pa.array(made) if arrow else made


def report(*, keys: int, repeats: int) -> list[str]:
    """Print the table; return the targets that were missed."""
    present, absent = _short_strings(keys, "W"), _short_strings(keys, "R")
    contenders, missing = peers()
    field = [*ours(), *contenders]
    for contender in field:  # compile kernels, load libraries, fault in memory
        _measure(contender, present[: min(keys, 20_000)], absent[: min(keys, 20_000)])
    passes: dict[str, list[tuple[float, float, float]]] = {contender.name: [] for contender in field}
    for _ in range(repeats):  # interleaved, so that a slow moment of the machine hits everybody
        for contender in field:
            passes[contender.name].append(_measure(contender, present, absent))
    print(f"\nSpeed: {keys:,} short strings, {RATE:.0%}, best of {repeats} interleaved passes, ns of CPU per key")
    print(f"  {'':<36}{'add':>9}{'query':>9}{'measured rate':>16}")
    best = {}
    for contender in field:
        adds, asks, rates = zip(*passes[contender.name], strict=True)
        best[contender.name] = min(adds), min(asks)
        note = f"   ({int(keys * contender.share):,} keys)" if contender.share < 1 else ""
        print(
            f"  {contender.name:<36}{best[contender.name][0]:>9.1f}{best[contender.name][1]:>9.1f}"
            f"{statistics.median(rates):>16.4%}{note}"
        )
    for line in missing:
        print(f"  {line}")
    if not contenders:
        return []
    peer_add = min(contenders, key=lambda each: best[each.name][0]).name
    peer_ask = min(contenders, key=lambda each: best[each.name][1]).name
    missed = []
    for name in ("Rookery blocked Bloom", "Rookery Bloom", "Rookery blocked Bloom, from a list"):
        add = best[peer_add][0] / best[name][0]
        ask = best[peer_ask][1] / best[name][1]
        print(f"  {name}: add {add:.1f} × the best peer ({peer_add}), query {ask:.1f} × ({peer_ask})")
        if name == "Rookery blocked Bloom":
            missed += [f"batch add {add:.1f} × < {ADD_TARGET:.0f} ×"] if add < ADD_TARGET else []
            missed += [f"batch query {ask:.1f} × < {QUERY_TARGET:.0f} ×"] if ask < QUERY_TARGET else []
    return missed
