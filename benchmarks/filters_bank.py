"""One topic against the summaries of 1,024 participants: bit-sliced, packed ribbons, and asking each in turn."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from rookery.filters import BloomFilter, FilterBank, summarize

__all__ = ["report"]

PARTICIPANTS, ENDPOINTS, QUESTIONS = 1024, 100, 200


def _bloom(keys: list[str]) -> BloomFilter:
    made = BloomFilter.sized_for(ENDPOINTS, 0.01)
    made.add_many(keys)
    return made


def _time(ask: Callable[[str], object], topics: list[str], repeats: int) -> float:
    """Return the best pass in microseconds per topic."""
    ask(topics[0])
    passes = []
    for _ in range(repeats):
        begin = time.process_time_ns()
        for topic in topics:
            ask(topic)
        passes.append((time.process_time_ns() - begin) / len(topics) / 1000)
    return min(passes)


def report(*, repeats: int) -> None:
    """Print the table."""
    topics = [f"W\x1ftopic/{i}\x1fT" for i in range(QUESTIONS)]
    sets = [[f"W\x1ftopic/{(p * 37 + i * 11) % 20_000}\x1fT" for i in range(ENDPOINTS)] for p in range(PARTICIPANTS)]
    print(f"\nOne topic against {PARTICIPANTS:,} participants of {ENDPOINTS} endpoints, µs of CPU per topic")
    for label, make in (("Bloom", _bloom), ("ribbon", lambda keys: summarize(keys, "ribbon", 1 / 128))):
        filters = [make(keys) for keys in sets]
        bank = FilterBank()
        for participant, summary in enumerate(filters):
            bank.put(participant, summary)

        def each(topic: str, filters: list = filters) -> list[int]:
            value = filters[0].hasher(topic)
            return [place for place, summary in enumerate(filters) if summary.contains_hash(value)]

        if [sorted(bank.matching(topic)) for topic in topics[:50]] != [each(topic) for topic in topics[:50]]:
            raise AssertionError("the bank and its filters disagree")
        together, apart = _time(bank.matching, topics, repeats), _time(each, topics[:20], repeats)
        print(f"  {label:<10} bank {together:>8.1f}   each in turn {apart:>10.1f}   ratio {apart / together:>7.0f}")
        if label == "Bloom":
            value = filters[0].hasher(topics[0])
            group = next(iter(bank._sliced.values()))
            begin = time.process_time_ns()
            for _ in range(20_000):
                group.match(value)
            bare = (time.process_time_ns() - begin) / 20_000
            words = int(np.size(group.match(value)))
            print(f"  {'':<10} word-ANDs alone, with the call: {bare:.0f} ns for {words} words")
