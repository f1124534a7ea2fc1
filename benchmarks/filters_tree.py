"""The Bloom tree's search beside a flat probe, and what each discovery protocol announces: octets and the real rate.

Both ask a received tree for a whole seek set, compiled, with the same hashes and positions; a tenth of the set is in
the tree. A flat probe looks only at the nodes that may own a key: those on its path in a layered tree, one node in a
closed tree whose dictionary the receiver has, every node where it has none. The search passes the covering rows of all
nodes above as well. Answers are compared before anything is timed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from rookery.discovery import FALSE_POSITIVE_RATE, PROTOCOLS
from rookery.discovery.carriage import decode_summary
from rookery.discovery.protocols import summary_of
from rookery.filters import BloomTree

__all__ = ["report", "report_rates"]

ENDPOINTS = (10, 100, 1_000)
SOUGHT = (1, 10, 100, 1_000)
ANNOUNCED = (1, 10, 40, 100, 1_000)
_QUESTIONS = 400_000


def names(count: int, word: str = "topic") -> list[str]:
    """Return keys of writers in directories of one to three layers."""
    parts = ["rt", "robot{0}", "part{1}"]
    return [
        f"W\x1f{'/'.join(parts[: 1 + n % 3]).format(n % 4, n % 9)}/{word}{n}\x1frobot_msgs::msg::dds_::Type{n % 40}_"
        for n in range(count)
    ]


def _trees(count: int) -> dict[str, BloomTree]:
    """Return trees of some endpoints as a peer has them after decoding."""
    keys = names(count)
    namespace = {key: place for place, key in enumerate(names(4 * count))}
    layered = BloomTree.layered(FALSE_POSITIVE_RATE)
    shape = {"namespace_size": 4 * count, "bit_count": 288, "hash_count": 13}
    closed, one_row = BloomTree(namespace=namespace, **shape), BloomTree(namespace=namespace, row_capacity=0, **shape)
    for tree in (layered, closed, one_row):
        tree.add_many(keys)
    return {
        "layers of names (live)": BloomTree.from_bytes(layered.to_bytes()),
        "closed, with its dictionary": BloomTree.from_bytes(closed.to_bytes(), namespace=namespace),
        "closed, without": BloomTree.from_bytes(closed.to_bytes()),
        "closed, without, one row a node": BloomTree.from_bytes(one_row.to_bytes()),
    }


def _microseconds(ask: Callable[[Any], object], keys: Any, repeats: int) -> float:
    """Return the best pass in microseconds of CPU for the whole set."""
    ask(keys)
    times, passes = max(1, 2_000 // len(keys)), []
    for _ in range(repeats):
        begin = time.process_time_ns()
        for _ in range(times):
            ask(keys)
        passes.append((time.process_time_ns() - begin) / times / 1_000)
    return min(passes)


def report(*, repeats: int) -> None:
    """Print the search beside the flat probe, and where each wins."""
    print("\nA received tree asked for a whole seek set: search (Algorithm 2, sound) and flat probe, µs of CPU a set")
    print(
        f"  {'tree':<33}{'endpoints':>10}{'sought':>8}{'found':>7}{'visited':>9}{'search':>10}{'flat':>10}{'':>3}wins"
    )
    for count in ENDPOINTS:
        for label, tree in _trees(count).items():
            for sought in SOUGHT:
                present = names(count)[: max(1, sought // 10)]
                keys = pa.array((present + names(sought, "other"))[:sought])
                answer, probed = tree.query(keys), tree.contains_many(keys)
                flat = {key for key, hit in zip(keys.to_pylist(), probed.tolist(), strict=True) if hit}
                if set(answer.found) != flat or not set(present[:sought]) <= flat:
                    raise AssertionError(f"{label}: search and flat probe differ at {count} endpoints")
                search, probe = (_microseconds(ask, keys, repeats) for ask in (tree.query, tree.contains_many))
                winner = "search" if search < probe else "flat probe"
                print(
                    f"  {label:<33}{count:>10,}{sought:>8,}{len(flat):>7,}{len(answer.visited):>9,}{search:>10,.1f}"
                    f"{probe:>10,.1f}   {winner} {max(search, probe) / min(search, probe):.1f} ×"
                )


def report_rates() -> None:
    """Print octets of announcements and the rate of wrong answers, in multiples of the one all are sized for."""
    print(f"\nWhat a participant announces: octets, and wrong answers in units of 2⁻¹¹ ({FALSE_POSITIVE_RATE:.3%})")
    print(f"  {'endpoints':<16}" + "".join(f"{count:>18,}" for count in ANNOUNCED))
    absent = pa.array([f"{key}{number}" for key in names(1_000) for number in range(_QUESTIONS // 1_000)])
    for protocol in (*PROTOCOLS, "cuckoo:patent", "tree:paper"):
        cells = []
        for count in ANNOUNCED:
            hits, asked, octets, worlds = 0, 0, 0, max(1, 40 // count)
            for world in range(worlds):
                summary = summary_of(protocol)
                if summary is None:
                    break
                for key in names(count, f"topic{world}-"):
                    summary.add(key)
                while summary.settle():
                    pass
                container = summary.encode(epoch=1, room=1 << 16)
                octets += len(container)
                hits += int(decode_summary(container).contains_many(absent).sum())
                asked += len(absent)
            if asked:
                cells.append(f"{octets / worlds:>9,.0f} B {hits / asked / FALSE_POSITIVE_RATE:>5.2f} ×")
        if cells:
            print(f"  {protocol:<16}" + "".join(cells))
