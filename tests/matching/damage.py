"""Damage a compiled set in many ways and use what still loads: run as a program, so that a crash is an exit code.

`python damage.py FILE SEED COUNT` mutates the buffer in FILE COUNT times. Each result is either refused with a
CompiledSetError, or is a set that matches (to anything, or to an error of Rookery's own) without harm. It prints how
many were refused and how many matched.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

import pyarrow as pa

from rookery.errors import CompiledSetError, RookeryError
from rookery.matching import CompiledSet

EVENTS = pa.table(
    {
        "event_id": pa.array(range(40), pa.int64()),
        "k": [f"k{place % 5}" for place in range(40)],
        "v": [float(place) for place in range(40)],
        "n": pa.array([None if place % 7 == 0 else place for place in range(40)], pa.int64()),
        "w": pa.array(range(40), pa.int64()),
    }
)


def mutated(data: bytes, generator: random.Random) -> bytes:
    """Return the buffer with one kind of damage."""
    buffer = bytearray(data)
    kind = generator.randrange(8)
    place = generator.randrange(len(buffer))
    if kind == 0:
        return bytes(buffer[:place])
    if kind == 1:
        buffer[place] ^= 1 << generator.randrange(8)
    elif kind == 2:
        for _ in range(generator.randint(1, 20)):
            buffer[generator.randrange(len(buffer))] = generator.randrange(256)
    elif kind == 3:  # a whole word: an offset far out, or negative
        place &= ~7
        buffer[place : place + 8] = generator.choice(
            [
                b"\xff" * 8,
                b"\x00" * 8,
                (1 << 62).to_bytes(8, "little"),
                generator.randbytes(8),
                (511).to_bytes(8, "little"),
            ]
        )[: len(buffer) - place]
    elif kind == 4:  # half a word
        place &= ~3
        buffer[place : place + 4] = generator.choice(
            [b"\xff\xff\xff\x7f", b"\xff" * 4, b"\x00" * 4, b"\x01\x00\x00\x00"]
        )[: len(buffer) - place]
    elif kind == 5:
        other = generator.randrange(len(buffer))
        size = generator.randint(1, 64)
        buffer[place : place + size] = buffer[other : other + size]
    elif kind == 6:
        del buffer[place : place + generator.randint(1, 64)]
    else:  # a digit of the header: counts, seeds, numbers of attributes
        digits = [at for at in range(len(buffer)) if 48 <= buffer[at] <= 57]
        buffer[generator.choice(digits)] = generator.choice(b"0123456789-e")
    return bytes(buffer)


def main(path: str, seed: int, count: int) -> None:
    data = Path(path).read_bytes()
    generator = random.Random(seed)
    refused = matched = failed = 0
    for _ in range(count):
        try:
            loaded = CompiledSet.from_bytes(mutated(data, generator), verify=False)
        except CompiledSetError:
            refused += 1
            continue
        try:
            loaded.match_many(EVENTS, topic="t", as_of="2026-01-02T00:00:00Z", missing="null")
            loaded.match({"k": "k1", "v": 3.0, "n": 4}, topic="t", time="2026-01-02T00:00:00Z")
            matched += 1
        except RookeryError:
            failed += 1
    sys.stdout.write(json.dumps({"refused": refused, "matched": matched, "failed": failed}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
