"""A structured fuzzer for the decoders of summaries: nearly right containers, and random bytes behind a right magic.

    python fuzz/filters.py --decodes 1000000 --seed 1     mutate valid containers, report rate, verdicts and slowest
    python fuzz/filters.py --atheris [corpus folder]      the same target under libFuzzer, if atheris is installed

For any bytes the decoder returns a filter or raises `FilterError`, and nothing else. A filter that came out can be
asked; what it holds in memory is bounded by the length of the message; and encoding it again gives a container that
decodes to the same answers. Everything follows from the seed.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from typing import Any

import numpy as np

from rookery.errors import FilterError
from rookery.filters import (
    STRUCTURES,
    BloomTree,
    CountingBloomFilter,
    CuckooFilter,
    DomainKey,
    ObserverFilter,
    RibbonFilter,
    from_bytes,
    summarize,
)

DOMAIN_KEY = DomainKey.derive(bytes(range(32)))
MAGICS = (0xCF, 0xD1, 0xD2, 0xD3, 0xDB)
INTERESTING = (0, 1, 2, 7, 8, 16, 17, 24, 25, 31, 32, 33, 64, 65, 127, 128, 254, 255)
NAMES = ["W\x1fpart/topic1\x1fT", "W\x1ftopic0\x1fT", "R\x1fother/topic\x1fT", ""]
HASHES = (0, 1, 0x9E3779B97F4A7C15, (1 << 64) - 1)
#: Bytes in memory per byte on the wire: eight empty cuckoo slots of two bytes in four bits, and the objects around.
EXPANSION, OBJECTS = 64, 1 << 14


def corpus() -> list[bytes]:
    """Return valid containers of every structure: empty, small, larger, keyed, migrating, with deltas and counters."""
    found = [ObserverFilter(epoch=3).to_bytes()]
    for structure in STRUCTURES:
        for count in (0, 1, 5, 40, 150):
            keys = [f"W\x1ftopic/{i}\x1fT" for i in range(count)]
            found.append(summarize(keys, structure, 0.02, seed=count, epoch=count).to_bytes())
        found.append(summarize(["a", "b"], structure, 0.01, domain_key=DOMAIN_KEY).to_bytes())
    counting = CountingBloomFilter.sized_for(20)
    counting.add_many([f"k{i}" for i in range(20)])
    found.append(counting.to_bytes(counters=True))
    migrating = CuckooFilter.patent(log2_buckets=2)
    for number in range(8):
        migrating.add(f"k{number}")
        found.append(migrating.announce())
    ribbon = RibbonFilter(layers=5)
    ribbon.add_many([f"k{i}" for i in range(100)])
    ribbon.rebuild()
    ribbon.add_many(["late", "later"])
    found += [ribbon.to_bytes(), ribbon.delta_to_bytes()]
    tree = BloomTree(namespace_size=64, node_size=4, mode="paper", row_capacity=0)
    tree.add_many([f"k{i}" for i in range(20)])
    found += [tree.to_bytes(), tree.to_bytes(counters=True)]
    names = [f"W\x1f{'part/' * (i % 4)}topic{i}\x1fT" for i in range(60)]
    for mode in ("sound", "paper"):
        layered = BloomTree.layered(2**-11, mode=mode)
        closed = BloomTree(
            namespace_size=60, node_size=4, namespace={name: i for i, name in enumerate(names)}, mode=mode
        )
        for name in names:
            layered.add(name)
            closed.add(name)
        found += [layered.to_bytes(), closed.to_bytes()]
    return found


def mutate(wire: bytes, others: list[bytes], dice: random.Random) -> bytes:
    """Return `wire` with one to four faults, most of them in the header, or random bytes behind a magic."""
    choice = dice.random()
    if choice < 0.05:
        return bytes([dice.choice(MAGICS), 1]) + dice.randbytes(dice.randrange(64))
    data = bytearray(wire)
    for _ in range(1 if choice < 0.6 else dice.randrange(1, 5)):
        if not data:
            break
        kind = dice.random()
        place = int(dice.random() * min(len(data), 24 if kind < 0.6 else len(data)))
        if kind < 0.35:
            data[place] ^= 1 << int(dice.random() * 8)
        elif kind < 0.6:
            data[place] = dice.choice(INTERESTING)
        elif kind < 0.75:
            data[place] = int(dice.random() * 256)
        elif kind < 0.85:
            del data[place:]
        elif kind < 0.92:
            data += dice.randbytes(dice.randrange(1, 9))
        else:
            other = dice.choice(others)
            data[place:] = other[place:]
    return bytes(data)


def held_bytes(decoded: Any) -> int:
    """Return the bytes of all arrays that a decoded filter holds."""
    total, pending, seen = 0, [decoded], set()
    while pending:
        thing = pending.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if isinstance(thing, np.ndarray):
            total += thing.nbytes
        elif isinstance(thing, dict):
            pending += thing.values()
        elif isinstance(thing, (list, tuple, set)):
            total += 64 * len(thing)
            pending += [item for item in thing if not isinstance(item, (int, str))]
        else:
            names = getattr(type(thing), "__slots__", ())
            pending += [value for name in names if (value := getattr(thing, name, None)) is not None]
    return total


def check(data: bytes, *, thorough: bool) -> str:
    """Decode `data`; return what became of it, and fail on anything but a filter or a `FilterError`.

    A thorough check also measures memory, encodes again, and compares the answers.
    """
    try:
        decoded = from_bytes(data, domain_key=DOMAIN_KEY)
    except FilterError as fault:
        return f"rejected: {str(fault).partition(':')[0]}" if thorough else "rejected"
    if not isinstance(decoded, BloomTree):
        decoded.contains_hash(HASHES[len(data) & 3])
    elif thorough or not len(data) & 7:  # a tree is laid out before it is asked
        found, probed = decoded.query(NAMES, mode="sound").found, decoded.contains_many(NAMES).tolist()
        flat = {name for name, hit in zip(NAMES, probed, strict=True) if hit}
        if set(found) != flat and (decoded.mode == "sound" or not set(found) <= flat):
            raise AssertionError(f"search and probe differ: {data.hex()}")
    if thorough:
        held = held_bytes(decoded)
        if held > EXPANSION * len(data) + OBJECTS:
            raise AssertionError(f"{len(data)} bytes became {held} in memory: {data.hex()}")
        again = from_bytes(decoded.to_bytes(), domain_key=DOMAIN_KEY)
        if [again.contains_hash(value) for value in HASHES] != [decoded.contains_hash(value) for value in HASHES]:
            raise AssertionError(f"encoding again changed the answers: {data.hex()}")
        if (len(data) < 64 and not 0 <= decoded.expected_false_positive_rate <= 1) or decoded.size_in_bits < 0:
            raise AssertionError(f"no rate or size: {data.hex()}")  # the rate of a large filter takes a while
    return type(decoded).__name__


def run(*, decodes: int, seed: int) -> tuple[Counter[str], float]:
    """Decode `decodes` mutated containers; return the verdicts and the slowest decode in seconds."""
    dice, wires, verdicts, slowest = random.Random(seed), corpus(), Counter[str](), 0.0
    for wire in wires:
        verdicts[check(wire, thorough=True)] += 1
    for number in range(decodes):
        data = mutate(dice.choice(wires), wires, dice)
        begin = time.perf_counter()
        verdicts[check(data, thorough=number & 127 == 0)] += 1
        slowest = max(slowest, time.perf_counter() - begin)
    return verdicts, slowest


def main(arguments: list[str]) -> int:
    """Run the fuzzer from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--decodes", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--atheris", action="store_true")
    options, rest = parser.parse_known_args(arguments)
    if options.atheris:
        try:
            import atheris
        except ImportError:
            print("atheris is not installed; `pip install atheris`, or leave out --atheris", file=sys.stderr)
            return 2
        atheris.Setup([sys.argv[0], *rest], lambda data: check(data, thorough=True))
        atheris.Fuzz()
        return 0
    begin = time.perf_counter()
    verdicts, slowest = run(decodes=options.decodes, seed=options.seed)
    seconds = time.perf_counter() - begin
    print(f"{options.decodes} decodes in {seconds:.1f} s ({seconds / options.decodes * 1e6:.1f} µs each)")
    print(f"slowest {slowest * 1e3:.1f} ms (with compilation, where kernels were not cached)")
    for verdict, count in verdicts.most_common():
        print(f"{count:>10}  {verdict}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
